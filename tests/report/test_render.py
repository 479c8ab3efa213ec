"""Tables in every format: what is shown, what is marked, what survives a round trip."""

import csv
import io
import json
import math
import re

import numpy as np
import pytest

from hgpbench.bench import record
from hgpbench.report import latex, render, summary, tables
from hgpbench.report.collect import collect
from hgpbench.report.document import Document, section
from hgpbench.report.notes import notes
from hgpbench.report.summary import Row, Stat


@pytest.fixture
def experiment(results, fake):
    """Three models over four seeds; one seed failed with an awkward reason, one was never run."""
    fakes = [fake("mean", 1.0, noise=1.0), fake("vshgp", 0.02, mixture=True), fake("gp_50%", 0.05, noise=0.2)]
    results.experiment("demo", fakes, seeds=4)
    entries = [results.entry(each.label, seed) for each in fakes for seed in range(4)]
    results.plan("demo", [*entries, results.entry("boom", 0), results.entry("boom", 1)])
    results.stop("boom", 0, "failed", "ValueError: a|b\nand 100 % <more>_")
    return collect(results.root).experiments[0]


def cells(table: tables.Table, label: str) -> dict[str, tables.Cell]:
    row = next(row for row in table.rows if row[0].text.split()[0] == label)
    return dict(zip(table.headings, row, strict=True))


def test_score_table_says_which_msll_is_which(experiment) -> None:
    table = tables.score_table(experiment)
    assert table.headings[:5] == ("model", "runs", "SMSE", "MSLL (exact)", "MSLL (Gaussian)")
    found = cells(table, "vshgp")
    assert found["MSLL (exact)"].text != found["MSLL (Gaussian)"].text


def test_one_msll_where_no_model_is_a_mixture(results, fake) -> None:
    results.experiment("plain", [fake("a"), fake("b", 0.3)], seeds=2)
    headings = tables.score_table(collect(results.root).experiments[0]).headings
    assert "MSLL" in headings
    assert not any("(" in heading for heading in headings)


def test_best_is_marked_and_unfinished_models_stay(experiment) -> None:
    table = tables.score_table(experiment)
    assert [row[0].text for row in table.rows if row[2].is_best] == ["vshgp"]
    assert "runs" not in tables.interval_table(experiment).headings
    assert cells(table, "boom")["runs"].text == "0/2"
    assert cells(table, "boom")["SMSE"].text == "–"


def rows_of(**means: tuple[float, int]) -> list[Row]:
    return [
        Row(label, label, done, 5, {name: Stat(mean, 0.1, done) for name in summary.QUANTITIES})
        for label, (mean, done) in means.items()
    ]


def test_best_follows_the_direction_of_the_metric() -> None:
    rows = rows_of(low=(0.5, 5), near=(0.93, 5), high=(1.0, 5))
    assert summary.best(rows, "smse") == {"low"}
    assert summary.best(rows, "coverage95") == {"near"}
    assert summary.best(rows, "width95") == set()
    assert summary.best(rows, "fit_seconds") == set()


def test_best_needs_as_many_runs_and_a_finite_score() -> None:
    assert summary.best(rows_of(lucky=(0.1, 1), a=(0.5, 5), b=(0.6, 5)), "smse") == {"a"}
    assert summary.best(rows_of(bad=(float("nan"), 5), a=(0.5, 5), b=(0.6, 5)), "smse") == {"a"}
    assert summary.best(rows_of(alone=(0.1, 5)), "smse") == set()


def test_marks_go_to_those_who_know_more_than_the_mean() -> None:
    """The mean covers perfectly and knows nothing; a name does not matter, and each score has its judge."""

    def row(label: str, **means: float) -> Row:
        every = {name: Stat(means.get(name, 0.5), 0.1, 5) for name in summary.QUANTITIES}
        return Row(label, label, 5, 5, every)

    rows = [
        row(
            "trivial",
            smse=1.0,
            coverage95=0.95,
            calibration=0.001,
            crps=0.1,
            nlpd=0.0,
            msll=0.0,
            interval95=1.0,
        ),
        row(
            "worse",
            smse=1.7,
            coverage95=0.951,
            calibration=0.002,
            crps=0.2,
            nlpd=0.1,
            msll=0.3,
            interval95=2.0,
        ),
        row("noise", smse=1.0, coverage95=0.952, calibration=0.003, nlpd=-0.4, msll=-0.4, interval95=0.7),
        row(
            "fit", smse=0.9, coverage95=0.90, calibration=0.04, crps=0.4, nlpd=-0.1, msll=-0.1, interval95=0.8
        ),
    ]
    assert {name: summary.best(rows, name) for name in ("smse", "coverage95", "calibration", "crps")} == {
        key: {"fit"} for key in ("smse", "coverage95", "calibration", "crps")
    }
    # A model of the noise alone has an SMSE of 1, and earns its marks where the noise is judged.
    assert {name: summary.best(rows, name) for name in ("msll", "nlpd", "interval95")} == {
        key: {"noise"} for key in ("msll", "nlpd", "interval95")
    }
    for name in ("smse", "msll", "nlpd", "coverage95", "calibration", "interval95", "rmse"):
        assert summary.best(rows[:2], name) == set()
    assert summary.best([rows[0], rows[3]], "coverage95") == {"fit"}  # one of two is a choice


