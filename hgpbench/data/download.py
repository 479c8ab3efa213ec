"""Downloading one file: retries, a bar on a terminal, a temporary name until it is whole.

An answer is bounded in bytes by what the card says and in time by its progress. Redirects are followed to any
host (publishers move to mirrors, and the card's hash decides in the end), but only to http and https, and
never from the latter to the former.
"""

import hashlib
import logging
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

import pooch
import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hgpbench.errors import DataError, Unreachable
from hgpbench.words import printable

RETRIES = 2
TIMEOUT = 30  # seconds without a byte
PATIENCE = 60.0  # seconds, in each of which so many bytes have to come on average:
SLOWEST = 1_000
MAX_BYTES = 8 << 30  # where nobody says how much to expect
_MOST_REDIRECTS = 5
_CHUNK = 1 << 14
_PASSING = (408, 425, 429)  # client errors that may be gone a moment later


def is_url(text: str) -> bool:
    """Whether the text is an address rather than a path."""
    return text.lower().startswith(("http://", "https://"))


def download(url: str, workspace: Path, most: int = MAX_BYTES) -> Path:
    """Fetch an address into the workspace, once; DataError says why it could not be had."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16] + ".download"
    pooch.get_logger().setLevel(logging.WARNING)
    keeper = pooch.create(
        path=workspace, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=RETRIES
    )
    try:
        return Path(keeper.fetch(name, downloader=partial(_download, most=most)))
    except requests.exceptions.RequestException as error:
        raise Unreachable(f"no answer ({_reason(error)})") from error
    except ValueError as error:
        raise DataError(f"not an address that can be downloaded ({error})") from error


def next_address(address: str, location: str) -> str:
    """Where a redirect leads, or DataError where it may not."""
    target = urljoin(address, location)
    scheme = urlsplit(target).scheme
    if scheme not in ("http", "https"):
        raise DataError(f"the server redirects to {printable(target):.200}; only http and https are followed")
    if scheme == "http" and urlsplit(address).scheme == "https":
        raise DataError(f"the server redirects to {printable(target):.200}, which is unencrypted")
    return target


def _download(url: str, output_file: str, keeper: Any, most: int) -> None:
    """One attempt; an answer that would be the same the next time ends the attempts."""
    bar = _Bar(url) if sys.stderr.isatty() else None
    try:
        with Path(output_file).open("wb") as out:
            _Transfer(url, out, most, bar).follow()
    except requests.exceptions.HTTPError as error:
        answer = error.response
        if answer is not None and 400 <= answer.status_code < 500 and answer.status_code not in _PASSING:
            reason = printable(str(answer.reason))[:100]
            raise DataError(f"the server answers {answer.status_code} {reason}") from error
        raise
    finally:
        if bar is not None:
            bar.close()


class _Transfer:
    """An answer on its way into a file: a thread reads it, and who waits can give up on it at any point.

    A server that sends a byte now and then keeps every read alive, in the headers as in the body, so no limit
    inside the reading thread would do.
    """

    def __init__(self, url: str, out: IO[bytes], most: int, bar: "_Bar | None") -> None:
        self._url, self._out, self._most, self._bar = url, out, most, bar
        self._received = 0
        self._given_up = False
        self._error: Exception | None = DataError("the transfer broke off")
        self._ended = threading.Event()

    def follow(self) -> None:
        """Wait for the end while there is progress; what went wrong is raised here."""
        threading.Thread(target=self._read, daemon=True).start()
        seen, since = 0, time.monotonic()
        while not self._ended.wait(min(0.2, PATIENCE)):
            now = time.monotonic()
            if now - since < PATIENCE:
                continue
            if self._received - seen < SLOWEST * PATIENCE:
                self._given_up = True
                raise DataError(
                    f"the server is too slow ({self._received - seen:,} bytes in {now - since:.0f} s); "
                    f"try again later, or give a file with --from"
                )
            seen, since = self._received, now
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        try:
            with requests.Session() as session, self._answer(session) as answer:
                answer.raise_for_status()
                self._store(answer)
            self._error = None
        except (requests.exceptions.RequestException, DataError, OSError, ValueError) as error:
            self._error = error
        finally:
            self._ended.set()

    def _answer(self, session: requests.Session) -> requests.Response:
        """The answer at the end of all redirects."""
        address = self._url
        for _ in range(_MOST_REDIRECTS + 1):
            answer = session.get(address, stream=True, timeout=TIMEOUT, allow_redirects=False)
            if not answer.is_redirect:
                return answer
            answer.close()
            address = next_address(address, answer.headers["location"])
        raise DataError(f"the server redirects more than {_MOST_REDIRECTS} times")

    def _store(self, answer: requests.Response) -> None:
        told = answer.headers.get("content-length", "")
        length = int(told) if told.isascii() and told.isdigit() and len(told) < 20 else 0
        if length > self._most:
            raise DataError(f"the server offers {length:,} bytes; at most {self._most:,} are expected")
        if self._bar is not None:
            self._bar.total = length
        for chunk in answer.iter_content(_CHUNK):
            if self._given_up:
                return
            self._received += len(chunk)
            if self._received > self._most:
                raise DataError(f"the server sends more than the {self._most:,} bytes that are expected")
            self._out.write(chunk)
            if self._bar is not None:
                self._bar.update(len(chunk))


def _reason(error: Exception) -> str:
    """The innermost cause, without the addresses in memory that requests puts around it."""
    while (inner := error.__cause__ or error.__context__) is not None and isinstance(inner, Exception):
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Bar:
    """A rich progress bar in the shape that pooch asks for."""

    def __init__(self, url: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(url.rsplit("/", 1)[-1] or url, total=None)
        self._progress.start()

    @property
    def total(self) -> float | None:
        """Bytes to expect; none where the server does not say."""
        return self._progress.tasks[self._task].total

    @total.setter
    def total(self, value: int) -> None:
        if value:
            self._progress.update(self._task, total=value)

    def update(self, count: int) -> None:
        """So many more bytes have come."""
        self._progress.update(self._task, advance=count)

    def reset(self) -> None:
        """Back to none."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Take the bar off the screen."""
        self._progress.stop()
