"""The counts of the suite, and the page that shows them."""

import re
from collections import Counter

import pytest

from tests.torture import tally
from tests.torture.tally import Tally


def test_turns_are_added_up_and_shown() -> None:
    turns = [Tally("2020-01-01", "abc", [7], 10.0), Tally("2020-01-02", "abc", [8], 5.0)]
    turns[0].add(Counter({"SIGKILLs": 1_200, "commands": 3}), 0)
    turns[1].add(Counter({"SIGKILLs": 34}), 2)
    whole = tally.sum_of(turns)
    assert (whole.minutes, whole.seeds, whole.commit, whole.violations) == (15.0, [7, 8], "abc", 2)
    page = tally.with_table(f"before\n{tally.BEGIN}old\n{tally.END}after\n", whole)
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "| SIGKILLs | 1,234 |" in page
    assert "old" not in page
    with pytest.raises(ValueError, match="one place"):
        tally.with_table("no such place", whole)


def test_the_page_of_promises_names_tests_that_exist() -> None:
    page = tally.DOCUMENT.read_text()
    assert page.count(tally.BEGIN) == page.count(tally.END) == 1
    for told in re.findall(r"^\*(.*?)\*$", page, re.MULTILINE | re.DOTALL):
        folder = ""
        for name in re.findall(r"`([\w/.]+\.py)`", told):
            folder = name.rpartition("/")[0] or folder
            path = tally.REPOSITORY / folder / name.rpartition("/")[2]
            assert path.is_file(), path