def test_the_legend_tells_the_rule_of_the_marks(experiment) -> None:
    (said,) = [note for note in section(experiment).notes if note.startswith("The best mean")]
    assert "beat the mean and variance of the training targets by 0.01: in SMSE" in said


def test_interval_tables_show_scores_in_per_cent_and_no_row_without_runs(experiment) -> None:
    table = tables.interval_table(experiment)
    assert table.headings == (
        "model",
        "95 % coverage [%]",
        "calibration error [%]",
        "interval score",
        "95 % width",
    )
    assert cells(tables.score_table(experiment), "boom")["SMSE"].text == "–"  # once, with how many ran
    for each in (table, tables.coverage_table(experiment), tables.cost_table(experiment)):
        assert "boom" not in {row[0].text for row in each.rows}
    error = summary.rows(experiment)[1].stats["calibration"].mean
    assert float(cells(table, "vshgp")["calibration error [%]"].text.split()[0]) == pytest.approx(
        100 * error, abs=0.06
    )
    levels = tables.coverage_table(experiment)
    assert levels.headings == ("model", *(f"{p} %" for p in (10, 20, 30, 40, 50, 60, 70, 80, 90, 95)))
    half = np.mean([run.digest.scores["coverage50"] for run in experiment.of("vshgp")])
    assert cells(levels, "vshgp")["50 %"].text == f"{100 * half:.1f}"


def wide(columns: int, width: int) -> tables.Table:
    row = (tables.Cell("model", is_number=False), *(tables.Cell("9" * width) for _ in range(columns)))
    return tables.Table("Wide", ("model", *(f"c{i}" for i in range(columns))), (row,))


@pytest.mark.parametrize(
    ("columns", "width", "parts"), [(4, 19, [4]), (5, 19, [3, 2]), (9, 19, [3, 3, 3]), (3, 200, [1, 1, 1])]
)
def test_a_table_wider_than_the_screen_is_shared_evenly(columns: int, width: int, parts: list[int]) -> None:
    found = render.fitted(wide(columns, width))
    assert [len(part.headings) - 1 for part in found] == parts
    assert [heading for part in found for heading in part.headings[1:]] == [f"c{i}" for i in range(columns)]
    assert all(part.headings[0] == "model" for part in found)
    assert [part.caption for part in found] == ["Wide", *["Wide, continued"] * (len(parts) - 1)]


def test_no_table_of_numbers_is_wider_than_the_screen(experiment) -> None:
    text = render.markdown(Document((section(experiment),)))
    assert "**Scores, continued**" in text
    assert (
        max(len(line) for line in text.split("**Runs without")[0].splitlines() if line[:1] == "|")
        <= render.SCREEN
    )


def test_a_table_of_words_stays_in_one_piece(experiment) -> None:
    table = tables.unfinished_table(experiment)
    assert render.fitted(table) == [table]


def test_unfinished_table_groups_equal_reasons(results, fake) -> None:
    results.plan("demo", [results.entry("a", seed) for seed in range(6)])
    for seed in (0, 1, 2, 5):
        results.stop("a", seed, "timeout", "longer than 2 h")
    table = tables.unfinished_table(collect(results.root).experiments[0])
    assert table is not None
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts == [
        ["a", "0-2, 5", "timeout", "longer than 2 h", "runs/a/0"],
        ["a", "3-4", "not run", "–", "runs/a/3"],
    ]


def test_all_done_has_no_unfinished_table(results, fake) -> None:
    results.experiment("demo", [fake("a")], seeds=1)
    assert tables.unfinished_table(collect(results.root).experiments[0]) is None


def test_markdown_tables_are_aligned_and_well_formed(experiment) -> None:
    text = render.markdown(Document((section(experiment),)))
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    assert len(blocks) == 6
    for block in blocks:
        lines = block.splitlines()
        assert len({len(line) for line in lines}) == 1
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert re.search(r"\*\*0\.\d+ ± 0\.\d+\*\*", text)
    assert r"ValueError: a\|b and 100 % \<more>_" in text


