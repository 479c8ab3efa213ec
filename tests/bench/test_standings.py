"""How the models of a round did: by the seed that was asked, whatever else was planned or failed."""

from pathlib import Path

from hgpbench.bench.standings import Trouble, processor_seconds, standings, troubles
from tests.report.conftest import Fake, Results

GIVEN = {"good": {"a": 1}, "slow": {}, "late": {}}


def test_other_seeds_do_not_matter(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.plan("mine", [results.entry(label, seed) for label in GIVEN for seed in (0, 1)])
    for label, seconds in (("good", 1.0), ("slow", 9.0)):  # seed 1 was planned and never ran
        results.finish(Fake(label), 0, timings={"total_cpu": seconds, "total_wall": 99.0})
    results.stop("late", 0, "timeout", "stopped after\nthe limit")
    found = {each.label: each for each in standings(tmp_path, "mine", GIVEN, tuple(GIVEN), 900, 0)}
    assert {label: each.seconds for label, each in found.items()} == {"good": 1.0, "slow": 9.0}
    assert (found["good"].params, found["good"].rows) == ({"a": 1}, 900)
    assert found["good"].msll < -0.5
    assert troubles(tmp_path, "mine", ("late", "nobody"), 0) == {
        "late": Trouble("stopped after the limit", is_late=True),
        "nobody": Trouble("not run"),
    }
    assert standings(tmp_path, "mine", GIVEN, tuple(GIVEN), 900, 1) == []


def test_wall_time_serves_where_no_other_is_known(tmp_path: Path) -> None:
    record = Results(tmp_path).record("good", 0, timings={"total_wall": 9.0})
    assert processor_seconds(record) == 9.0
