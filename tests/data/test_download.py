"""Downloads from a server on this machine: retries, refusals, whole files only."""

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from hgpbench.data import download
from hgpbench.data.fetch import fetch
from hgpbench.errors import DataError
from tests.data.conftest import Server, left_in


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been slept between attempts."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def test_a_file_comes_whole_and_once(folder: Path, server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.answers["/d.csv"] = b"content" * 100_000
    first = download.download(f"{server.url}/d.csv", folder)
    assert first.read_bytes() == b"content" * 100_000
    assert download.download(f"{server.url}/d.csv", folder) == first
    assert server.asked == ["/d.csv"]
    assert list(folder.iterdir()) == [first]
    assert capfd.readouterr() == ("", "")  # no bar, no log, where there is no terminal


def test_a_passing_failure_is_tried_again(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    monkeypatch.setattr(download, "RETRIES", 2)
    server.answers["/d"] = b"at last"
    server.failures["/d"] = 2
    assert download.download(f"{server.url}/d", folder).read_bytes() == b"at last"
    assert len(server.asked) == 3
    assert len(naps) == 2


def test_a_refusal_is_not_tried_again(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    monkeypatch.setattr(download, "RETRIES", 2)
    with pytest.raises(DataError, match="the server answers 404 Not Found"):
        download.download(f"{server.url}/none", folder)
    assert (server.asked, naps) == (["/none"], [])


def test_a_broken_transfer_leaves_nothing(folder: Path, server: Server) -> None:
    server.answers["/d"] = b"x" * 100_000
    server.cut.add("/d")
    with pytest.raises(DataError, match="no answer"):
        download.download(f"{server.url}/d", folder)
    assert not any(folder.iterdir())


def test_nobody_listening_is_said_in_one_line(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataError, match=r"no answer .*refused.*check the internet connection") as caught:
        download.download(f"http://127.0.0.1:{port}/d", folder)
    assert "\n" not in str(caught.value)
    assert "0x" not in str(caught.value)


def test_no_internet_is_said_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(DataError, match=r"no answer \(Name or service not known\); check the internet"):
        download.download("http://nothing.invalid/d", folder)


def test_an_address_without_host_is_told(folder: Path) -> None:
    with pytest.raises(DataError):
        download.download("http://", folder)


def test_the_bar_follows_the_bytes() -> None:
    bar = download._Bar("http://x/file.zip")
    bar.total = 100
    bar.update(40)
    assert bar.total == 100
    assert bar._progress.tasks[0].completed == 40
    bar.reset()
    assert bar._progress.tasks[0].completed == 0
    bar.close()


def test_the_bar_bears_a_server_that_does_not_say_how_much() -> None:
    bar = download._Bar("http://x/file.zip")
    bar.total = 0
    assert bar.total is None
    bar.close()


@pytest.mark.parametrize(
    ("text", "is_one"), [("http://a", True), ("HTTPS://a", True), ("/a", False), ("a.csv", False)]
)
def test_addresses_are_told_from_paths(text: str, is_one: bool) -> None:
    assert download.is_url(text) is is_one


def test_an_answer_without_end_is_cut_off(folder: Path, server: Server) -> None:
    server.drips["/d"] = "flood"
    with pytest.raises(DataError, match="sends more than the 1,000,000 bytes"):
        download.download(f"{server.url}/d", folder, 1_000_000)
    assert not any(folder.iterdir())


def test_an_answer_that_is_known_to_be_too_long_is_not_begun(folder: Path, server: Server) -> None:
    server.answers["/d"] = b"x" * 2_000_000
    with pytest.raises(DataError, match="2,000,000 bytes"):
        download.download(f"{server.url}/d", folder, 1_000_000)
    assert not any(folder.iterdir())


def test_the_card_s_size_bounds_a_download(folder: Path, server: Server, make_card: Any) -> None:
    server.drips["/small.csv"] = "flood"
    make_card(files=[{"file": "small.csv", "urls": [f"{server.url}/small.csv"], "bytes": 30}])
    with pytest.raises(DataError, match="sends more than"):
        fetch("small")
    assert left_in(folder) == []


@pytest.mark.parametrize("part", ["head", "body"])
def test_drops_are_not_waited_for(
    part: str, folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.4)
    monkeypatch.setattr(download, "RETRIES", 2)
    server.drips["/d"] = part
    start = time.monotonic()
    with pytest.raises(DataError, match="too slow"):
        download.download(f"{server.url}/d", folder)
    assert time.monotonic() - start < 5
    assert not [path for path in folder.iterdir() if path.suffix == ".download"]
    assert server.asked == ["/d"]


def test_a_redirect_is_followed_to_another_address(folder: Path, server: Server) -> None:
    server.moved["/old"] = "/new"
    server.answers["/new"] = b"here"
    assert download.download(f"{server.url}/old", folder).read_bytes() == b"here"


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://x/y", "gopher://x", "data:,x", "//[bad"])
def test_a_redirect_to_anything_but_the_web_is_refused(place: str, folder: Path, server: Server) -> None:
    server.moved["/old"] = place
    with pytest.raises(DataError):
        download.download(f"{server.url}/old", folder)
    assert not any(folder.iterdir())


def test_a_redirect_never_leaves_encryption() -> None:
    with pytest.raises(DataError, match="unencrypted"):
        download.next_address("https://a/b", "http://a/b")
    assert download.next_address("https://a/b", "/c") == "https://a/c"
    assert download.next_address("http://a/b", "https://c/d") == "https://c/d"


def test_redirects_in_a_circle_end(folder: Path, server: Server) -> None:
    server.moved["/a"] = "/b"
    server.moved["/b"] = "/a"
    with pytest.raises(DataError, match="redirects"):
        download.download(f"{server.url}/a", folder)
    assert len(server.asked) < 12
