"""The rounds of a comparison on a machine that is made up: what each model scores and takes is known."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hgpbench.bench import effort
from hgpbench.bench.entrants import BASELINES, entrants
from hgpbench.bench.halving import Params, Result
from hgpbench.commands import contest
from hgpbench.commands.contest import Contest
from hgpbench.errors import FitError


@dataclass(frozen=True)
class Truth:
    """A model's score with 1,500 rows and what e times the rows bring; its seconds there and how they grow."""

    msll: float
    gain: float
    seconds: float
    power: float  # of the rows, by which seconds grow

    def scores(self, rows: int) -> float:
        return self.msll - self.gain * math.log(rows / 1_500)

    def takes(self, rows: int) -> float:
        return self.seconds * (rows / 1_500) ** self.power


# Of protein, measured with 1,500 and some 35,000 rows.
PROTEIN = {
    "mean": Truth(0.0, 0.0, 0.05, 0.2),
    "linear": Truth(-0.16, 0.0, 0.05, 0.2),
    "hetlinear": Truth(-0.17, 0.0, 0.05, 0.2),
    "gp": Truth(-0.31, 0.1, 6.3, 2.9),
    "vsgp": Truth(-0.24, 0.06, 1.7, 1.0),
    "vshgp": Truth(-0.30, 0.07, 1.8, 1.0),
    "svshgp": Truth(-0.28, 0.08, 1.9, 1.2),
    "dvshgp": Truth(-0.33, 0.18, 8.8, 0.4),
    "ehsod": Truth(-0.33, 0.0, 11.9, 0.02),
    "nngp": Truth(-0.36, 0.12, 9.4, 0.5),
    "nnhgp": Truth(-0.56, 0.26, 26.7, 0.5),
    "forest": Truth(-0.29, 0.115, 0.7, 1.1),
    "lightgbm": Truth(-0.28, 0.07, 1.0, 1.0),
}


@dataclass
class MadeUp(Contest):
    """A comparison whose runs are looked up."""

    truth: Mapping[str, Truth] = field(default_factory=lambda: PROTEIN)
    hopeless: bool = False
    ran: list[tuple[int, tuple[str, ...], tuple[int, ...]]] = field(default_factory=list)
    _late: set[str] = field(default_factory=set)  # in the last runs
    _done: set[tuple[str, int, int]] = field(default_factory=set)

    def _perform(
        self,
        name: str,
        models: Mapping[str, Mapping[str, Any]],
        rows: int,
        test: int,
        seeds: Sequence[int],
        limit: float,
    ) -> None:
        self.ran.append((rows, tuple(models), tuple(seeds)))
        new = {(label, rows, seed) for label in models for seed in seeds} - self._done
        took = [min(self.truth[label].takes(rows), limit) + 0.6 for label, _, _ in new]
        self._done |= new
        self.spent += max(sum(took), self.parallel * max(took, default=0.0))
        self._late = {label for label in models if self.truth[label].takes(rows) > limit}

    def _standings(
        self, name: str, given: Mapping[str, Params], labels: Sequence[str], rows: int, seed: int
    ) -> tuple[list[Result], list[str]]:
        late = [label for label in labels if label in self._late]
        if seed == contest.CHOOSING_SEED and self.hopeless:
            self.cut += [f"{label}: it crashed" for label in labels]
            return [], []
        self.cut += [f"{label} with {rows:,} rows (stopped)" for label in late]
        return [
            Result(label, self.truth[label].scores(rows), self.truth[label].takes(rows), rows, given[label])
            for label in labels
            if label not in late
        ], late


def compared(
    rows: int,
    budget: float,
    parallel: int = 1,
    truth: Mapping[str, Truth] = PROTEIN,
    models: tuple[str, ...] = (),
) -> MadeUp:
    """A comparison on a table of so many rows, on so many processors."""
    place: Any = None
    made = MadeUp("mine", "t", "mine", rows, 9, {}, models, budget, Path(), parallel, "", place, truth=truth)
    made.run()
    return made


