"""A quick turn of ``compare`` on tables of all kinds; see ``tests.odd_tables`` for a longer one."""

from pathlib import Path

from tests import odd_tables


def test_every_table_ends_in_its_answer_or_in_one_line(folder: Path) -> None:
    endings = odd_tables.run(seed=0, count=40, home=folder)
    assert sum(endings.values()) == 40
    assert set(endings) >= {"the right answer", "refused as it should be", "damaged: one line"}, endings
