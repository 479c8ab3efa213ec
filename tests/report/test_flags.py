"""Signs beside a label: by scores alone, never by a name."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.metrics import METRICS
from hgpbench.report.cautions import cautions
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.digest import PIT_BINS, Digest
from hgpbench.report.flags import BADLY_CALIBRATED, NO_BETTER, calibration_error, flags, no_better, signed

FINE = {"smse": 0.3, "msll": -0.5, "interval95": 0.6, "calibration": 0.02}
TRIVIAL = {"smse": 1.003, "msll": 0.0, "interval95": 1.0, "calibration": 0.05}


def experiment(*runs: tuple[str, Mapping[str, float]], rows: int = 400) -> Experiment:
    """Finished runs with these scores; the seeds of a label count from 0."""
    made, seeds = [], dict[str, int]()
    for label, scores in runs:
        seed = seeds[label] = seeds.get(label, -1) + 1
        every = {name: metric.target or 0.5 for name, metric in METRICS.items()} | scores
        pit = (rows, *[0] * (PIT_BINS - 1))
        digest = Digest(every, False, pit, (), (), (), {})
        made.append(Run(Entry(label, "model", seed, f"{label}/{seed}", label), Path(), "done", digest=digest))
    return Experiment(Manifest("e", "", {"name": "d"}, {}, tuple(run.entry for run in made)), tuple(made))


def test_a_good_fit_has_no_flag() -> None:
    found = experiment(("gp", FINE))
    assert flags(found, "gp") == []
    assert signed(found, "gp") == "gp"
    assert cautions(found) == []


@pytest.mark.parametrize("smse", [0.99, 1.0, 30.0, float("inf")])
def test_a_fit_no_better_than_the_mean_is_flagged_whatever_its_name(smse: float) -> None:
    found = experiment(("mean", FINE | {"smse": smse}))
    assert flags(found, "mean") == [NO_BETTER]
    assert signed(found, "mean") == "mean †"


def test_the_trivial_predictor_is_known_by_its_scores_and_not_blamed() -> None:
    assert flags(experiment(("anything", TRIVIAL)), "anything") == []
    assert flags(experiment(("near", TRIVIAL | {"interval95": 1.001})), "near") == [NO_BETTER]


def test_an_undefined_smse_says_nothing() -> None:
    assert no_better(experiment(("gp", FINE | {"smse": float("nan")})), "gp") == {}


def test_seeds_that_failed_are_named_where_others_did_not() -> None:
    bad = FINE | {"smse": 1.25}
    found = experiment(("part", FINE), ("part", bad), ("part", bad), ("all", bad), ("none", FINE))
    assert no_better(found, "part") == {1: 1.25, 2: 1.25}
    (said,) = cautions(found)
    assert said.endswith(
        "(0.99 or more counts as that): part with 1.250 on 2 of 3 seeds (1-2); all with 1.250."
    )


@pytest.mark.parametrize(
    ("error", "rows", "is_told"), [(0.11, 400, True), (0.09, 400, False), (0.2, 20, False), (0.3, 20, True)]
)
def test_calibration_is_flagged_where_it_is_bad_and_not_by_chance(
    error: float, rows: int, is_told: bool
) -> None:
    found = experiment(("gp", FINE | {"calibration": error}), rows=rows)
    assert calibration_error(found, "gp") == (error if is_told else None)
    assert (BADLY_CALIBRATED in flags(found, "gp")) is is_told


@pytest.mark.parametrize(("covered", "way"), [(0.05, "narrow"), (0.99, "wide")])
def test_the_way_in_which_intervals_are_wrong_is_told(covered: float, way: str) -> None:
    scores = FINE | {name: covered for name in METRICS if name.startswith("coverage")}
    (said,) = cautions(experiment(("gp", scores | {"calibration": 0.123})))
    assert said.endswith(f"gp by 12.3 %, mostly too {way}.")
    assert said.startswith(f"{BADLY_CALIBRATED.sign} ")
