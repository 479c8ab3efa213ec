"""One loader for every YAML file of a user: plain data, or one line that says where."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from hgpbench import shipped, yamltext
from hgpbench.errors import ConfigError, DataError

HERE = Path("mine.yaml")
CONFIGS = yamltext.Dialect(ConfigError)
CARDS = yamltext.Dialect(DataError, merges=True)


def value(text: str) -> Any:
    return yamltext.parse(f"key: {text}", HERE, CONFIGS).data["key"]


@pytest.mark.parametrize(
    "text",
    ["!!bool maybe", "!!int ''", "!!float ''", "!!float x", "!!int 1.5", "!!null x", "!!timestamp foo",
     "!!timestamp 2020-01-01", "!!binary aGk=", "!!set {a}", "!!python/none x", "!mine 3", "!!int [1]",
     "9" * 200, "0x" + "f" * 5000, "1." + "0" * 200, "[" * 500, "[" * 100_000, "{a: " * 500,
     '"a\\0b"', '"\\udce9"'],
)  # fmt: skip
def test_what_plain_data_cannot_hold_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^mine\.yaml:\d+: ") as caught:
        value(text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "read"),
    [("1:30", "1:30"), ("1:1:1.5", "1:1:1.5"), ("2020-13-45", "2020-13-45"), ("2020-01-01", "2020-01-01"),
     ("1e-3", 1e-3), ("0x1F", 31), ("0b11", 3), ("1_000", 1000), ("-5", -5), ("1.5", 1.5), (".5", 0.5),
     ("yes", True), ("off", False), ("~", None), ("", None), ("!!int '3'", 3), ("!!float 3", 3.0),
     ("!!str 3", "3"), ("'3'", "3"), ("!!bool on", True), ("010", 8), ("1.e+3", 1000.0), ("'!!int'", "!!int")],
)  # fmt: skip
def test_scalars_are_what_they_look_like(text: str, read: Any) -> None:
    assert value(text) == read
    assert type(value(text)) is type(read)


def test_numbers_without_end_take_no_time() -> None:
    start = time.process_time()
    assert value("1:" * 400_000 + "1").startswith("1:1:")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", ["[" + "1," * 300_000 + "]", "a: 1\n" * 100_000, "- a\n" * 200_000])
def test_too_many_values_are_noticed_early(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ConfigError, match=r"beyond reason|not valid YAML|given twice"):
        yamltext.parse(text, HERE, CONFIGS)
    assert time.process_time() - start < 10


def test_the_error_is_the_reader_s_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        yamltext.read(tmp_path / "none.yaml", CARDS)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        yamltext.read(tmp_path / "bytes.yaml", CARDS)
    (tmp_path / "long.yaml").write_bytes(b"#" * (yamltext.LIMIT * 4 + 1))
    with pytest.raises(DataError, match="longer"):
        yamltext.read(tmp_path / "long.yaml", CARDS)


def test_merged_keys_are_read_where_they_are_allowed() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4}]}\n"
    read = yamltext.parse(text, HERE, CARDS).data
    assert (read["more"], read["both"]) == ({"x": 1, "y": 3}, {"x": 1, "y": 2, "z": 4})
    with pytest.raises(DataError, match="merge"):
        yamltext.parse("a: {<<: 3}", HERE, CARDS)


@pytest.mark.parametrize(
    "path", sorted(shipped.folder("datasets").glob("*.yaml")), ids=lambda path: path.stem
)
def test_shipped_cards_read_as_before(path: Path) -> None:
    assert yamltext.read(path, CARDS).data == yaml.safe_load(path.read_text())
