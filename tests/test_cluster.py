"""The door to Dask: who can come in where workers of our own are started."""

from pathlib import Path

import psutil
import pytest

from hgpbench.cluster import opened
from hgpbench.cluster.wanted import LOOPBACK, Wanted
from hgpbench.errors import ClusterError

pytest.importorskip("distributed", reason="clusters need dask.distributed")


def test_workers_of_our_own_listen_to_this_machine_alone() -> None:
    """Whoever reaches a scheduler or a worker can run anything there."""
    this = psutil.Process()
    before = set(listening(this))
    with opened(Wanted("local:1")) as cluster:
        addresses = cluster.workers()
        found = [one for each in (this, *this.children(recursive=True)) for one in listening(each)]
    assert addresses
    opened_now = set(found) - before
    assert len(opened_now) >= 3  # scheduler, nanny, worker
    assert {host for host, _ in opened_now} == {LOOPBACK}


def test_tls_without_keys_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tls://127.0.0.1:9"}')
    for wanted in (Wanted("tls://127.0.0.1:9"), Wanted(scheduler_file=file)):
        with (
            pytest.raises(ClusterError, match=r"^tls://127.0.0.1:9 speaks TLS: give --tls-ca"),
            opened(wanted),
        ):
            pass


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    """Addresses at which a process can be reached."""
    found = process.net_connections(kind="inet")
    return [(one.laddr.ip, one.laddr.port) for one in found if one.status == psutil.CONN_LISTEN]