def test_latex_escapes_what_users_wrote(experiment) -> None:
    text = latex.latex(Document((section(experiment),)))
    assert r"gp\_50\% $\ddagger$ & 4/4" in text
    assert r"a|b and 100 \% $<$more$>$\_" in text
    assert re.search(r"\$\\mathbf\{0\.\d+ \\pm 0\.\d+\}\$", text)
    assert "±" not in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 5
    for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end", text, flags=re.DOTALL):
        rows = [line for line in body[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(body[0])}


def test_csv_carries_full_precision(experiment) -> None:
    runs = list(csv.DictReader(io.StringIO(render.runs_csv([experiment]))))
    assert len(runs) == len(experiment.runs) == 14
    for line, run in zip(runs, sorted_runs(experiment), strict=True):
        if run.digest is not None:
            assert float(line["smse"]) == run.digest.scores["smse"]
        else:
            assert line["smse"] == ""
    rows = {line["label"]: line for line in csv.DictReader(io.StringIO(render.summary_csv([experiment])))}
    smse = [run.digest.scores["smse"] for run in experiment.of("vshgp")]
    assert float(rows["vshgp"]["smse_mean"]) == pytest.approx(np.mean(smse), rel=1e-15)
    assert float(rows["vshgp"]["smse_sd"]) == pytest.approx(np.std(smse, ddof=1), rel=1e-12)
    assert rows["boom"]["smse_mean"] == ""
    assert rows["boom"]["planned"] == "2"


def sorted_runs(experiment):
    return [run for label in experiment.labels for run in experiment.of(label)]


def test_json_is_strict_and_complete(experiment) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    body = json.loads(
        render.as_json(Document((section(experiment),), problems=("trouble",))), parse_constant=refuse
    )
    (told,) = body["experiments"]
    assert [run["status"] for run in told["runs"]].count("done") == 12
    assert {(pair["first"], pair["second"]) for pair in told["comparisons"]} >= {("mean", "vshgp")}
    assert {pair["metric"] for pair in told["comparisons"]} == {"smse", "msll", "interval95", "calibration"}
    assert body["problems"] == ["trouble"]
    assert told["models"][0]["stats"]["smse"]["n"] == 4


def test_notes_tell_data_units_machine_and_versions(experiment) -> None:
    text = "\n".join(section(experiment).notes)
    for part in (
        "bumps",
        "1,000 training rows",
        "height",
        "Test CPU",
        "1 thread",
        "numpy 2.0.0",
        "0123456789",
    ):
        assert part in text


def test_runs_of_one_model_on_two_machines_are_told(results, fake) -> None:
    results.experiment("demo", [fake("a"), fake("b")], seeds=2)
    folder = results.folder("a", 1)
    kept, arrays = record.read(folder), record.read_arrays(folder)
    elsewhere = {**kept.provenance, "threads": 8}
    record.write(folder, record.Record(**(vars(kept) | {"provenance": elsewhere})), arrays)
    text = "\n".join(section(collect(results.root).experiments[0]).notes)
    assert "8 threads (1 runs)" in text or "8 threads (1 run)" in text
    assert "different machines or threads: a." in text


@pytest.mark.parametrize(("share", "is_told"), [(0.5, True), (0.99, False)])
def test_runs_that_shared_their_core_are_told(share: float, is_told: bool, results, fake) -> None:
    results.plan("demo", [results.entry("a", 0)])
    timings = {"fit_wall": 20.0, "fit_cpu": 20.0 * share, "predict_wall": 2.0, "predict_cpu": 2.0}
    results.finish(fake("a"), 0, timings=timings)
    (experiment,) = collect(results.root).experiments
    told = [line for line in section(experiment).notes if "of a core on average" in line]
    assert told == (
        [
            "Other work ran beside these runs: fits had 50% of a core on average. Wall-clock times are longer "
            "for it; processor times tell more."
        ]
        if is_told
        else []
    )
    assert summary.rows(experiment)[0].stats["processor_seconds"].mean == 20.0 * share + 2.0


def test_an_experiment_without_any_finished_run_still_has_a_section(results) -> None:
    results.plan("demo", [results.entry("a", 0)])
    made = section(collect(results.root).experiments[0])
    assert "No run is done yet." in made.notes
    assert made.findings == ()
    assert "not run" in render.markdown(Document((made,)))


def test_models_that_explain_nothing_are_named_below_the_tables(results, fake) -> None:
    results.experiment("flat", [fake("a"), fake("b", 0.3)], seeds=2)
    found = collect(results.root).experiments[0]
    assert not any("No better than the mean" in line for line in notes(found))
    for one in found.finished:
        one.fit["explained"] = 0.002 if one.label == "b" else 0.9
    assert "No better than the mean on its own training rows: b (2 runs)." in notes(found)


@pytest.mark.parametrize(
    ("name", "mean", "sd", "expected"),
    [
        ("msll", -5.4e-7, math.nan, "0.0000"),
        ("msll", 2e-5, 3e-5, "0.0000"),
        ("msll", 2e-5, 3e-4, "0.00002 ± 0.00030"),
        ("msll", 0.0, math.nan, "0"),
        ("smse", 5.4e-7, math.nan, "5.400e-07"),
    ],
)
def test_a_log_density_near_nought_is_nought_and_a_ratio_is_not(name, mean, sd, expected) -> None:
    assert tables.text_of(Stat(mean, sd, 3), name) == expected
