"""Models over many data sets: ranks, tests by hand and by others, and what a report says of them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hgpbench.report import across, build
from hgpbench.report.across import Ranking, critical_difference, friedman, rank
from tests.report.conftest import Fake, Results

SETS = ("a", "b", "c", "d", "e", "f", "g", "h")


def test_the_critical_difference_is_the_published_one() -> None:
    # Demšar (2006), table 5 and the example of section 3.2.2: four classifiers on 14 data sets.
    q = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
    found = [critical_difference(k, 100) / math.sqrt(k * (k + 1) / 600) for k in range(2, 11)]
    np.testing.assert_allclose(found, q, atol=1.1e-3)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)


@pytest.mark.parametrize("decimals", [6, 1, 0])
def test_friedman_agrees_with_scipy_ties_included(decimals: int) -> None:
    table = np.random.default_rng(0).uniform(0, 3, (4, 9)).round(decimals) + np.arange(4)[:, None] / 2
    ranks = np.apply_along_axis(stats.rankdata, 0, table)
    chi2 = stats.friedmanchisquare(*table).statistic
    expected = stats.f.sf((9 - 1) * chi2 / (9 * 3 - chi2), 3, 3 * 8)
    assert friedman(ranks) == pytest.approx(expected, rel=1e-10)


def test_friedman_of_one_order_and_of_none() -> None:
    assert friedman(np.tile([[1.0], [2.0], [3.0]], 7)) == 0.0
    assert friedman(np.full((3, 7), 2.0)) == 1.0


def test_models_without_all_scores_are_not_ranked() -> None:
    scores = {"x": [1.0, 2.0, math.nan], "y": [2.0, 1.0, 3.0], "z": [1.0, 1.0, 4.0]}
    ranking = rank(scores, "msll", SETS[:3])
    # z, y: 1, 2 on the first, tied on the second, 2, 1 on the third.
    assert (set(ranking.labels), ranking.ranks) == ({"y", "z"}, (1.5, 1.5))
    assert math.isnan(ranking.p)
    assert ranking.groups == []


def test_groups_are_the_largest_that_are_not_apart() -> None:
    ranking = Ranking("msll", SETS, tuple("uvwxyz"), (1.0, 1.5, 2.4, 3.9, 4.0, 6.0), 0.001, 1.5)
    assert ranking.groups == [(0, 2), (3, 4)]
    assert replace(ranking, critical=1.55).groups == [(0, 2), (2, 3), (3, 4)]
    assert replace(ranking, critical=9.0).groups == [(0, 5)]
    assert replace(ranking, critical=0.05).groups == []


def write(results: Results, sets: int, lacking: str = "") -> None:
    for place in range(sets):
        own = Results(results.root / f"of-{place}", dataset={**results.dataset, "name": SETS[place]})
        fakes = [Fake("good", 0.3), Fake("close", 0.32 if place else 0.2), Fake("far", 2.0)]
        fakes = [fake for fake in fakes if not (place == 1 and fake.label == lacking)]
        folder = own.experiment(f"many+{SETS[place]}", fakes, seeds=2)
        folder.rename(results.root / folder.name)
        text = (results.root / folder.name / "experiment.json").read_text()
        body = json.loads(text)
        del body["checksum"]
        for entry in body["entries"]:
            entry["folder"] = f"of-{place}/{entry['folder']}"
        (results.root / folder.name / "experiment.json").write_text(json.dumps(body))


def test_a_report_ends_with_ranks_and_their_picture(results: Results) -> None:
    write(results, 7)
    results.experiment("other", [Fake("good")], seeds=1)
    report = build(results.root / "many", results.root / "many" / "report", formats=("md", "json"), plot=True)
    end = report.text.partition("## many: across 7 data sets")[2]
    lines = end.splitlines()
    assert lines[2].startswith("- MSLL: good has the best mean rank, 1.14 over 7 data sets; the order is no")
    assert lines[2].endswith("(Nemenyi, 5 %): it is ahead of far.")
    assert [line.split("|")[1].strip() for line in lines if line.startswith("|")][2:5] == [
        "good",
        "close",
        "far",
    ]
    written = {path.name for path in report.files}
    assert {"across-many-ranks-msll.png", "across-many-ranks-smse.svg"} <= written
    assert "](plots/across-many-ranks-msll.png)" in (results.root / "many/report/report.md").read_text()
    data = json.loads((results.root / "many/report/report.json").read_text())["across-many"]
    assert [each["metric"] for each in data] == ["msll", "smse"]
    assert data[0]["labels"] == ["good", "close", "far"]
    assert len(report.document.experiments) == 7  # the other experiment is no part of it


def test_few_data_sets_have_a_table_and_no_test(results: Results) -> None:
    write(results, 3, lacking="close")
    report = build(results.root, plot=False, html=True)
    assert (
        "6 and two models would allow a test. Not ranked, for want of a score on some data set: 1 of 3"
        in (report.text)
    )
    page = (results.root / "report/report.html").read_text()
    assert "many: across 3 data sets" in page
    assert "Mean ranks by" not in page


def test_experiments_of_other_names_are_not_put_together(results: Results) -> None:
    results.experiment("many+a", [Fake("good")], seeds=1)
    results.experiment("more+b", [Fake("good")], seeds=1)
    assert "across" not in build(results.root).text
    assert across.closings([]) == ()
