"""What was run, told by the runs: sizes, seeds, what is missing and why, commits and machines."""

from dataclasses import replace

from hgpbench.paper import ran


def cells(make, *args, **kwargs):
    table = ran.table([make(*args, **kwargs)])
    (row,) = table.rows
    return dict(zip(table.headings, (cell.text for cell in row), strict=True))


def test_a_line_tells_sizes_seeds_and_time(make) -> None:
    models = {"a": {"smse": 0.1, "processor_seconds": 2.0}, "b": {"smse": 0.2, "processor_seconds": 3.0}}
    told = cells(make, "sarcos-subset", models, n_train=9000, planned=("c",))
    assert told["training, test rows"] == "9,000, 8,933"
    assert told["seeds"] == "0-2 (2 models)"
    assert told["models run"] == "2 of 3"
    assert told["processor time of all fits"] == "15 s"
    assert "9,000 training rows where the paper has 40,000" in told["unlike the paper"]


def test_seeds_that_few_models_have_are_told_apart(make) -> None:
    experiment = make("protein", {"a": {"smse": 0.1}, "b": {"smse": 0.2}, "c": {"smse": 0.3}})
    kept = tuple(run for run in experiment.runs if run.entry.label != "c" or run.entry.seed == 0)
    table = ran.table([replace(experiment, runs=kept)])
    assert table.rows[0][2].text == "0-2 (2 models); 0 (1)"


def test_pairs_that_tests_tell_apart_are_counted(make) -> None:
    scattered = {"a": {"msll": (-0.5, -0.51, -0.49)}, "b": {"msll": (-0.1, -0.11, -0.08)}}
    told = cells(make, "toy", scattered, fresh=True)
    assert told["pairs told apart in MSLL"] == "1 of 1"
    same = {"a": {"msll": (-0.5, -0.1, -0.3)}, "b": {"msll": (-0.1, -0.5, -0.3)}}
    assert cells(make, "toy", same, fresh=True)["pairs told apart in MSLL"] == "0 of 1"


def test_what_is_missing_is_told_with_its_reason(make) -> None:
    experiment = make("toy", {"a": {"smse": 0.1}}, planned=("b", "c"))
    failed = tuple(
        replace(run, state="timeout", reason="longer than 2 h") if run.entry.label == "c" else run
        for run in experiment.runs
    )
    assert ran.missing([replace(experiment, runs=failed)]) == [
        "toy, not run: b 0-2.",
        "toy, timeout: longer than 2 h: c 0-2.",
    ]
    assert ran.missing([make("toy", {"a": {"smse": 0.1}})]) == []


def test_commits_and_machines_are_told_and_changes_too(make) -> None:
    def of(name: str, sha: str, dirty: bool):
        experiment = make(name, {"a": {"smse": 0.1}})
        told = {"source": {"git_sha": sha * 40, "git_dirty": dirty}, "machine": {"cpu": "Fast", "cores": 2}}
        runs = tuple(replace(r, record=replace(r.record, provenance=told)) for r in experiment.runs)
        return replace(experiment, runs=runs)

    clean = of("toy", "a", dirty=False)
    assert ran.sources([clean]) == [
        "Commit aaaaaaaaaa: all experiments.",
        "Machine Fast, 2 cores: all experiments.",
    ]
    assert ran.sources([clean, of("solar", "b", dirty=True)])[:2] == [
        "Commit aaaaaaaaaa: toy.",
        "Commit bbbbbbbbbb with uncommitted changes: solar.",
    ]
