"""Lines of runs: what they keep, how ledgers are merged, and what a table may not mix."""

import dataclasses

import numpy as np
import pytest

from hgpbench.errors import RecordError
from hgpbench.report import ledger, summary
from hgpbench.report import lines as lines_module
from hgpbench.report.collect import collect
from hgpbench.report.ledger import Plan
from hgpbench.report.lines import Line
from hgpbench.report.pictures import draw


@pytest.fixture
def experiment(results, fake):
    """Two models over three seeds, and one that failed."""
    entries = [results.entry(label, seed) for label in ("a", "b", "broken") for seed in range(3)]
    results.plan("demo", entries)
    for seed in range(3):
        results.finish(fake("a", mixture=True, experts=3), seed, code="one")
        results.finish(fake("b", error=0.2), seed, code="one")
        results.stop("broken", seed, "memory", "too large")
    return collect(results.root).experiments[0]


@pytest.fixture
def lines(experiment):
    return [Line.of("demo", run, drawn=run.entry.seed == 0) for run in experiment.runs]


def changed(line, **changes):
    return dataclasses.replace(line, record=dataclasses.replace(line.record, **changes))


def never(line) -> bool:
    return False


def no_plan(name: str) -> Plan:
    return Plan()


def fates(outcomes):
    return {(each.line.label, each.line.seed): each.fate for each in outcomes}


def test_a_line_says_what_its_run_said(lines, experiment) -> None:
    for line, run in zip(lines, experiment.runs, strict=True):
        again = Line.read(line.text())
        assert again.text() == line.text()
        assert len(line.text()) < 60_000
        shown = again.run()
        assert (shown.entry.label, shown.state, shown.reason) == (run.entry.label, run.state, run.reason)
        assert summary.values(shown) == pytest.approx(summary.values(run), rel=1e-7)
        if run.digest is not None:
            assert shown.digest.facts == pytest.approx(run.digest.facts, rel=1e-7)
            assert shown.digest.pit == run.digest.pit
            np.testing.assert_allclose(shown.digest.log_noise[::4], run.digest.log_noise[::4], atol=1e-4)


def test_a_line_keeps_no_path_of_a_machine(results, fake, lines) -> None:
    told = {"begun": "2026-01-01", "command": "hgpbench run --out /home/me", "user": {"git_sha": "0"}}
    results.finish(fake("a"), 0, provenance=told)
    run = collect(results.root).experiments[0].runs[0]
    assert "/home/me" not in Line.of("demo", run, drawn=True).text()


def test_what_is_drawn_keeps_its_steps_beside_a_high_level(results, fake) -> None:
    results.experiment("high", [fake("a")], seeds=1)
    run = next(each for each in collect(results.root).experiments if each.name == "high").runs[0]
    arrays = run.arrays()
    high = dataclasses.replace(arrays.prediction, mean=arrays.prediction.mean + 1365.0)
    text = Line.of("high", run, drawn=True).text()
    assert len(text) < 60_000
    moved = dataclasses.replace(arrays, prediction=high)
    packed = lines_module._packed_arrays(moved)["prediction"]["mean"]
    np.testing.assert_allclose(packed, high.mean, atol=1e-4 * np.ptp(high.mean))


def test_an_edited_line_is_refused(lines, tmp_path) -> None:
    path = tmp_path / "demo.jsonl"
    ledger.write(path, lines)
    path.write_text(path.read_text().replace('"smse":', '"smse":0.001,"old":', 1))
    with pytest.raises(RecordError, match=r"demo\.jsonl:1: has another checksum"):
        ledger.read(path)
    path.write_text("{}\n")
    with pytest.raises(RecordError, match=r"demo\.jsonl:1: is no line of format 1"):
        ledger.read(path)
    other = tmp_path / "other.jsonl"
    ledger.write(other, lines)
    with pytest.raises(RecordError, match="is a run of demo, not of other"):
        ledger.read(other)
    path.write_text(f"{lines[0].text()}\n" * 2)
    with pytest.raises(RecordError, match="two lines of a, seed 0"):
        ledger.read(path)


def test_the_same_lines_make_the_same_file(lines, tmp_path) -> None:
    path = tmp_path / "demo.jsonl"
    ledger.write(path, lines)
    first = path.read_bytes()
    ledger.write(path, [each.line for each in ledger.merge(ledger.read(path), lines[::-1], never)])
    assert path.read_bytes() == first


