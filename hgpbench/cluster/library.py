"""Dask itself: found where it is installed, told to be quiet, and what it raises."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hgpbench.errors import ClusterError

PATIENCE = 30.0  # seconds for a scheduler or a worker to answer
SLOW_START = 120  # seconds that a new worker of our own may take
HANDLED = (OSError, TimeoutError, ValueError, RuntimeError)  # what Dask raises for a peer that is gone


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
    # Workers of our own would look at their threads a hundred times a second, for a page that nobody opens.
    dask.config.set({"distributed.worker.profile.enabled": False})
    # A checkpoint that travels with its run is meant to.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"})
    # A worker of our own that was lost may come again, which takes long on a busy machine.
    dask.config.set({"distributed.deploy.lost-worker-timeout": f"{SLOW_START}s"})
    return distributed


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
