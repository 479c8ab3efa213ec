"""Downloads from a server on this machine: retries, refusals, whole files only."""

import socket
import time
from pathlib import Path

import pytest

from hgpbench.data import download
from hgpbench.errors import DataError
from tests.data.conftest import Server


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
