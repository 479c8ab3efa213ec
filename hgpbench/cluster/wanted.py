"""Which cluster is asked for, and how one comes about where it is to be on this machine."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hgpbench.cluster.library import PATIENCE, own_manners, unlogged
from hgpbench.errors import ClusterError

LOOPBACK = "127.0.0.1"
ALLOWED = "tcp://HOST:PORT, tls://HOST:PORT or local:N"
MOST_LOCAL = 256  # workers of our own
_LOCAL = re.compile(r"local:(\d{1,4})")
_REMOTE = re.compile(r"(tcp|tls|ucx|ws|wss)://\S+")


@dataclass(frozen=True)
class Wanted:
    """Which cluster is asked for, and the files of TLS."""

    address: str | None = None  # or a scheduler's file
    scheduler_file: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def local(self) -> int | None:
        """How many workers of our own; None for somebody else's cluster."""
        found = _LOCAL.fullmatch(self.address or "")
        return int(found[1]) if found else None

    def check(self) -> None:
        """ClusterError unless this can be a cluster."""
        if (self.address is None) == (self.scheduler_file is None):
            raise ClusterError("name the cluster by --cluster or by --scheduler-file, one of them")
        if self.local is not None and not 1 <= self.local <= MOST_LOCAL:
            raise ClusterError(
                f"--cluster {self.address}: from 1 to {MOST_LOCAL} workers can be started here"
            )
        if self.address is not None and self.local is None and not _REMOTE.fullmatch(self.address):
            raise ClusterError(f"--cluster {self.address!r:.80} is no cluster; write {ALLOWED}")
        files = {"--tls-ca": self.ca, "--tls-cert": self.cert, "--tls-key": self.key}
        missing = [name for name, path in files.items() if path is None]
        if missing and len(missing) < len(files):
            raise ClusterError(f"TLS needs all of {', '.join(files)}; {', '.join(missing)} is missing")
        for name, path in {**files, "--scheduler-file": self.scheduler_file}.items():
            if path is not None and not path.is_file():
                raise ClusterError(f"{name} {path}: no such file")


@contextmanager
def started(distributed: Any, wanted: Wanted) -> Iterator[tuple[Any, str, Any]]:
    """Where the scheduler is; its name in messages; the keys to it."""
    security = _security(distributed, wanted)
    if wanted.local is None:
        where = wanted.address or _address_in(wanted.scheduler_file)
        if (
            where.startswith(("tls://", "wss://"))
            and (security or distributed.Security()).tls_ca_file is None
        ):
            raise ClusterError(  # Dask's client would say so late, and then again as it is let go
                f"{where} speaks TLS: give --tls-ca, --tls-cert and --tls-key, or name the files in Dask's "
                "configuration"
            )
        yield where, wanted.address or str(wanted.scheduler_file), security
        return
    with own_manners():
        cluster = distributed.LocalCluster(
            n_workers=wanted.local,
            threads_per_worker=max(1, (os.cpu_count() or 1) // wanted.local),
            processes=True,
            host=LOOPBACK,
            protocol="tcp://" if security is None else "tls://",
            security=security,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=logging.CRITICAL + 1,
        )
        try:
            yield cluster.scheduler_address, f"local:{wanted.local}", security
        finally:
            with unlogged():
                cluster.close(timeout=PATIENCE)


def _security(distributed: Any, wanted: Wanted) -> Any:
    """Keys for every part; None leaves them to the configuration of Dask."""
    if wanted.ca is None:
        return None
    pair = {"cert": str(wanted.cert), "key": str(wanted.key)}
    roles = ("client", "scheduler", "worker")
    named = {f"tls_{role}_{part}": path for role in roles for part, path in pair.items()}
    return distributed.Security(tls_ca_file=str(wanted.ca), require_encryption=True, **named)


def _address_in(path: Path | None) -> str:
    import json

    try:
        return str(json.loads(Path(str(path)).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"--scheduler-file {path}: is not what `dask scheduler --scheduler-file` writes ({error!r:.100})"
        ) from None
