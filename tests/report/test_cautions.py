"""What is said beneath the tables of stored runs, and in which formats."""

import csv
import io
import json

import pytest

from hgpbench.report import latex, render
from hgpbench.report.collect import collect
from hgpbench.report.document import Document, section
from hgpbench.report.page import page


@pytest.fixture
def document(results, fake) -> Document:
    """A good model, one that is no fit in any way and one that is far too sure of itself."""
    results.experiment(
        "demo", [fake("good", 0.02), fake("poor", 3.0), fake("sure", 0.02, noise=1e-4)], seeds=2
    )
    return Document((section(collect(results.root).experiments[0]),))


def test_every_format_tells_what_is_amiss(document: Document) -> None:
    poor, sure = document.sections[0].cautions
    assert "poor with" in poor
    assert "good" not in poor + sure
    assert "sure by" in sure
    assert f"**Cautions**\n\n- {poor}\n- {sure}" in render.markdown(document)
    assert f"<li>{poor}</li>" in page(document, {})
    assert "poor $\\dagger$ $\\ddagger$ & 2/2" in latex.latex(document)
    assert "$\\ddagger$ Intervals that do not hold" in latex.latex(document)
    (told,) = json.loads(render.as_json(document))["experiments"]
    assert told["cautions"] == [poor, sure]
    assert {row["label"]: row["flags"] for row in told["models"]} == {
        "good": [],
        "poor": ["no better than the mean", "badly calibrated"],
        "sure": ["badly calibrated"],
    }
    rows = {r["label"]: r for r in csv.DictReader(io.StringIO(render.summary_csv(document.experiments)))}
    assert rows["poor"]["flags"] == "no better than the mean; badly calibrated"
    assert float(rows["sure"]["calibration_mean"]) > 0.1
    assert float(rows["good"]["coverage50_mean"]) == pytest.approx(0.5, abs=0.1)


def seen(results, fake, *shares: float | None, split: dict | None = None) -> list[str]:
    results.plan("demo", [results.entry("a", seed) for seed in range(len(shares))])
    for seed, share in enumerate(shares):
        results.finish(fake("a"), seed, seen_share=share, split=split or results.split)
    said = section(collect(results.root).experiments[0]).cautions
    return [sentence for sentence in said if "of the test rows" in sentence]


def test_copies_of_training_rows_among_the_test_rows_are_told(results, fake) -> None:
    (said,) = seen(results, fake, 0.05, 0.061, None)
    assert said.startswith(
        "5.55 % of the test rows (5 % to 6.1 % by seed) have exactly the inputs of a training row"
    )


def test_nothing_is_said_where_no_row_was_seen_or_nobody_looked(results, fake) -> None:
    assert seen(results, fake, 0.0, None) == []


def test_scores_in_sample_are_told_elsewhere(results, fake) -> None:
    assert seen(results, fake, 1.0, split={"train": "all", "test": "train"}) == []
