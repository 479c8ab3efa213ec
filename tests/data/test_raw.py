"""Raw files: unwrapped by their first bytes, bounded, and refused when they are not what the card means."""

import gzip
import hashlib
import io
import lzma
import zipfile
from pathlib import Path

import pytest

from hgpbench.data import raw
from hgpbench.data.cards import RawFile
from hgpbench.errors import DataError

BODY = b"a,y\n" + b"1,2\n" * 5000
WANTED = RawFile(file="data.csv")


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def put(folder: Path, body: bytes, name: str = "given") -> Path:
    path = folder / name
    path.write_bytes(body)
    return path


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "wrapped",
    [
        BODY,
        gzip.compress(BODY),
        lzma.compress(BODY),
        zipped(**{"data.csv": BODY}),
        zipped(**{"deep/er/Data.CSV": BODY, "readme.txt": b"no"}),
        zipped(**{"only.txt": BODY}),
        zipped(**{"data.csv.xz": lzma.compress(BODY), "other": b"no"}),
        gzip.compress(zipped(**{"data.csv": BODY})),
    ],
    ids=["plain", "gz", "xz", "zip", "folder in zip", "only member", "xz in zip", "zip in gz"],
)
def test_any_wrapping_comes_off(tmp_path: Path, scratch: Path, wrapped: bytes) -> None:
    plain = raw.unpack(put(tmp_path, wrapped), WANTED, scratch)
    assert plain.read_bytes() == BODY
    assert raw.verify(plain, WANTED) == hashlib.sha256(BODY).hexdigest()


def test_two_members_of_one_archive_do_not_collide(tmp_path: Path, scratch: Path) -> None:
    path = put(tmp_path, zipped(**{"a.mat": b"first", "b.mat": b"second"}))
    first = raw.unpack(path, RawFile(file="a.mat"), scratch)
    second = raw.unpack(path, RawFile(file="b.mat"), scratch)
    assert (first.read_bytes(), second.read_bytes()) == (b"first", b"second")


@pytest.mark.parametrize(
    "damaged",
    [
        gzip.compress(BODY)[:-20],
        gzip.compress(BODY)[:30],
        lzma.compress(BODY)[:-20],
        zipped(**{"data.csv": BODY})[:-30],
        zipped(**{"data.csv": BODY})[:20],
        zipped(**{"data.csv": BODY}).replace(zipped(**{"data.csv": BODY})[60:70], b"0123456789"),
    ],
    ids=["gz end", "gz early", "xz", "zip end", "zip early", "zip inside"],
)
def test_a_damaged_wrapping_is_told(tmp_path: Path, scratch: Path, damaged: bytes) -> None:
    with pytest.raises(DataError, match="truncated or damaged"):
        raw.unpack(put(tmp_path, damaged), WANTED, scratch)


@pytest.mark.parametrize(
    "name", ["../data.csv", "/data.csv", "a/../../data.csv", "..\\data.csv", "C:/data.csv"]
)
def test_a_member_that_leads_out_is_refused(tmp_path: Path, scratch: Path, name: str) -> None:
    archive = put(tmp_path, zipped(**{name: BODY, "fine.csv": BODY}))
    with pytest.raises(DataError, match="leads out of its folder"):
        raw.unpack(archive, WANTED, scratch)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "scratch"]
    assert not any(scratch.iterdir())


def test_an_archive_without_the_file_lists_what_it_has(tmp_path: Path, scratch: Path) -> None:
    archive = put(tmp_path, zipped(**{"x.csv": BODY, "z.csv": BODY}))
    with pytest.raises(DataError, match=r"should hold one data.csv; it holds x.csv, z.csv"):
        raw.unpack(archive, WANTED, scratch)
    with pytest.raises(DataError, match="it holds nothing"):
        raw.unpack(put(tmp_path, zipped()), WANTED, scratch)


@pytest.mark.parametrize("wrap", [gzip.compress, lzma.compress, lambda body: zipped(**{"data.csv": body})])
def test_a_bomb_is_stopped(tmp_path: Path, scratch: Path, wrap: object) -> None:
    bomb = put(tmp_path, wrap(bytes(64 << 20)))
    assert bomb.stat().st_size < 100_000
    wanted = RawFile(file="data.csv", bytes=1 << 20)
    with pytest.raises(DataError, match="unpacks to more than the 1,048,576 bytes"):
        raw.unpack(bomb, wanted, scratch)
    assert sum(path.stat().st_size for path in scratch.iterdir()) <= 2 << 20


def test_wrapping_without_end_is_stopped(tmp_path: Path, scratch: Path) -> None:
    body = BODY
    for _ in range(5):
        body = gzip.compress(body)
    with pytest.raises(DataError, match="wrapped more than 3 times"):
        raw.unpack(put(tmp_path, body), WANTED, scratch)


@pytest.mark.parametrize(
    ("body", "wanted", "complaint"),
    [
        (b"", WANTED, "data.csv is empty"),
        (b"<!DOCTYPE html><p>moved", WANTED, "an HTML page instead of data"),
        (b"\xef\xbb\xbf\n <HTML>", WANTED, "an HTML page instead of data"),
        (BODY[:100], RawFile(file="data.csv", bytes=len(BODY)), "truncated: 100 of 20,004 bytes"),
        (BODY, RawFile(file="data.csv", sha256="0" * 64), "the card expects 0000"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, body: bytes, wanted: RawFile, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        raw.verify(put(tmp_path, body), wanted)
