"""What a terminal shows: tables in its width, colours where they tell something, text of others as text."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hgpbench.commands import listings, machine, screen, terminal
from hgpbench.commands.listings import Listing
from hgpbench.metrics import METRICS
from hgpbench.models import MODELS
from hgpbench.report import tables
from hgpbench.report.collect import collect
from hgpbench.report.document import Document, write_up
from hgpbench.report.supplement import Closing
from hgpbench.report.tables import Cell, Table
from tests.report.conftest import Fake, Results

HARMFUL = "[red]x[/] \x1b[31m"
Invoke = Callable[..., Any]


@pytest.fixture
def document(tmp_path: Path) -> Document:
    results = Results(tmp_path / "results")
    fakes = [Fake("mean", 1.0, noise=1.0), Fake("gp", 0.3, noise=0.2), Fake("vshgp", 0.05, mixture=True)]
    results.experiment("demo", fakes, seeds=3)
    entries = [results.entry(fake.label, seed) for fake in fakes for seed in range(3)]
    results.plan(
        "demo",
        [*entries, results.entry("gp:n_inducing=4000,kernel=matern32,more=1", 0), results.entry("boom", 0)],
    )
    results.stop("boom", 0, "failed", HARMFUL)
    return write_up(collect(results.root))


def shown(
    document: Document, width: int, wide: bool = False, colour: bool = False, brief: bool = False
) -> str:
    out = io.StringIO()
    console = screen.Terminal(file=out, width=width, force_terminal=colour, highlight=False)
    terminal.show_report(document, wide, brief, console)
    return out.getvalue()


def ranking_of(text: str) -> list[str]:
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("model"))
    return lines[start : next(i for i, line in enumerate(lines) if line.startswith("By MSLL"))]


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(width: int, document: Document) -> None:
    assert max(map(len, shown(document, width).splitlines())) <= width


def test_models_are_ranked_and_columns_dropped_from_the_last(document: Document) -> None:
    narrow, broad = (ranking_of(shown(document, width)) for width in (60, 120))
    assert [line.split()[0] for line in broad[1:4]] == ["vshgp", "gp", "mean"]
    assert narrow[0].split()[:4] == ["model", "runs", "MSLL", "(exact)"]
    assert len(broad[0].split()) > len(narrow[0].split())
    assert "4000,kernel=m" not in "".join(broad[:-3])  # a long label wraps instead of taking all the room
    text = shown(document, 60)
    left_out = " ".join(text.partition("--wide shows them: ")[2].split(".")[0].split())
    assert left_out.split(", ")[-1] == "95 % width"


def test_wide_shows_every_column(document: Document) -> None:
    text = shown(document, 60, wide=True)
    assert "Left out" not in text
    (experiment,) = document.experiments
    head = " ".join(ranking_of(text)[0].split())
    every = tables.ranking(experiment).headings
    assert all(heading.split()[-1] in head for heading in every)
    assert len(every) == 2 + 1 + len([name for name in METRICS if not name.startswith("coverage")]) + 1 + 4


def test_best_and_flags_have_colours(document: Document) -> None:
    text = shown(document, 120, colour=True)
    assert re.search(r"\x1b\[1;32m-\d\.\d+ ± \d\.\d+\x1b\[0m", text)
    assert re.search(r"mean \x1b\[1;33m[†‡]\x1b\[0m", text)
    assert "\x1b" not in shown(document, 120)


def test_bars_stand_in_the_middle_where_intervals_hold(document: Document) -> None:
    (experiment,) = document.experiments
    table = tables.ranking(experiment)
    bars = {row[0].text.split()[0]: row[table.headings.index(tables.BARS)].text for row in table.rows}
    assert len(bars["vshgp"]) == 10
    assert set(bars["vshgp"]) <= set("▃▄▅")
    assert bars["mean"].count("▇") >= 3  # much too wide
    assert bars["boom"] == "–"


VERDICTS = Table(
    "Claims",
    ("verdict", "what the paper says", "counts as true if", "figures"),
    (
        (Cell("holds"), Cell("Noise varies " * 9), Cell("it does"), Cell("correlation 0.9")),
        *[(Cell("not run"), Cell("Cores help"), Cell("they do"), Cell(""))] * 3,
    ),
)


@pytest.mark.parametrize(("width", "is_narrow"), [(80, True), (120, False)])
def test_claims_are_blocks_where_columns_would_be_slivers(
    width: int, is_narrow: bool, document: Document
) -> None:
    closing = Closing("claims", "Claims of the paper", (VERDICTS,), ())
    text = shown(replace(document, closings=(closing,)), width)
    assert ("what the paper says: Noise varies" in text) == is_narrow
    assert "correlation 0.9" in text
    assert "Cores help" not in text
    assert "Not shown: 3 for which nothing was run." in text
    assert max(map(len, text.splitlines())) <= width


def test_a_brief_report_is_the_answer_and_the_ranking(document: Document) -> None:
    text = shown(document, 120, brief=True)
    assert "MSLL: vshgp is best" in text
    assert len(ranking_of(text)) > 4
    assert "Cautions" not in text
    assert "Cautions" in shown(document, 120)


def test_foreign_words_stay_words(document: Document) -> None:
    text = shown(document, 120)
    assert "[red]x[/] \\x1b[31m" in text


def test_an_experiment_without_a_score_is_told(tmp_path: Path) -> None:
    results = Results(tmp_path / "results")
    results.plan("demo", [results.entry("gp", 0)])
    assert "No run is done yet." in shown(write_up(collect(results.root)), 80)


def test_a_listing_fits_and_says_where_the_rest_is() -> None:
    listing = Listing(
        ("NAME", "ROWS", "TITLE"), (("x" * 10, "1,000", "long " * 20), ("y", "2", "[b]z[/]")), frozenset({1})
    )
    out = io.StringIO()
    screen.show_listing(listing, out=screen.Terminal(file=out, width=40))
    assert out.getvalue().splitlines()[0].split() == ["NAME", "ROWS"]
    assert "--wide shows them: title." in " ".join(out.getvalue().split())
    out = io.StringIO()
    screen.show_listing(listing, wide=True, out=screen.Terminal(file=out, width=40))
    assert "long " * 19 in out.getvalue()
    assert "[b]z[/]" in out.getvalue()
    assert str(listing).splitlines()[2].startswith("y               2  [b]z[/]")


def test_lines_wrap_under_their_beginning() -> None:
    out = io.StringIO()
    screen.show_text("gp: Exact GP\n    cost: " + "word " * 20, out=screen.Terminal(file=out, width=40))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[0] == "gp: Exact GP"
    assert len(lines) > 3
    assert all(line.startswith("    ") and len(line) <= 40 for line in lines[1:])


@pytest.mark.parametrize(
    "words", [("datasets",), ("models",), ("models", "gp"), ("doctor",), ("run", "smoke", "--dry-run")]
)
def test_listings_are_told_to_other_programs(words: tuple[str, ...], invoke: Invoke) -> None:
    data = json.loads(invoke(*words, "--json").stdout)
    text = invoke(*words).stdout
    if words[0] == "doctor":
        assert data["versions"]["numpy"] in text
        return
    for each in data:
        name = each.get("full_name") or each.get("name") or each["experiment"]
        assert name in text
    if words[0] == "run":
        assert len(data[0]["runs"]) == data[0]["due"] == 2 * len(MODELS)  # smoke has all, with two seeds
        assert text.count("pending") == data[0]["due"]
        assert data[0]["unknown"] in range(data[0]["due"] + 1)


def test_json_without_a_plan_is_refused(invoke: Invoke) -> None:
    result = invoke("run", "smoke", "--json")
    assert result.exit_code == 2
    assert "--json prints the plan of --dry-run" in result.stderr
    assert not Path("results").exists()


def test_a_terminal_gets_a_table_and_a_pipe_markdown(document: Document, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("hgpbench")), "report", str(tmp_path / "results")]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "| model" in piped
    seen = on_a_terminal(command)
    assert "| model" not in seen
    assert re.search(r"^vshgp +3/3 ", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen), re.MULTILINE)
    assert "| model" in on_a_terminal([*command, "--format", "md"])


def on_a_terminal(command: list[str]) -> str:
    """What a command prints where standard output is a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"}
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
        os.close(ours)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_text_of_listings_is_as_before() -> None:
    assert str(listings.datasets()).startswith("DATASET ")
    assert str(machine.doctor()).startswith("cpu ")
