"""Where raw files are looked for, and in which order."""

import gzip
import hashlib
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hgpbench.data.fetch import fetch
from hgpbench.data.store import describe
from hgpbench.errors import DataError
from tests.data.conftest import CSV, Server, left_in

BODY = CSV.encode()
SHA256 = hashlib.sha256(BODY).hexdigest()
OTHER = b"a,b,y\n0,0,0\n"


def source_of(folder: Path, name: str = "small") -> str:
    return describe(folder / f"{name}.h5").about.source


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def file_with(server: Server, *paths: str, **more: Any) -> list[dict[str, Any]]:
    return [{"file": "small.csv", "urls": [server.url + path for path in paths], "sha256": SHA256, **more}]


def test_addresses_are_tried_in_order(folder: Path, server: Server, make_card: Callable[..., Path]) -> None:
    make_card(files=file_with(server, "/gone", "/wrong", "/right.zip", "/never"))
    server.answers |= {"/wrong": OTHER, "/right.zip": zipped({"x/small.csv": BODY}), "/never": BODY}
    assert fetch("small").rows == 4
    assert server.asked == ["/gone", "/wrong", "/right.zip"]
    assert source_of(folder) == f"{server.url}/right.zip"
    assert left_in(folder) == ["small.h5"]


def test_when_all_fail_each_reason_is_given(
    folder: Path, server: Server, make_card: Callable[..., Path]
) -> None:
    make_card(files=file_with(server, "/gone", "/page", "/empty", "/wrong"))
    server.answers |= {"/page": b"<!doctype html>", "/empty": b"", "/wrong": OTHER}
    with pytest.raises(DataError) as caught:
        fetch("small")
    text = str(caught.value)
    assert text.startswith("small: ")
    assert "\n" not in text
    for reason in (
        "/gone: the server answers 404",
        "/page: small.csv is an HTML page",
        "/empty: small.csv is empty",
    ):
        assert server.url + reason in text
    assert f"the card expects {SHA256}" in text
    assert left_in(folder) == []


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz", ".zip"])
def test_a_mirror_folder_comes_first(
    folder: Path,
    server: Server,
    make_card: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    make_card(files=file_with(server, "/right"))
    server.answers["/right"] = BODY
    wrap = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".zip": lambda b: zipped({"small.csv": b})}
    mirror = tmp_path / "mirror"
    (mirror / "small").mkdir(parents=True)
    (mirror / "small" / f"small.csv{suffix}").write_bytes(wrap[suffix](BODY))
    monkeypatch.setenv("HGPBENCH_MIRROR", str(mirror))
    fetch("small")
    assert server.asked == []
    assert source_of(folder) == str(mirror / "small" / f"small.csv{suffix}")


def test_a_mirror_address_comes_first_and_may_lack_the_file(
    folder: Path, server: Server, make_card: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_card(files=file_with(server, "/right"))
    server.answers |= {"/right": BODY, "/m/small/small.csv.gz": gzip.compress(BODY)}
    monkeypatch.setenv("HGPBENCH_MIRROR", f"{server.url}/m/")
    fetch("small")
    assert server.asked == ["/m/small/small.csv", "/m/small/small.csv.xz", "/m/small/small.csv.gz"]
    monkeypatch.setenv("HGPBENCH_MIRROR", f"{server.url}/elsewhere")
    fetch("small", force=True)
    assert source_of(folder) == f"{server.url}/right"


def test_a_wrong_file_in_the_mirror_does_not_stop_the_search(
    folder: Path,
    server: Server,
    make_card: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_card(files=file_with(server, "/right"))
    server.answers["/right"] = BODY
    (tmp_path / "small.csv").write_bytes(OTHER)
    monkeypatch.setenv("HGPBENCH_MIRROR", str(tmp_path))
    fetch("small")
    assert source_of(folder) == f"{server.url}/right"


def test_a_file_beside_the_card_is_found(folder: Path, make_card: Callable[..., Path]) -> None:
    make_card()
    (folder / "small.csv").write_bytes(BODY)
    assert fetch("small").rows == 4


def test_given_sources(folder: Path, server: Server, make_card: Callable[..., Path], tmp_path: Path) -> None:
    url = "/original+name.zip"
    make_card(files=file_with(server, url))
    given = tmp_path / "given"
    (given / "small").mkdir(parents=True)
    (given / "my own.csv").write_bytes(BODY)
    (given / "a.zip").write_bytes(zipped({"small.csv": BODY, "other": b"x"}))
    (given / "small" / "original+name.zip").write_bytes(zipped({"small.csv": BODY}))
    server.answers |= {"/d/small.csv.xz": lzma.compress(BODY), "/any": BODY}
    for source in (given / "my own.csv", given / "a.zip", given):
        assert fetch("small", source=str(source), force=True).rows == 4
    assert server.asked == []
    for address in ("/any", "/d/"):
        assert fetch("small", source=server.url + address, force=True).rows == 4


def test_a_given_source_is_the_only_one(
    folder: Path, server: Server, make_card: Callable[..., Path], tmp_path: Path
) -> None:
    make_card(files=file_with(server, "/right"))
    server.answers["/right"] = BODY
    (tmp_path / "wrong.csv").write_bytes(OTHER)
    (tmp_path / "empty").mkdir()
    for source, complaint in [
        (tmp_path / "wrong.csv", "the card expects"),
        (tmp_path / "none.csv", "no such file or folder"),
        (tmp_path / "empty", "has no small.csv"),
    ]:
        with pytest.raises(DataError, match=complaint):
            fetch("small", source=str(source))
    assert server.asked == []
    assert left_in(folder) == []


def test_several_files_need_a_folder_or_an_archive(
    folder: Path, make_card: Callable[..., Path], tmp_path: Path
) -> None:
    make_card(files=[{"file": "one.csv", "part": "train"}, {"file": "two.csv", "part": "test"}])
    (tmp_path / "one.csv").write_bytes(BODY)
    with pytest.raises(DataError, match=r"is made of one.csv, two.csv; give a folder or a zip archive"):
        fetch("small", source=str(tmp_path / "one.csv"))
    (tmp_path / "both.zip").write_bytes(zipped({"one.csv": BODY, "two.csv": OTHER}))
    assert fetch("small", source=str(tmp_path / "both.zip")).rows == 5


def test_a_file_without_any_place_says_what_to_do(folder: Path, make_card: Callable[..., Path]) -> None:
    make_card()
    with pytest.raises(DataError, match="name a file with --from, or a folder with HGPBENCH_MIRROR"):
        fetch("small")


def test_a_mirror_that_is_not_there_is_told(
    folder: Path, server: Server, make_card: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_card(files=file_with(server, "/right"))
    server.answers["/right"] = BODY
    monkeypatch.setenv("HGPBENCH_MIRROR", str(folder / "nowhere"))
    with pytest.raises(DataError, match=r"HGPBENCH_MIRROR=.*nowhere: no such folder"):
        fetch("small")
    assert left_in(folder) == []
