"""The page of the paper's experiments, from made-up lines: whole, the same again, and only of lines that belong."""

from dataclasses import replace
from pathlib import Path

import pytest

from hgpbench.commands import book as page
from hgpbench.errors import ConfigError, RecordError
from hgpbench.paper import figures
from hgpbench.paper.book import ordered
from hgpbench.paper.published import load
from hgpbench.report import ledger
from hgpbench.report.collect import collect
from hgpbench.report.lines import Line


@pytest.fixture
def lines(results_at, fake, tmp_path, monkeypatch) -> Path:
    """Lines of toy and of the sarcos that could be had, beside words by hand."""
    monkeypatch.chdir(tmp_path)
    folder = Path("docs/results/runs")
    for name, about, n_train in (
        ("toy", {"name": "toy", "synthetic": True}, 500),
        ("sarcos-subset", {"name": "sarcos", "variant": "subset", "synthetic": False}, 9000),
    ):
        made = replace(results_at(tmp_path / name), n_train=n_train, split={"train": n_train, "test": "rest"})
        made.dataset.update(about)
        made.experiment(name, [fake("mean", 1.0), fake("dvshgp-paper", mixture=True, experts=5)], seeds=2)
        (experiment,) = collect(made.root).experiments
        drawn = [Line.of(name, run, drawn=run.entry.seed == 0) for run in experiment.runs]
        folder.mkdir(parents=True, exist_ok=True)
        ledger.write(folder / f"{name}.jsonl", drawn)
    Path("docs/results/preface.md").write_text("What surprised is this.\n")
    Path("docs/results/criteria.md").write_text("One criterion changed.\n")
    return folder


def test_the_page_has_all_of_it_in_its_order(lines: Path) -> None:
    document = page.read(lines, mixed=False)
    written = page.draw(document, Path("docs/results.md"))
    text = page.text(document, Path("docs/results.md"), lines)
    parts = (
        "# The paper's experiments, run again",
        "What surprised is this.",
        "All claims of the paper:",
        "## The paper's figures",
        "## What was run, and what is missing",
        "## toy: ",
        "## sarcos-subset: ",
        "One criterion changed.",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "9,000 training rows where the paper has 40,000" in text
    assert "hgpbench report docs/results/runs --page docs/results.md" in text
    names = {path.name for path in written}
    assert {"toy-experts.png", "sarcos-subset-tradeoff.png", "sarcos-subset-noise.png"} <= names
    assert all(f"](results/figures/{name})" in text for name in names)
    assert "toy-traces" not in text  # no figure of the paper


def test_the_same_lines_make_the_same_page_and_others_another(lines: Path) -> None:
    first = page.text(page.read(lines, mixed=False), Path("docs/results.md"), lines)
    assert page.text(page.read(lines, mixed=False), Path("docs/results.md"), lines) == first
    kept = ledger.read(lines / "toy.jsonl")
    ledger.write(lines / "toy.jsonl", kept[:-1])
    assert page.text(page.read(lines, mixed=False), Path("docs/results.md"), lines) != first


def test_pictures_that_nothing_asks_for_any_more_go(lines: Path) -> None:
    old = Path("docs/results/figures/gone.png")
    old.parent.mkdir()
    old.write_bytes(b"old")
    (old.parent / figures.HIERARCHY).write_text("<svg/>")
    page.draw(page.read(lines, mixed=False), Path("docs/results.md"))
    assert not old.exists()
    assert (old.parent / figures.HIERARCHY).exists()


def test_runs_of_a_tree_with_changes_are_refused_or_marked(lines: Path) -> None:
    kept = ledger.read(lines / "toy.jsonl")
    dirty = replace(kept[0].record, provenance={"source": {"git_sha": "0" * 40, "git_dirty": True}})
    ledger.write(lines / "toy.jsonl", [replace(kept[0], record=dirty), *kept[1:]])
    with pytest.raises(RecordError, match=r"toy\.jsonl: .*uncommitted changes \(dvshgp-paper 0\).*--mixed"):
        page.read(lines, mixed=False)
    text = page.text(page.read(lines, mixed=True), Path("docs/results.md"), lines)
    assert "| dvshgp-paper §" in text
    assert "with uncommitted changes: toy." in text


def test_a_page_is_made_of_lines(tmp_path) -> None:
    with pytest.raises(ConfigError, match="hgpbench export"):
        page.read(tmp_path, mixed=False)


def test_the_order_is_the_papers() -> None:
    assert ordered(["zoo", "electric", "toy-rows-500", "sarcos-subset-blocks", "sarcos-subset", "toy"]) == [
        *("toy", "toy-rows-500", "sarcos-subset", "sarcos-subset-blocks", "electric", "zoo")
    ]


def test_all_fifteen_figures_have_a_picture_of_an_experiment_of_the_paper() -> None:
    assert [figure.number for figure in figures.FIGURES] == list(range(1, 16))
    named = {name for figure in figures.FIGURES for name, _ in figure.pictures}
    assert named <= set(load().experiments)
    root = Path(__file__).resolve().parents[2]
    assert (root / "docs/results/figures" / figures.HIERARCHY).is_file()
