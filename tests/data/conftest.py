"""Small files, a data folder of the test's own, and a server on this machine; never the network."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from hgpbench.data import download

CSV = "a,b,y\n1,2,3\n4,5,6.5\n7,8,-9\n10,11,12\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An existing, empty data folder that hgpbench uses."""
    path = tmp_path / "datasets"
    path.mkdir()
    monkeypatch.setenv("HGPBENCH_DATA", str(path))
    monkeypatch.setenv("HGPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HGPBENCH_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "RETRIES", 0)
    return path


@dataclass
class Server:
    """Answers from a dictionary: path -> body, or status and body; counts what it was asked."""

    url: str
    answers: dict[str, bytes | tuple[int, bytes]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)  # so many times 503 first
    cut: set[str] = field(default_factory=set)  # promise the whole body, send half
    drips: dict[str, str] = field(default_factory=dict)  # a byte at a time, in "head" or "body", without end
    moved: dict[str, str] = field(default_factory=dict)  # redirects
    asked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if self.path in state.drips:
                self.drip(state.drips[self.path])
                return
            if self.path in state.moved:
                self.send_response(302)
                self.send_header("Location", state.moved[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status, body = _answer(state, self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path in state.cut else body)

        def drip(self, part: str) -> None:
            self.close_connection = True
            self.wfile.write(b"HTTP/1.0 200 OK\r\n" + (b"\r\n" if part != "head" else b"X-Slow: "))
            piece = b"x" * (1 << 16 if part == "flood" else 1)
            with suppress(OSError):  # the client is gone
                while not state.closing.is_set():
                    self.wfile.write(piece)
                    self.wfile.flush()
                    if part != "flood":
                        state.closing.wait(0.05)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        state.closing.set()
        http.shutdown()
        thread.join()


def _answer(state: Server, path: str) -> tuple[int, bytes]:
    if state.failures.get(path, 0) > 0:
        state.failures[path] -= 1
        return 503, b"busy"
    answer = state.answers.get(path, (404, b"not here"))
    return answer if isinstance(answer, tuple) else (200, answer)


def card_body(**changes: Any) -> dict[str, Any]:
    """A card of four rows in a CSV file; a change of None removes the key."""
    body = {
        "title": "Small",
        "licence": "CC0",
        "citation": "Nobody",
        "files": [{"file": "small.csv"}],
        "format": {"kind": "csv"},
        "target": "y",
        **changes,
    }
    return {key: value for key, value in body.items() if value is not None}


@pytest.fixture
def make_card(folder: Path) -> Callable[..., Path]:
    """Write ``small.yaml`` into the data folder."""

    def write(name: str = "small", **changes: Any) -> Path:
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(card_body(**changes), sort_keys=False))
        return path

    return write


def left_in(folder: Path) -> list[str]:
    """What a fetch left in the data folder, hidden files too, apart from cards."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".yaml")
