"""The site, without building it: every page is reached, every link leads somewhere, every cell is Python."""

import ast
import re
from pathlib import Path

import pytest

from hgpbench.models import MODELS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(  # what is written by hand for the page of results is a part of it
    path for path in DOCS.rglob("*.md") if not {"_build", "results"} & set(path.relative_to(DOCS).parts)
)
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.md"))
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOC = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def test_every_page_is_in_the_index() -> None:
    entries = [
        line
        for block in TOC.findall((DOCS / "index.md").read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    pages = {named(path).removesuffix(".md") for path in PAGES} - {"index"}
    missing = pages - {entry.removesuffix("?") for entry in entries}
    assert not missing, f"name {', '.join(sorted(missing))} in docs/index.md"
    assert {entry for entry in entries if not entry.endswith("?")} <= pages


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), f"{named(page)} links to {target}"


@pytest.mark.parametrize("page", NOTEBOOKS, ids=named)
def test_cells_of_notebooks_are_python(page: Path) -> None:
    cells = CELL.findall(page.read_text(encoding="utf-8"))
    assert len(cells) > 3
    for cell in cells:
        ast.parse("\n".join(line for line in cell.splitlines() if not line.startswith(":")))


def test_the_model_page_has_every_model() -> None:
    equations = (DOCS / "models.md").read_text(encoding="utf-8")
    for name in MODELS:
        if not name.startswith("nn"):  # those from neighbours have a page of their own
            assert f"**`{name}`**" in equations or f"`{name}`" in equations.partition("## Baselines")[2], name
