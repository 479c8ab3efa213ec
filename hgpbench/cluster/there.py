"""A worker of a cluster, as what it does for us sees it."""

import pickle
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_asked: ContextVar[Any] = ContextVar("_asked", default=None)  # the worker itself, while it answers a question


def perform(call: bytes, dask_worker: Any = None) -> Any:
    """Do what ``Cluster.start`` or ``ask`` asked for; Dask tells a question whom it is put to."""
    token = _asked.set(dask_worker)
    try:
        task, details = pickle.loads(call)
        return task(*details)
    finally:
        _asked.reset(token)


@dataclass(frozen=True)
class Task:
    """The task that this thread of a worker is at."""

    home: Path  # a folder that goes with the worker
    _worker: Any
    _key: str

    def tell(self, topic: str, message: dict[str, Any]) -> None:
        """Say something to who listens; of plain numbers and words."""
        self._worker.loop.add_callback(self._worker.log_event, topic, message)

    def is_wanted(self) -> bool:
        """Whether anybody still waits for the answer."""
        found = self._worker.state.tasks.get(self._key)
        return found is not None and found.state in ("executing", "long-running")


def task() -> Task:
    """The one that this thread of a worker is at."""
    from distributed.worker import get_worker, thread_state

    return Task(home(), get_worker(), thread_state.key)


def home() -> Path:
    """A folder that goes with the worker."""
    from distributed.worker import get_worker

    worker = _asked.get()
    if worker is None:
        worker = get_worker()
    folder = Path(worker.local_directory) / "hgpbench"
    folder.mkdir(exist_ok=True)
    return folder
