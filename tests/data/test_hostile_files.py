"""Files made to break the reader, to cost without end or to reach elsewhere: one line, nothing left behind."""

import gzip
import io
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from hgpbench.cli import app
from hgpbench.data import cards, store, text, workspace
from hgpbench.data.catalogue import list_datasets
from hgpbench.data.fetch import fetch
from hgpbench.data.own import import_table
from hgpbench.errors import DataError
from tests.data.conftest import CSV, left_in

MakeCard = Callable[..., Path]


def command(*words: str) -> Any:
    """Run a command; anything but a clean exit is an error of ours."""
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


# Cards


@pytest.mark.parametrize(
    "line",
    [
        "citation: 2020-13-45", "rows: !!bool maybe", "rows: !!int ''", f"rows: {'9' * 5000}",
        f"notes: {'[' * 3000}", 'title: "a\\0b"', "title: !!timestamp foo", "files: !!set {a, b}",
        f"rows: 0x{'f' * 5000}", 'title: "\\udce9"', "variants: {a: &a [*a]}", "? [a]\n: b",
    ],
)  # fmt: skip
def test_an_odd_card_is_told_in_one_line(line: str, folder: Path, make_card: MakeCard) -> None:
    path = make_card(title=None, citation=None)
    body = path.read_text() + "title: Small\ncitation: Nobody\n"
    key = line.partition(":")[0]
    kept = [each for each in body.splitlines() if not each.startswith(f"{key}:")]
    path.write_text("\n".join([*kept, line]) + "\n")
    (folder / "small.csv").write_text(CSV)
    told = command("fetch", "small")
    assert told.exit_code in {0, 2}
    assert told.exit_code == 0 or told.stderr.count("\n") == 1
    listed = command("datasets")
    assert listed.exit_code == 0
    assert "protein" in listed.stdout


def test_a_synthetic_card_with_an_impossible_split_spoils_only_its_own_line(folder: Path) -> None:
    body = "title: T\nlicence: L\ncitation: C\nformat: {kind: synthetic, generator: toy}\n"
    (folder / "half.yaml").write_text(body + "split: {train: 0.5, test: rest}\n")
    [line] = [line for line in list_datasets() if line.name == "half"]
    assert "need a count" in line.problem
    listed = command("datasets")
    assert listed.exit_code == 0
    [row] = [row for row in listed.stdout.splitlines() if row.startswith("half")]
    assert "unusable" in row
    assert "need a count" in row


@pytest.mark.parametrize("variable", ["HGPBENCH_DATA", "HGPBENCH_MIRROR"])
def test_a_home_of_nobody_is_told(variable: str, folder: Path, make_card: MakeCard, monkeypatch: Any) -> None:
    make_card()
    monkeypatch.setenv(variable, "~nosuchuser/x")
    told = command("fetch", "small")
    assert (told.exit_code, "~nosuchuser" in told.stderr) == (2, True)


@pytest.mark.parametrize("words", [["small", "--from", "~nosuchuser/x"], ["~nosuchuser/x.yaml"]])
def test_a_home_of_nobody_is_told_wherever_it_stands(
    words: list[str], folder: Path, make_card: MakeCard
) -> None:
    make_card()
    told = command("fetch", *words)
    assert (told.exit_code, told.stderr.count("\n"), "~nosuchuser" in told.stderr) == (2, 1, True)


# Archives and names


