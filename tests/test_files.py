"""Files that are complete or absent."""

import hashlib
from pathlib import Path

import pytest

from hgpbench import files


def test_a_file_appears_complete_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "note.txt"
    files.write_text(path, "one")
    files.write_text(path, "two")
    assert path.read_text() == "two"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    files.write_text(path, "old")

    def write_half() -> None:
        with files.replacing(path) as part:
            part.write_text("ne")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_new_file_obeys_the_umask(tmp_path: Path) -> None:
    reference = tmp_path / "plain.txt"
    reference.write_text("x")
    files.write_text(tmp_path / "ours.txt", "x")
    assert (tmp_path / "ours.txt").stat().st_mode == reference.stat().st_mode


def test_the_hash_is_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"abc")
    assert files.sha256_of(path) == hashlib.sha256(b"abc").hexdigest()
