"""The paper's numbers and claims in every format of a report on stored runs."""

import json
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from hgpbench import report
from hgpbench.paper import verdicts
from hgpbench.paper.supplement import supplement
from hgpbench.report.collect import collect
from hgpbench.report.document import write_up
from hgpbench.report.page import page


@pytest.fixture(scope="module")
def results(results_at, fake, tmp_path_factory):
    """Two experiments of the paper, one of them on another split, and one of somebody's own."""
    made = results_at(tmp_path_factory.mktemp("paper") / "results")
    made.dataset.update(name="sinc2d", synthetic=True)
    fakes = [fake("fitc", 0.2, noise=0.003), fake("vsgp", 0.1, noise=0.03), fake("dvshgp", mixture=True)]
    made.experiment("sinc2d", fakes, seeds=2)
    made.experiment("demo", fakes[:1], seeds=2)
    made.dataset.update(name="toy")
    made.experiment("toy-quick", fakes[2:], seeds=2)
    return made.root


@pytest.fixture(scope="module")
def built(results: Path, tmp_path_factory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("out")
    made = report.build(results, out, formats=("md", "latex", "json"), supplier=supplement)
    assert made.problems == ()
    html = page(write_up(collect(results), supplement), {})
    return {"html": html, **{path.suffix[1:]: path.read_text(encoding="utf-8") for path in made.files}}


@pytest.mark.parametrize("kind", ["md", "html", "tex"])
def test_every_format_tells_values_claims_and_more(built, kind: str) -> None:
    text = built[kind]
    for part in (
        "Published values beside ours",
        "0.0309",
        "VI-A, footnote on FITC",
        "FITC",
        "counts as true if",
        "All claims of the paper:",
        "Claims about several datasets:",
        "The true function and noise themselves",
        "holds (quick)",
        "noise variance of FITC at most 0.5 times that of VSGP",
    ):
        assert part in text, part


def test_markdown_prose_is_not_padded_and_keeps_its_columns(built) -> None:
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", built["md"], flags=re.MULTILINE)
    prose = [block.splitlines() for block in blocks if "what the paper says" in block]
    assert len(prose) == 5
    for lines in prose:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert not any(re.search(r"\S  ", line) for line in lines)
    assert built["md"].index("## Claims of the paper") > built["md"].index("## toy-quick")


def test_html_cells_carry_their_heading_for_narrow_screens(built) -> None:
    assert '<table class="prose">' in built["html"]
    assert 'data-heading="figures"' in built["html"]
    assert "content: attr(data-heading)" in built["html"]
    assert '<a href="#claims">' in built["html"]
    assert '<section id="claims">' in built["html"]


def test_latex_tables_are_whole(built) -> None:
    text = built["tex"]
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 5
    assert "usepackage{array,booktabs,longtable}" in text
    assert text.isascii()
    for columns, body in re.findall(
        r"\\begin\{longtable\}\{@\{\}(.*?)@\{\}\}\n(.*?)\\end", text, flags=re.DOTALL
    ):
        widths = [float(each) for each in re.findall(r"p\{([\d.]+)\\linewidth\}", columns)]
        assert sum(widths) < 1
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(widths)}


def test_json_has_the_numbers(built) -> None:
    body = json.loads(built["json"])
    told = {each["name"]: each for each in body["experiments"]}
    (noise,) = [each for each in told["sinc2d"]["published"] if each["label"] == "vsgp"]
    assert noise["published"] == 0.0309
    assert noise["ours"]["mean"] == pytest.approx(0.03)
    assert noise["difference"] == pytest.approx(-0.0009)
    claims = {each["id"]: each for each in body["claims"]}
    assert claims["sinc2d/fitc-noise"]["verdict"] == "holds"
    assert claims["sinc2d/fitc-noise"]["departures"] == [
        "1,000 training rows where the paper has 10,000",
        "400 test rows where the paper has 4,900",
    ]
    assert claims["electric/dvshgp-best"]["verdict"] == "not run"
    assert told["demo"]["published"] == told["demo"]["claims"] == told["demo"]["beyond"] == []


def test_one_experiment_alone_has_no_closing_table(results: Path) -> None:
    text = report.build(results / "sinc2d", supplier=supplement).text
    assert "**Claims of the paper" in text
    assert "All claims of the paper" not in text


def test_a_report_without_the_papers_experiments_is_as_before(results: Path) -> None:
    text = report.build(results / "demo", supplier=supplement).text
    assert "paper says" not in text
    assert "Published values" not in text
    (closing,) = supplement(collect(results / "demo").experiments).closings
    assert (closing.tables, closing.data) == ((), ())


def test_an_experiment_is_judged_once_a_report(results: Path, tmp_path: Path, monkeypatch) -> None:
    judge = Mock(wraps=verdicts.judge)
    monkeypatch.setattr(verdicts, "judge", judge)
    report.build(results, tmp_path, formats=("md", "latex", "json", "csv"), html=True, supplier=supplement)
    assert [call.args[0].name for call in judge.call_args_list] == ["demo", "sinc2d", "toy-quick"]


def test_without_the_paper_a_report_tells_of_the_runs_alone(results: Path, tmp_path: Path) -> None:
    text = report.build(results, tmp_path, formats=("md", "json")).text
    assert "dvshgp" in text
    assert "paper" not in text.replace("as in the paper", "")
    body = json.loads((tmp_path / "report.json").read_text())
    assert "claims" not in body
    assert not {"published", "claims", "beyond"} & body["experiments"][0].keys()