@pytest.mark.parametrize("member", [".", "", "/", "..", "a/../../b", "\x1b[31m", "c:x"])
def test_a_zip_member_without_a_name_is_told(member: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x" * max(1, len(member)), CSV)
    path.write_bytes(packed.getvalue().replace(b"x" * max(1, len(member)), member.encode() or b"\0"))
    told = command("fetch", "--csv", str(path), "--target", "y", "--name", "t")
    assert told.exit_code in {0, 2}
    assert told.exit_code == 0 or told.stderr.count("\n") == 1
    assert "\x1b" not in told.stdout + told.stderr


@pytest.mark.parametrize("name", [b"a\\b.csv", b"caf\xe9.csv", b"a\x1b[31mb.csv", b"a\nb.csv"])
def test_any_file_name_can_be_imported(name: bytes, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_text(CSV)
    stored = import_table(path, "mine", "y")
    assert stored.rows == 4
    assert "\x1b" not in store.describe(folder / "mine.h5").about.title
    assert command("datasets").exit_code == 0


# Tables


@pytest.mark.parametrize("header", ["a,\0surplus,y", "\0surplus,y", "a,y\0,y"])
def test_a_header_with_nul_is_told(header: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,2,3\n")
    told = command("fetch", "--csv", str(path), "--target", "y", "--name", "t")
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert left_in(folder) == []


def test_many_columns_take_time_in_proportion(folder: Path, tmp_path: Path) -> None:
    count = 30_000
    names = [f"c{place}" for place in range(count)]
    row = ",".join(["1.5"] * count)
    path = tmp_path / "wide.csv"
    path.write_text(f"{','.join(names)},y\n" + f"{row},2\n" * 3)
    start = time.process_time()
    assert import_table(path, "wide", "y").inputs == count
    assert time.process_time() - start < 6
    twice = tmp_path / "twice.csv"
    twice.write_text(f"{','.join(names)},c7,y\n" + f"{row},1,2\n")
    with pytest.raises(DataError, match="'c7' more than once"):
        import_table(twice, "again", "y")
    start = time.process_time()
    with pytest.raises(DataError, match=r"has no column 'why'") as caught:
        import_table(path, "other", "why")
    assert len(str(caught.value)) < 5_000
    assert time.process_time() - start < 6


@pytest.mark.parametrize("before", ["", "a,y\n1,2\n"])
def test_one_endless_line_is_refused_in_little_memory(
    before: str, folder: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "line.csv.gz"
    path.write_bytes(gzip.compress(before.encode() + b"1," * (20 << 20)))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"line.*longer than"):
        import_table(path, "line", "y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20
    assert left_in(folder) == []


# HDF5


def fill(path: Path, kind: str) -> None:
    """X and y, of which X is not what it seems."""
    secret = path.parent / "secret"
    secret.write_bytes(bytes(range(256)))
    with h5py.File(path.parent / "other.h5", "w") as other:
        other["X"] = np.ones((4, 2))
    with h5py.File(path, "w") as file:
        file["y"] = np.arange(4.0)
        if kind == "huge":
            file.create_dataset("X", shape=(10**9, 1000), dtype="f8", chunks=(1000, 10))
        elif kind == "packed":
            file.create_dataset("X", shape=(10**7, 1000), dtype="f8", chunks=(1000, 10), compression="gzip")
        elif kind == "external":
            file.create_dataset("X", (4, 2), "u1", external=[(str(secret), 0, 8)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((4, 2), "f8")
            layout[:] = h5py.VirtualSource(str(path.parent / "other.h5"), "X", (4, 2))
            file.create_virtual_dataset("X", layout)
        elif kind == "link":
            file["X"] = h5py.ExternalLink(str(path.parent / "other.h5"), "X")
        elif kind == "soft":
            file["X"] = h5py.SoftLink("/X")
        elif kind == "group":
            file.create_group("X")
        elif kind == "text":
            file["X"] = [["a", "b"]] * 4
        else:
            file["X"] = h5py.Empty("f8")


KINDS = ["huge", "packed", "external", "virtual", "link", "soft", "group", "text", "empty"]


@pytest.mark.parametrize("kind", KINDS)
def test_hdf5_is_read_only_where_it_holds_what_it_claims(kind: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "claims.h5"
    fill(path, kind)
    told = command("fetch", "--csv", str(path), "--name", "claims")
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert "X" in told.stderr
    assert left_in(folder) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_that_was_tampered_with_is_told(kind: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    import_table(tmp_path / "t.csv", "mine", "y")
    fill(tmp_path / "odd.h5", kind)
    with h5py.File(folder / "mine.h5") as good, h5py.File(tmp_path / "odd.h5", "r+") as odd:
        odd.attrs.update(dict(good.attrs))
    (tmp_path / "odd.h5").replace(folder / "mine.h5")
    with pytest.raises(DataError, match=r"mine\.h5"):
        store.read(folder / "mine.h5")
    assert command("fetch", "mine", "--check").exit_code == 2
    assert command("datasets").exit_code == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("columns", "3"), ("columns", "[1, 2]"), ("columns", "[" * 100_000), ("rows", [1, 2]), ("rows", "x"),
     ("split", "[]"), ("split", '{"train": [], "test": {}}'), ("split", "{" * 9), ("title", 7), ("format", "1")],
)  # fmt: skip
def test_odd_attributes_are_told(name: str, value: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    import_table(tmp_path / "t.csv", "mine", "y")
    with h5py.File(folder / "mine.h5", "r+", libver="latest") as file:
        file.attrs[name] = value
    assert command("datasets").exit_code == 0
    assert command("fetch", "mine", "--check").exit_code in {0, 2}


# Links and leftovers


def test_a_scratch_folder_that_is_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "work").write_text("mine")
    (folder / ".mine.h5.fetch").symlink_to(tmp_path / "precious")
    (tmp_path / "t.csv").write_text(CSV)
    with pytest.raises(DataError, match="symbolic link"):
        import_table(tmp_path / "t.csv", "mine", "y")
    assert (tmp_path / "precious" / "work").read_text() == "mine"


def test_what_a_killed_fetch_left_is_swept_by_any_other(folder: Path, tmp_path: Path) -> None:
    for name in (".old.h5.fetch", ".busy.h5.fetch"):
        (folder / name).mkdir()
        (folder / name / "half.raw").write_text("half")
    (tmp_path / "t.csv").write_text(CSV)
    with workspace.workspace(folder / "busy.h5"):
        (folder / ".busy.h5.fetch" / "mine").write_text("at work")
        import_table(tmp_path / "t.csv", "mine", "y")
        assert (folder / ".busy.h5.fetch" / "mine").read_text() == "at work"
    assert left_in(folder) == ["mine.h5"]


def test_escape_sequences_of_a_card_stay_out_of_the_terminal(folder: Path, make_card: MakeCard) -> None:
    make_card(title="\x1b[31mred\x1b[0m")
    (folder / "small.csv").write_text(CSV)
    assert "\x1b" not in command("datasets").stdout
    fetch("small")
    assert "\x1b" not in command("datasets").stdout
    assert cards.find("small") is not None
