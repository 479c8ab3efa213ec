"""Foreign text is shown, never obeyed."""

import pytest

from hgpbench.words import printable, printable_all


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, λ ± 1, 日本", "plain, é, λ ± 1, 日本"), ("a\x1b[31mb", r"a\x1b[31mb"), ("a\0b", r"a\x00b"),
        ("caf\udce9", r"caf\udce9"), ("\u202egnp.exe", r"\u202egnp.exe"), ("a\u2066b\u2069", r"a\u2066b\u2069"),
        ("a\x9bm", r"a\x9bm"), ("a\tb\r\nc", "a b c"), ("a\n\n  b", "a b"), ("a\u2028b", r"a\u2028b"),
        ("a\ufeffb\uffff", r"a\ufeffb\uffff"), ("  two  spaces ", "  two  spaces "),
    ],
)  # fmt: skip
def test_one_line_without_control_characters(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    shown.encode("utf-8")


def test_lines_are_kept_where_they_are_meant() -> None:
    assert printable("a\n\n  b\x07\r\n", lines=True) == "a\n\n  b\\x07\n"


def test_everything_inside_a_value_is_made_printable() -> None:
    value = {"a\x1b": ["b\0", 3, None, ("c\n\nd",)]}
    assert printable_all(value) == {"a\\x1b": ["b\\x00", 3, None, ["c d"]]}
