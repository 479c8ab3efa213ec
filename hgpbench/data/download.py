"""Downloading one file: retries, a bar on a terminal, a temporary name until it is whole."""

import hashlib
import logging
import sys
from pathlib import Path
from typing import Any

import pooch
import requests
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hgpbench.errors import DataError

RETRIES = 2
TIMEOUT = 30  # seconds without a byte
_PASSING = (408, 425, 429)  # client errors that may be gone a moment later


def is_url(text: str) -> bool:
    """Whether the text is an address rather than a path."""
    return text.lower().startswith(("http://", "https://"))


def download(url: str, workspace: Path) -> Path:
    """Fetch an address into the workspace, once; DataError says why it could not be had."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16] + ".download"
    pooch.get_logger().setLevel(logging.WARNING)
    keeper = pooch.create(
        path=workspace, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=RETRIES
    )
    try:
        return Path(keeper.fetch(name, downloader=_download))
    except requests.exceptions.RequestException as error:
        raise DataError(
            f"no answer ({_reason(error)}); check the internet connection, or give a file with --from"
        ) from error
    except ValueError as error:
        raise DataError(f"not an address that can be downloaded ({error})") from error


def _download(url: str, output_file: str, keeper: Any) -> None:
    """One attempt; an answer that would be the same the next time ends the attempts."""
    bar = _Bar(url) if sys.stderr.isatty() else None
    try:
        http = pooch.HTTPDownloader(progressbar=bar or False, timeout=TIMEOUT, chunk_size=1 << 16)
        http(url, output_file, keeper)
    except requests.exceptions.HTTPError as error:
        answer = error.response
        if answer is not None and 400 <= answer.status_code < 500 and answer.status_code not in _PASSING:
            raise DataError(f"the server answers {answer.status_code} {answer.reason}") from error
        raise
    finally:
        if bar is not None:
            bar.close()


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
