"""What ``fetch`` says while it waits and where nobody answers."""

import socket
import sys

import pytest

from hgpbench.commands import fetch
from hgpbench.data import download
from hgpbench.errors import Unreachable
from tests.cli.conftest import Invoke


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(download, "RETRIES", 0)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.mark.usefixtures("offline")
def test_all_names_are_tried_and_the_advice_is_told_once(invoke: Invoke) -> None:
    done = invoke("fetch", "sarcos", "nonsense", "toy", "protein")
    assert done.exit_code == 2
    sarcos, nonsense, protein, advice = done.stderr.splitlines()
    assert sarcos.startswith("hgpbench: sarcos: http")
    assert nonsense.startswith("hgpbench: nonsense: no such dataset")
    assert protein.startswith("hgpbench: protein: http")
    assert "no answer (Name or service not known)" in protein
    assert advice == f"hgpbench: {Unreachable.advice}"
    assert done.stdout.startswith("toy: drawn from the seed")


@pytest.mark.usefixtures("offline")
def test_one_name_fails_in_one_line_with_the_advice_once(invoke: Invoke) -> None:
    done = invoke("fetch", "protein")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.count(Unreachable.advice) == 1
    assert done.stderr.rstrip().endswith(Unreachable.advice)


@pytest.mark.usefixtures("offline")
def test_a_terminal_sees_what_is_waited_for(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    told: list[str] = []
    monkeypatch.setattr(fetch, "_tell", told.append)
    invoke("fetch", "protein")
    assert told
    assert all(line.startswith("protein: trying http") for line in told)


def test_signs_of_life_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda seen=is_terminal: seen)
        fetch._tell("protein: reading CASP.csv")
        assert capsys.readouterr().err == ("protein: reading CASP.csv\n" if is_terminal else "")
