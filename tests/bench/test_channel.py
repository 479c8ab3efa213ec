"""Progress between two processes: whatever is written, the reader neither waits nor falls."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from hgpbench.bench import channel as channels
from hgpbench.bench.channel import Listener, Reporter, Told


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


Ends = tuple[socket.socket, socket.socket]


def test_the_latest_line_is_what_counts(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "REPORT_EVERY", 0.0)
    listener, reporter = Listener(ends[0]), Reporter(ends[1])
    assert listener.latest() is None
    reporter("fit", 1, 10, None)
    reporter("fit", 2, 10, -3.5)
    assert listener.latest() == Told("fit", 2, 10, -3.5)
    assert listener.latest() is None


@pytest.mark.parametrize("odd", ["abc", [1], {}, None, 1j, float("nan"), float("inf"), 10**400, object(), -1])
def test_what_is_no_number_is_left_out(ends: Ends, odd: Any) -> None:
    Reporter(ends[1])("fit", odd, odd, None if odd == -1 else odd)
    assert Listener(ends[0]).latest() == Told("fit")


@pytest.mark.parametrize(
    "junk",
    [
        b"\x7f\xff\xff\xff",
        b"\x00" * 5_000 + b"\n",
        b"[" * 1_000 + b"\n",
        b'{"phase": "[bold]"}\n{"phase": ["fit"]}\n[]\nnull\n"fit"\n\xff\n{"step": 1}\n',
        b"1" * 1_000 + b"\n",
        b'{"phase": "fit", "step": ' + b"9" * 900 + b"}",
    ],
)  # fmt: skip
def test_junk_is_passed_over(ends: Ends, junk: bytes) -> None:
    listener = Listener(ends[0])
    ends[1].sendall(junk)
    assert listener.latest() is None
    ends[1].sendall(b"\n")
    listener.latest()
    Reporter(ends[1])("predict", 0, None, None)
    assert listener.latest() == Told("predict")


def test_a_flood_costs_a_bounded_look_and_a_full_channel_holds_nobody_up(ends: Ends) -> None:
    listener, reporter = Listener(ends[0]), Reporter(ends[1])
    ends[1].setblocking(False)
    with suppress(BlockingIOError):
        while True:
            ends[1].send(b"x" * 10_000)
    ends[1].setblocking(True)
    began = time.monotonic()
    reporter("fit", 1, None, None)  # dropped
    assert listener.latest() is None
    assert len(listener._rest) < 5_000
    assert time.monotonic() - began < 1.0


def test_a_closed_channel_is_no_error_at_either_end(ends: Ends) -> None:
    ends[1].close()
    Reporter(ends[1])("fit", 1, 2, 3.0)
    assert Listener(ends[0]).latest() is None
