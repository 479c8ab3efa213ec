"""Dask itself: found where it is installed, told to be quiet, and what it raises."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hgpbench.errors import ClusterError

PATIENCE = 30.0  # seconds for a scheduler or a worker to answer
SLOW_START = 120  # seconds that a new worker of our own may take
HANDLED = (OSError, TimeoutError, ValueError, RuntimeError)  # what Dask raises for a peer that is gone

# Of a scheduler and workers of our own, which look at themselves for pages that nobody opens. Left alone, two
# workers took 7 % of a core while they had nothing to do, and 1 % like this.
QUIET = {
    "distributed.worker.profile.enabled": False,  # 100 times a second
    "distributed.admin.tick.interval": "1s",  # from 50 times a second
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",  # from 10 times a second
}
# Dask has its workers give freed memory back at once, only to ask for it with the next matrix: 5 to 10 % of a
# fit. These are what glibc comes to by itself.
ROOMY = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
VARIABLES = "distributed.nanny.pre-spawn-environ"


def library() -> Any:
    """Dask, told to keep its own log to itself: what goes wrong is told in our lines."""
    try:
        import dask
        import distributed
    except ImportError:
        raise ClusterError("clusters need dask.distributed: pip install 'hgpbench[cluster]'") from None
    for name in tuple(logging.root.manager.loggerDict):  # some of them have levels of their own
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # A checkpoint that travels with its run is meant to.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"})
    # A worker of our own that was lost may come again, which takes long on a busy machine.
    dask.config.set({"distributed.deploy.lost-worker-timeout": f"{SLOW_START}s"})
    return distributed


@contextmanager
def own_manners() -> Iterator[None]:
    """How workers of our own behave, also those that take the place of lost ones.

    Dask puts what these find in their environment into that of this process, too, and leaves it there.
    """
    import dask

    with dask.config.set({VARIABLES: dask.config.get(VARIABLES) | ROOMY, **QUIET}):
        names = (*dask.config.get(VARIABLES), "PYTHONHASHSEED")
        before = {name: os.environ[name] for name in names if name in os.environ}
        try:
            yield
        finally:
            for name in names:
                os.environ.pop(name, None)
            os.environ.update(before)


def closed() -> type[Exception]:
    """What Dask raises once it has given a scheduler up; an exception of no other kind."""
    from distributed.client import ClosedClientError

    return ClosedClientError


@contextmanager
def unlogged() -> Iterator[None]:
    """Peers that are gone need no words when we are going ourselves."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    except (*HANDLED, closed()):
        return
    finally:
        logging.disable(before)