@pytest.fixture(autouse=True)
def only_models_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes part does not hang on what is installed; and a machine as fast as the one that was measured."""

    def known(n: int, asked: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
        return {label: params for label, params in entrants(n, asked).items() if label in PROTEIN}

    monkeypatch.setattr(contest, "entrants", known)
    monkeypatch.setattr(effort, "speed", lambda: 6e10)


@pytest.mark.parametrize("parallel", [1, 2, 8])
def test_the_best_model_runs_on_all_rows_in_the_default_budget(parallel: int) -> None:
    made = compared(45_730, 600.0, parallel)
    rows, labels, seeds = made.ran[-1]
    assert (rows, seeds) == (36_584, (1, 2))
    assert labels[0] == "nnhgp"  # the order is that of the first seed
    assert len(set(labels) - set(BASELINES)) >= 2
    assert made.spent < 1.2 * 600 * parallel


def test_with_more_time_everyone_who_is_not_behind_is_in_the_report() -> None:
    few, many = (set(compared(45_730, budget).ran[-1][1]) for budget in (600.0, 3_600.0))
    assert few < many
    assert {"nnhgp", "nngp", "dvshgp", "forest", "lightgbm"} <= many


@pytest.mark.parametrize("rows", [60, 300, 1_200, 3_000, 6_000, 45_730, 200_000, 2_000_000])
@pytest.mark.parametrize("budget", [10.0, 60.0, 180.0, 600.0, 7_200.0])
def test_whatever_the_budget_there_is_an_answer_and_everybody_is_told_of(rows: int, budget: float) -> None:
    made = compared(rows, budget, 2)
    last, labels, seeds = made.ran[-1]
    assert set(labels) - set(BASELINES)
    assert seeds[-1] >= 2
    if budget >= 180 and rows < 1e6:
        assert made.spent < 1.5 * 2 * budget
    told = {sentence.split()[0].rstrip(",") for sentence in made.cut}
    assert set(entrants(min(last, 1_500))) & set(PROTEIN) <= {*labels, *told}
    assert not told & set(labels)


def test_hundreds_of_thousands_of_rows_are_no_reason_to_report_on_a_few() -> None:
    assert compared(200_000, 600.0, 1).ran[-1][0] >= 20_000
    rows, labels, _ = compared(200_000, 600.0, 2).ran[-1]
    assert rows == 190_000
    assert "nnhgp" in labels


def slower(by: float) -> dict[str, Truth]:
    """Protein, with a leader that takes so many times as long with all rows."""
    nnhgp = PROTEIN["nnhgp"]
    steep = Truth(
        nnhgp.msll, nnhgp.gain, nnhgp.seconds, nnhgp.power + math.log(by) / math.log(36_584 / 1_500)
    )
    return {**PROTEIN, "nnhgp": steep}


@pytest.mark.parametrize("by", [1.5, 2.0])
def test_a_leader_may_take_longer_than_was_thought(by: float) -> None:
    made = compared(45_730, 600.0, 1, slower(by))
    rows, labels, _ = made.ran[-1]
    assert (rows, labels[0]) == (36_584, "nnhgp")
    assert made.spent < 1.8 * 600


def test_a_leader_that_takes_far_too_long_is_told_with_what_it_needs() -> None:
    made = compared(45_730, 600.0, 1, slower(6.0))
    rows, labels, _ = made.ran[-1]
    assert rows == 36_584
    assert "dvshgp" in labels
    assert "nnhgp with 36,584 rows (stopped)" in made.cut
    labels, seconds = made.enough
    assert labels == ("nnhgp",)
    assert seconds > 1_500
    again = compared(45_730, seconds, 1, slower(6.0))
    assert again.ran[-1][:2][0] == 36_584
    assert "nnhgp" in again.ran[-1][1]


def test_whoever_takes_too_long_on_few_rows_has_another_chance_with_fewer() -> None:
    slow = Truth(-0.9, 0.1, 200.0, 1.0)
    made = compared(45_730, 600.0, 1, {**PROTEIN, "nnhgp": slow})
    assert made.ran[1] == (500, ("nnhgp",), (20,))
    assert "nnhgp with 1,500 rows (stopped)" in made.cut
    assert "nnhgp -0.79 (500 rows)" in made.chosen[0]


def test_where_nothing_can_be_fitted_that_is_told_in_a_line() -> None:
    place: Any = None
    made = MadeUp("mine", "t", "mine", 9_000, 9, {}, (), 60.0, Path(), 1, "", place, hopeless=True)
    with pytest.raises(FitError, match=r"no model could be fitted: .*gp: it crashed"):
        made.run()


def test_time_is_not_spent_on_a_round_that_decides_nothing() -> None:
    few = ("mean", "linear", "forest", "lightgbm")
    assert [rows for rows, _, _ in compared(45_730, 600.0, 1, models=few).ran] == [1_500, 36_584, 36_584]
