"""Statements that are mathematics: computed, and seen to fail where they are false."""

import pytest

from hgpbench.paper import identities, verdicts
from hgpbench.paper.identities import Identity, Problem

COMPUTED = [claim for claim in verdicts.CLAIMS if isinstance(claim.test, Identity)]


@pytest.mark.parametrize("claim", COMPUTED, ids=lambda claim: claim.id)
def test_they_hold(claim) -> None:
    found = next(each for each in verdicts.judge_all([], []) if each.claim is claim)
    assert found.ruling == "holds"
    assert found.figures


def test_a_bound_that_is_off_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(
        Problem, "collapsed_bound", property(lambda problem: problem.bound(problem.best()) - 1.0)
    )
    assert identities.below_the_collapsed().answer == "no"
    assert identities.equal_at_the_best().answer == "no"


def test_a_negative_lambda_is_seen(monkeypatch) -> None:
    moved = Problem.fixed_point
    monkeypatch.setattr(Problem, "fixed_point", lambda problem: moved(problem) - 0.1)
    assert identities.never_negative().answer == "no"
