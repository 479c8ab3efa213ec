"""docs/results.md is what its lines make: rebuilt without drawing, and compared."""

from pathlib import Path

import pytest

from hgpbench.commands import book
from hgpbench.report import ledger

ROOT = Path(__file__).resolve().parents[1]
PAGE, LINES = Path("docs/results.md"), Path("docs/results/runs")


@pytest.mark.skipif(not ledger.is_ledger(ROOT / LINES), reason="no lines of runs yet")
def test_the_page_is_what_the_lines_make(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    made = book.text(book.read(LINES, mixed=False), PAGE, LINES)
    remedy = f"make it again: hgpbench report {LINES} --page {PAGE}"
    assert PAGE.read_text(encoding="utf-8") == made, remedy
