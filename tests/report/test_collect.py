"""Nothing planned disappears: every state of a run is told."""

from pathlib import Path

import pytest

from hgpbench.bench import manifest, record
from hgpbench.errors import RecordError
from hgpbench.report.collect import collect
from hgpbench.report.digest import SCORES


def states(found) -> dict[tuple[str, int], str]:
    return {(run.entry.label, run.entry.seed): run.state for run in found.experiments[0].runs}


def test_every_planned_run_has_a_state(results, fake) -> None:
    labels = ("gp", "boom", "slow", "cut", "lost")
    results.plan("demo", [results.entry(label, seed) for label in labels for seed in range(2)])
    results.finish(fake("gp"), 0)
    results.stop("boom", 0, "failed", "ValueError: no")
    results.stop("slow", 0, "timeout", "longer than 2 h")
    results.finish(fake("cut"), 0)
    (results.folder("cut", 0) / record.PREDICTIONS).write_bytes(b"half")
    results.finish(fake("lost"), 0)
    path = results.folder("lost", 0) / record.RECORD
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    found = states(collect(results.root / "demo"))
    assert found == {
        **{(label, 1): "not run" for label in labels},
        ("gp", 0): "done",
        ("boom", 0): "failed",
        ("slow", 0): "timeout",
        ("cut", 0): "damaged",
        ("lost", 0): "damaged",
    }


def test_reasons_are_kept_and_damage_says_what_to_do(results, fake) -> None:
    results.plan("demo", [results.entry("boom", 0), results.entry("gp", 0)])
    results.stop("boom", 0, "memory", "more than 16 GB")
    results.finish(fake("gp"), 0)
    (results.folder("gp", 0) / record.PREDICTIONS).unlink()
    boom, gp = collect(results.root).experiments[0].runs
    assert boom.reason == "more than 16 GB"
    assert gp.reason is not None
    assert record.PREDICTIONS in gp.reason
    assert "--force" in gp.reason


def test_a_results_folder_gives_every_experiment_and_its_shared_runs(results, fake) -> None:
    results.experiment("first", [fake("gp")], seeds=2)
    results.plan("second", [results.entry("gp", seed) for seed in range(3)])
    found = collect(results.root)
    assert [experiment.name for experiment in found.experiments] == ["first", "second"]
    assert sorted(found.experiments[1].done("gp")) == [0, 1]
    assert [e.name for e in collect(results.root / "second").experiments] == ["second"]


def test_one_damaged_manifest_does_not_hide_the_others(results, fake) -> None:
    results.experiment("good", [fake("gp")], seeds=1)
    bad = results.root / "bad" / manifest.MANIFEST
    bad.parent.mkdir()
    bad.write_text("{")
    found = collect(results.root)
    assert [experiment.name for experiment in found.experiments] == ["good"]
    assert len(found.problems) == 1
    assert str(bad) in found.problems[0]
    with pytest.raises(RecordError, match="unreadable"):
        collect(results.root / "bad")


@pytest.mark.parametrize("make", [True, False])
def test_a_folder_without_experiments_is_refused(tmp_path: Path, make: bool) -> None:
    folder = tmp_path / "nothing"
    if make:
        folder.mkdir()
    with pytest.raises(RecordError, match="no experiment" if make else "no such folder"):
        collect(folder)


def test_progress_counts_every_planned_run(results, fake) -> None:
    results.experiment("demo", [fake("a"), fake("b")], seeds=2)
    seen: list[tuple[int, int]] = []
    collect(results.root, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_relative_experiment_folder_finds_its_runs(results, fake, monkeypatch) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    monkeypatch.chdir(results.root / "demo")
    assert states(collect(Path())) == {("gp", 0): "done"}


def test_scores_are_kept_beside_the_run(results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    collect(results.root)
    assert (results.folder("gp", 0) / SCORES).is_file()
