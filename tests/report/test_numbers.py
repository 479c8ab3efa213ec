"""Rounding as a reader expects it."""

import math

import pytest

from hgpbench.report.numbers import mean_sd, plain
from hgpbench.report.summary import Stat


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.12342, 0.0042, "0.1234 ± 0.0042"),
        (-1.2345, 0.0996, "-1.23 ± 0.10"),
        (-1.2345, 0.0994, "-1.234 ± 0.099"),
        (123.456, 7.89, "123.5 ± 7.9"),
        (1234.5, 678.0, "1234 ± 678"),
        (0.002, 0.5, "0.00 ± 0.50"),
        (-0.001, 0.5, "0.00 ± 0.50"),
        (5.0, 0.0, "5.000 ± 0"),
        (5.0, 1e-15, "5.000 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (3.21e-7, 4.5e-9, "(3.210 ± 0.045)e-07"),
        (9.87e8, 1.2e7, "(9.87 ± 0.12)e+08"),
        (1.0, 1e-7, "1.0000 ± <0.0001"),
        (2.5, math.nan, "2.500"),
        (math.inf, math.nan, "inf"),
        (math.nan, math.nan, "nan"),
    ],
)
def test_mean_and_deviation(mean: float, sd: float, expected: str) -> None:
    assert mean_sd(Stat(mean, sd, 5)) == expected


def test_fewer_digits_of_a_mean_on_request() -> None:
    assert mean_sd(Stat(139.024, 0.024, 5), most=4) == "139.0 ± <0.1"
    assert mean_sd(Stat(139.024, 0.54, 5), most=4) == "139.0 ± 0.5"


def test_a_deviation_of_two_values_asks_for_no_more_digits_than_a_mean_alone() -> None:
    assert mean_sd(Stat(-0.796825, 0.00004, 2)) == "-0.7968 ± <0.0001"
    assert mean_sd(Stat(-0.796812, 0.00004, 3)) == "-0.79681 ± 0.00004"
    assert mean_sd(Stat(0.4312, 0.045, 2)) == "0.431 ± 0.045"


def test_nothing_measured_is_a_dash() -> None:
    assert mean_sd(Stat(math.nan, math.nan, 0)) == "–"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (1234.0, "1234"), (-0.0123456, "-0.01235"), (1.5e-9, "1.500e-09"), (0.99996, "1.000")],
)
def test_plain(value: float, expected: str) -> None:
    assert plain(value) == expected


def test_stat_of_values() -> None:
    assert Stat.of([1.0, 2.0, 3.0]) == Stat(2.0, 1.0, 3)
    assert Stat.of([1.0, math.inf]).mean == math.inf
    assert math.isnan(Stat.of([math.inf, -math.inf]).mean)
    assert math.isnan(Stat.of([4.0]).sd)
    assert Stat.of([]).n == 0
