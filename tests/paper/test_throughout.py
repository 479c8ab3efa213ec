"""Criteria on several labels along one sweep, and fits that fail along it."""

from dataclasses import replace

import pytest

from hgpbench.paper.evidence import Evidence
from hgpbench.paper.throughout import LOST, behind, further_behind, lower_throughout


def bounds(**by_rows):
    """Labels along rows with a bound each, a training row of 500."""
    return {
        f"{name}:rows={rows}": {"elbo": 500.0 * value}
        for name, values in by_rows.items()
        for rows, value in zip((500, 2000), values, strict=True)
    }


def failed(experiment, label: str):
    """The same with the runs of one label ended in failure."""
    runs = tuple(
        replace(run, state="failed", digest=None) if run.entry.label == label else run
        for run in experiment.runs
    )
    return replace(experiment, runs=runs)


def test_a_fit_that_fails_is_far_behind(make) -> None:
    world = make("toy-rows", bounds(best=(0.5, 0.5), other=(0.45, 0.49)))
    assert behind(("other",), "best", "rows", 0.02).check(Evidence(world)).answer == "no"
    found = behind(("other",), "best", "rows", 0.02).check(Evidence(failed(world, "other:rows=2000")))
    assert found.answer == "yes"
    assert f"{LOST:g}.00 at 2000" in found.figures
    assert "3 fits failed" in found.figures


def test_what_grows_is_asked_between_the_ends(make) -> None:
    world = make("toy-rows", bounds(best=(0.5, 0.5), other=(0.45, 0.49)))
    criterion = further_behind(("other",), "best", "rows")
    assert criterion.check(Evidence(world)).answer == "no"
    assert criterion.check(Evidence(failed(world, "other:rows=2000"))).answer == "yes"
    assert criterion.check(Evidence(make("toy-rows", bounds(best=(0.5, 0.5))))).answer == "absent"


@pytest.mark.parametrize(("last", "answer"), [(-0.7, "yes"), (-0.4, "no")])
def test_each_value_counts(make, last: float, answer: str) -> None:
    world = {f"a:rows={rows}": {"msll_gaussian": value} for rows, value in ((500, -0.6), (2000, last))}
    world |= {f"b:rows={rows}": {"msll_gaussian": -0.5} for rows in (500, 2000)}
    found = lower_throughout("msll_gaussian", "a", "b", "rows").check(Evidence(make("toy-rows", world)))
    assert found.answer == answer
    assert "(n = 3)" in found.figures
