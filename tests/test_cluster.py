"""The door to Dask: who can come in where workers of our own are started."""

import os
from copy import deepcopy
from pathlib import Path

import psutil
import pytest

from hgpbench.cluster import opened
from hgpbench.cluster.library import QUIET, ROOMY, VARIABLES
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


def test_workers_of_our_own_idle_quietly_and_leave_no_trace_here() -> None:
    """Nothing of theirs in Dask's settings or the environment of who started them."""
    import dask
    import distributed

    assert distributed  # brings its settings
    settings, variables = deepcopy(dask.config.config), dict(os.environ)
    with opened(Wanted("local:1")) as cluster:
        (address,) = cluster.workers()
        for name, value in QUIET.items():
            assert cluster.ask([address], dask.config.get, name) == {address: value}
        for name, value in ROOMY.items():
            assert cluster.ask([address], os.getenv, name) == {address: os.environ.get(name, value)}
    for name in QUIET:
        assert dask.config.get(name) == dask.config.get(name, config=settings)
    assert dask.config.get(VARIABLES) == dask.config.get(VARIABLES, config=settings)
    assert os.environ.keys() - variables.keys() <= {"__DASK_PARENT_PID"}


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
