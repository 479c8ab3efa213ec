"""What runs say of a mean: against textbook tests, and as seeds grow."""

import math

import numpy as np
import pytest
from scipy import stats

from hgpbench.paper.statements import (
    SIDE,
    Absent,
    AtMost,
    Every,
    Ratio,
    Some,
    answer,
    seeds_needed,
    telling,
)

VALUES = (-0.3, -0.1, 0.2, -0.4, -0.25)


def at(mean: float, scatter: float = 0.1, count: int = 5) -> AtMost:
    """A statement that values about this mean are at most zero."""
    return AtMost(f"about {mean:g}", tuple(mean + scatter * x for x in np.linspace(-1, 1, count)))


def test_the_probabilities_are_those_of_a_t_test() -> None:
    weight = AtMost("", VALUES).weigh()
    below = stats.ttest_1samp(VALUES, 0, alternative="less").pvalue
    assert weight.were_false == pytest.approx(below)
    assert weight.were_true == pytest.approx(1 - below)
    interval = stats.t.interval(1 - 2 * SIDE, 4, np.mean(VALUES), stats.sem(VALUES))
    assert f"[{interval[0]:.3f}, {interval[1]:.3f}]" in str(AtMost("values", VALUES))


def test_at_least_is_told_in_the_units_of_what_it_is_about() -> None:
    high = AtMost("correlation", tuple(-each for each in (0.93, 0.94, 0.95)), -0.9, is_turned=True)
    reach = stats.t.ppf(1 - SIDE, 2) * 0.01 / math.sqrt(3)
    assert str(high) == f"correlation 0.940 [{0.94 - reach:.3f}, {0.94 + reach:.3f}], against 0.900"
    assert answer(high) == "yes"


def test_it_is_decided_exactly_where_the_interval_leaves_the_bound() -> None:
    low, high = stats.t.interval(1 - 2 * SIDE, 4, np.mean(VALUES), stats.sem(VALUES))
    for bound, wanted in (
        (high + 1e-9, "yes"),
        (high - 1e-9, "open"),
        (low + 1e-9, "open"),
        (low - 1e-9, "no"),
    ):
        assert answer(AtMost("", VALUES, bound)) == wanted


def test_shared_rows_count_as_fewer_seeds() -> None:
    alone, shared = (AtMost("", VALUES, extra=extra).weigh().were_false for extra in (0.0, 1 / 5))
    assert shared > alone  # twice the variance
    t = np.mean(VALUES) / (np.std(VALUES, ddof=1) * math.sqrt(2 / 5))
    assert shared == pytest.approx(stats.t.cdf(t, 4))


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ((at(-1), at(-2)), "yes"),
        ((at(-1), at(0)), "open"),
        ((at(-1), at(1)), "no"),
        ((at(-1), Absent()), "absent"),
        ((at(1), Absent()), "no"),
        ((at(0), Absent()), "absent"),
    ],
)
def test_all_of_several(parts, wanted) -> None:
    assert answer(Every(parts)) == wanted


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ((at(-1), at(2)), "yes"),
        ((at(1), at(0)), "open"),
        ((at(1), at(2)), "no"),
        ((at(-1), Absent()), "yes"),
        ((at(1), Absent()), "absent"),
    ],
)
def test_one_of_several(parts, wanted) -> None:
    assert answer(Some(parts)) == wanted


def test_that_some_part_fails_is_judged_by_their_number() -> None:
    edge = AtMost("", VALUES, float(stats.t.interval(0.95, 4, np.mean(VALUES), stats.sem(VALUES))[0]) - 0.005)
    assert answer(edge) == "no"
    assert answer(Every((edge, *[at(-1)] * 9))) == "open"


def test_true_statements_are_seldom_called_false() -> None:
    """Of ten true statements, each on its bound, one is called false in some 2.5 % of experiments at most."""
    rng = np.random.default_rng(0)
    called = [
        answer(Every(tuple(AtMost("", tuple(rng.standard_normal(5))) for _ in range(10)))) for _ in range(800)
    ]
    assert called.count("no") < 800 * (SIDE + 3 * math.sqrt(SIDE / 800))
    assert called.count("no") > 0


def test_how_many_seeds_would_decide() -> None:
    undecided = AtMost("", VALUES)
    count = seeds_needed(undecided)
    assert answer(undecided) == "open"
    assert count is not None
    assert undecided.weigh(count).were_false <= SIDE < undecided.weigh(count - 1).were_false
    assert seeds_needed(AtMost("", VALUES, extra=5.0)) is None
    assert seeds_needed(AtMost("", VALUES[:1])) is None
    assert seeds_needed(Every((undecided, Absent()))) is None


def test_values_without_scatter_are_taken_as_they_are() -> None:
    assert answer(AtMost("", (1.0, 1.0), 1.0)) == "yes"
    assert answer(AtMost("", (0.0, 0.0), is_strict=True)) == "no"
    assert answer(AtMost("", (2.0, 2.0), 1.0)) == "no"
    assert answer(AtMost("", (-math.inf, 1.0))) == "yes"
    assert answer(AtMost("", (math.nan, 1.0))) == "open"
    assert answer(AtMost("", (-1.0,))) == "open"


def test_a_ratio_of_deviations_is_an_f_test() -> None:
    a, b = (1.0, -1.0, 0.5, 2.0), (0.1, -0.1, 0.2, 0.15)
    ratio = np.var(a, ddof=1) / np.var(b, ddof=1)
    weight = Ratio("", a, b, times=1).weigh()
    assert weight.were_false == pytest.approx(stats.f.sf(ratio, 3, 3))
    assert weight.were_true == pytest.approx(stats.f.cdf(ratio, 3, 3))


def test_what_a_statement_hangs_on() -> None:
    assert telling(Every((at(-1), at(-0.2)))).words == "about -0.2"
    assert telling(Every((at(-1), at(2)))).words == "about 2"
    assert telling(Absent()) is None