def test_no_line_makes_no_file(tmp_path) -> None:
    """A report of the folder would stumble over it: its experiment has only begun, perhaps."""
    ledger.write(tmp_path / "demo.jsonl", [])
    assert ledger.names(tmp_path) == []


def test_what_is_finished_and_not_stale_stays(lines) -> None:
    again = [changed(line, timings={"fit_wall": 9.0}) for line in lines]
    assert set(fates(ledger.merge(lines, again, never)).values()) == {"kept"}
    assert set(fates(ledger.merge(lines, again, never, replace=True)).values()) == {"replaced"}
    assert set(fates(ledger.merge(lines, lines, never)).values()) == {"as it was"}
    assert set(fates(ledger.merge([], lines, never)).values()) == {"new"}
    (rest,) = ledger.merge(lines[:1], [], never)
    assert (rest.fate, rest.line) == ("as it was", lines[0])


def test_a_finished_line_is_never_lost_to_one_that_is_not(lines) -> None:
    done, failed = lines[0], changed(lines[0], status="failed", code="two")
    (kept,) = ledger.merge([done], [dataclasses.replace(failed, digest=None)], lambda line: True)
    assert kept.line is done
    (taken,) = ledger.merge([dataclasses.replace(failed, digest=None)], [done], never)
    assert (taken.line, taken.fate) == (done, "replaced")


def test_a_stale_line_makes_way_for_one_of_todays_code(lines) -> None:
    new = changed(lines[0], code="two")
    (outcome,) = ledger.merge([lines[0]], [new], lambda line: line.record.code == "one")
    assert (outcome.fate, outcome.line) == ("replaced", new)
    (outcome,) = ledger.merge([new], [lines[0]], lambda line: line.record.code == "one")
    assert (outcome.fate, outcome.line) == ("kept", new)


def test_lines_of_other_settings_make_way_for_later_ones(lines) -> None:
    old = changed(lines[0], provenance={"begun": "2026-01-01"})
    new = dataclasses.replace(changed(lines[0], provenance={"begun": "2026-02-01"}), setting="other")
    assert [each.line for each in ledger.merge([old], [new], never)] == [new]
    assert [each.line for each in ledger.merge([new], [old], never)] == [new]


def test_a_report_of_lines_is_that_of_the_results(lines, experiment, tmp_path) -> None:
    ledger.write(tmp_path / "demo.jsonl", lines)
    (found,) = ledger.collect(tmp_path, no_plan).experiments
    assert found.labels == experiment.labels
    for row, other in zip(summary.rows(found), summary.rows(experiment), strict=True):
        assert (row.label, row.done, row.planned) == (other.label, other.done, other.planned)
        assert row.stats["msll"].mean == pytest.approx(other.stats["msll"].mean, nan_ok=True)
    names = [picture.name for picture in draw([found])["demo"]]
    assert names == [picture.name for picture in draw([experiment])["demo"]]


def test_what_was_planned_and_has_no_line_is_not_run(lines, tmp_path) -> None:
    ledger.write(tmp_path / "demo.jsonl", lines)
    plan = Plan("Demo", {"b": ("model", range(5)), "new": ("model", range(5))})
    (found,) = ledger.collect(tmp_path, lambda name: plan).experiments
    assert found.labels == ["b", "new", "a", "broken"]
    assert [run.state for run in found.of("b")] == ["done"] * 3 + ["not run"] * 2
    assert found.manifest.title == "Demo"


@pytest.mark.parametrize(
    "change",
    [{"code": "two"}, {"split": {"train": 7}}, {"dataset": {"name": "bumps", "sha256": "other"}}],
)
def test_a_table_does_not_mix(lines, tmp_path, change) -> None:
    ledger.write(tmp_path / "demo.jsonl", [changed(lines[0], **change), *lines[1:]])
    with pytest.raises(RecordError, match=r"made by different code or data.*a 0.*or say --mixed"):
        ledger.collect(tmp_path, no_plan)
    (found,) = ledger.collect(tmp_path, no_plan, mixed=True).experiments
    assert "a" in found.mixed


def test_seeds_of_one_label_have_one_setting(lines) -> None:
    other = dataclasses.replace(lines[1], setting="other")
    assert set(ledger.differing([lines[0], other])) == {"a"}
    assert ledger.differing(lines) == {}


def test_an_empty_ledger_says_how_to_fill_it(tmp_path) -> None:
    with pytest.raises(RecordError, match="no line; bring some by `hgpbench export RESULTS"):
        ledger.collect(tmp_path, no_plan, ["demo"])
