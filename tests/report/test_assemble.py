"""The whole report: files, text and the self-contained page."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hgpbench import report
from hgpbench.bench import manifest
from hgpbench.errors import ConfigError
from hgpbench.report.collect import collect
from hgpbench.report.document import Document, section, write_up
from hgpbench.report.page import LOOKED_AT, page
from hgpbench.report.render import as_json
from hgpbench.report.supplement import Addition
from tests.report.conftest import DRAWN

VOID = {"meta", "img", "br", "link", "hr"}


class Page(HTMLParser):
    """Checks that tags are closed in order and notes what the page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def fill(results, fake) -> Path:
    fakes = [fake("mean", 1.0, noise=1.0), fake("vshgp", 0.05, mixture=True)]
    results.experiment("demo", fakes, seeds=3)
    entries = [results.entry(each.label, seed) for each in fakes for seed in range(3)]
    results.plan("demo", [*entries, results.entry("boom", 0)])
    results.stop("boom", 0, "failed", "<script>alert('x')</script> & more")
    return results.root / "demo"


@pytest.fixture
def demo(results, fake) -> Path:
    return fill(results, fake)


@pytest.fixture(scope="module")
def built(results_at, fake, tmp_path_factory):
    """One report with everything in its default place, for all tests that only look at it."""
    folder = fill(results_at(tmp_path_factory.mktemp("built") / "results"), fake)
    return folder, report.build(folder, folder / "report", plot=True, html=True)


def test_tables_alone_write_nothing(demo: Path) -> None:
    before = sorted(path for path in demo.parent.iterdir())
    made = report.build(demo)
    assert made.files == ()
    assert sorted(demo.parent.iterdir()) == before
    assert [p.name for p in demo.iterdir()] == [manifest.MANIFEST]
    assert re.search(r"^\| vshgp +\|", made.text, flags=re.MULTILINE)


def test_every_format_is_written_and_the_first_is_the_text(demo: Path, tmp_path: Path) -> None:
    made = report.build(demo, tmp_path / "out", formats=("csv", "md", "latex", "json"))
    names = [path.name for path in made.files]
    assert names == ["summary.csv", "runs.csv", "comparisons.csv", "report.md", "report.tex", "report.json"]
    assert made.text == (tmp_path / "out" / "summary.csv").read_text()


@pytest.mark.parametrize("formats", [("pdf",), ()])
def test_an_unknown_format_is_refused_before_anything_is_read(
    tmp_path: Path, formats: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError, match="allowed are md, csv, latex, json"):
        report.build(tmp_path / "nowhere", formats=formats)


def test_plots_go_to_the_report_folder_by_default(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1)], seeds=1)
    made = report.build(results.root / "demo", plot=True)
    assert made.files
    assert all(path.is_relative_to(results.root / "demo" / "report") for path in made.files)


def test_a_report_is_no_experiment(built) -> None:
    folder, made = built
    again = report.build(folder.parent)
    assert again.problems == ()
    assert again.text == made.text


def test_markdown_shows_the_plots_beside_it(built) -> None:
    folder, made = built
    addresses = re.findall(r"!\[.*?\]\((.*?)\)", (folder / "report" / "report.md").read_text())
    assert len(addresses) == len(DRAWN)
    assert all((folder / "report" / address) in made.files for address in addresses)
    assert "![" not in made.text


def test_page_is_self_contained_well_formed_and_escaped(built) -> None:
    folder, _ = built
    text = (folder / "report" / "report.html").read_text(encoding="utf-8")
    parsed = Page(text)
    assert parsed.open == []
    assert parsed.tags.count("script") == 3  # data, looks, and the one that reads them
    assert "link" not in parsed.tags
    assert parsed.addresses
    assert all(address.startswith(("data:image/", "#")) for address in parsed.addresses)
    assert not re.search(r"url\(|@import|https?://", text)
    assert "&lt;script&gt;alert" in text
    for part in ('name="viewport"', "@media print", "prefers-color-scheme: dark", "overflow-x: auto"):
        assert part in text
    assert parsed.tags.count("img") == len(DRAWN)
    assert parsed.tags.count("table") == 5
    assert text.count('class="still"') == 4 + len(LOOKED_AT)


def test_page_embeds_what_the_json_format_writes(demo: Path) -> None:
    document = write_up(collect(demo))
    text = page(document, {})
    [embedded] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(embedded) == json.loads(as_json(document))
    assert not set("<>&'") & set(embedded)


def test_only_the_script_of_the_page_may_run(demo: Path) -> None:
    text = page(write_up(collect(demo)), {})
    [script] = re.findall(r'<script id="page">(.*?)</script>', text, re.DOTALL)
    told = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{told}'" in text
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in script


def test_several_experiments_and_what_could_not_be_read_are_on_the_page(demo: Path, results, fake) -> None:
    results.experiment("other", [fake("mean", 1.0)], seeds=1)
    bad = results.root / "bad" / manifest.MANIFEST
    bad.parent.mkdir()
    bad.write_text("[]")
    found = collect(results.root)
    text = page(write_up(found), {})
    assert '<a href="#demo">' in text
    assert '<section id="other" class="experiment">' in text
    assert f"Could not be read: {bad}" in text
    made = report.build(results.root)
    assert made.problems == found.problems
    assert f"## Could not be read\n\n- {bad}" in made.text


def test_a_command_in_the_answer_looks_like_one(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1), fake("mean", 1.0, noise=1.0)], seeds=1)
    (experiment,) = collect(results.root).experiments
    lead = ("Best: gp.", "Next: `fit --label <b>` fits it.")
    text = page(Document((section(experiment, Addition(lead=lead)),)), {})
    assert "Next: <code>fit --label &lt;b&gt;</code> fits it.</li>" in text
