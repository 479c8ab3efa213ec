"""A Dask cluster as hgpbench sees it: the one door to ``dask.distributed``.

Dask keeps the workers, tells which of them live, and carries messages; which of our tasks goes where is ours
to say, as it follows from limits and shards that Dask does not know. Its messages are pickles: whoever can
send one to a scheduler or a worker can run anything there. So workers of our own listen to this machine
alone, and those of others are reached by TLS where that is asked for.

Here are the connection and what can be asked of workers; ``wanted`` says which cluster and starts one of our
own, ``there`` is the other end, on a worker, and ``library`` is Dask itself.
"""

import asyncio
import pickle
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeGuard

import hgpbench
from hgpbench.cluster.library import HANDLED, PATIENCE, closed, library, unlogged
from hgpbench.cluster.there import perform
from hgpbench.cluster.wanted import ALLOWED, Wanted, started
from hgpbench.errors import ClusterError

ALIKE = ("numpy", "scipy", "scikit-learn")  # packages that numbers depend on, beside Python and hgpbench
SILENT = (OSError, TimeoutError, KeyError)  # in place of the answer of a worker that cannot be reached
LOOK_EVERY = 2.0  # seconds between looks at whether a worker that is asked something still lives


@dataclass(frozen=True)
class Worker:
    """What a worker says that it has, and the folder that tells it from one before it at the same address."""

    threads: int
    memory: int | None  # bytes
    folder: str = ""
    paused: bool = False  # for want of memory: it ends what it has, and is given nothing new


class Lost(Exception):
    """Whoever was asked on a worker does not answer any more, and what has become of it is not known."""


class Resident:
    """An object that lives on a worker, in one thread, for as long as this one is held."""

    def __init__(self, cluster: "Cluster", address: str, actor: Any, future: Any, identity: str) -> None:
        self.address = address
        self._cluster, self._actor, self._future, self._identity = cluster, actor, future, identity

    def tell(self, message: bytes) -> Any:
        """Have it perform what a message says; ``answer`` waits for what comes of it."""
        try:
            return self._actor.perform(message)
        except (*HANDLED, CancelledError, closed()) as error:
            raise Lost(f"worker {self.address} was lost") from error

    def answer(self, pending: Any) -> bytes:
        """Its answer; Lost where there will be none, ClusterError where the scheduler is gone."""
        found: bytes = self._cluster.wait(pending, self.address, self._identity)
        return found

    def leave(self) -> None:
        """Let it go."""
        with unlogged():
            self._future.release()
        self._actor = self._future = None


class Cluster:
    """A connection to a scheduler, for as long as ``opened`` lasts."""

    def __init__(self, client: Any, title: str, owned: bool = True) -> None:
        self._client, self.title, self._owned = client, title, owned

    def workers(self) -> dict[str, Worker]:
        """The workers by address; ClusterError where the scheduler is gone."""
        try:
            found = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE
            )
        except HANDLED as error:
            raise self._gone() from error
        if self._client.status != "running":
            raise self._gone()
        return {
            address: Worker(
                int(about["nthreads"]),
                about.get("memory_limit") or None,
                str(about.get("local_directory", "")),
                about.get("status") == "paused",
            )
            for address, about in found["workers"].items()
            if about.get("status", "running") in ("running", "paused")
        }

    @property
    def threads(self) -> int:
        """Of all workers together, one at least."""
        return max(1, sum(worker.threads for worker in self.workers().values()))

    def identity(self, address: str) -> str | None:
        """Of the worker at an address now."""
        found = self.workers().get(address)
        return None if found is None else found.folder

    def install(self, address: str, kind: type[Any]) -> Resident:
        """Make an object with a method ``perform(message)`` on a worker; Lost where that does not come about.

        Messages go there straight where this machine can reach the worker, and else by the scheduler; a
        Client of somebody else's is left as it is.
        """
        identity = str(self.identity(address))
        try:
            future = self._client.submit(
                kind, actor=True, workers=[address], allow_other_workers=False, retries=0, pure=False
            )
        except closed() as error:
            raise self._gone() from error
        with self._client.as_current():
            actor = self.wait(future, address, identity)
        resident = Resident(self, address, actor, future, identity)
        if self._owned and self._client.direct_to_workers is None:
            self._client.direct_to_workers = True
            try:
                resident.answer(resident.tell(b""))
            except Lost:
                self._client.direct_to_workers = False
        resident.answer(resident.tell(b""))
        return resident

    def wait(self, pending: Any, address: str, identity: str) -> Any:
        """What a future of Dask's brings; Lost where that worker is gone, or its answer is."""
        while True:
            try:
                return pending.result(timeout=LOOK_EVERY)
            except (*HANDLED, CancelledError, closed()) as error:
                # No answer yet is no loss while the worker is there: a question may take long.
                if pending.done() or self.identity(address) != identity:
                    raise Lost(f"worker {address} was lost") from error

    def start(self, address: str, task: Callable[..., Any], *details: Any) -> Any:
        """Have a worker do something in one of its threads: a future, which ends with that worker alone."""
        call = pickle.dumps((task, details), protocol=5)
        try:
            return self._client.submit(
                perform, call, workers=[address], allow_other_workers=False, retries=0, pure=False
            )
        except closed() as error:
            raise self._gone() from error

    def ask(self, addresses: Iterable[str], task: Callable[..., Any], *details: Any) -> dict[str, Any]:
        """Answers of workers, also of busy ones; an exception stands for that of one which cannot.

        Each has its own time to answer, so that one which hangs silences nobody else.
        """
        call, wanted = pickle.dumps((task, details), protocol=5), list(addresses)

        async def put(address: str) -> Any:
            question = self._client.run(perform, call, workers=[address], on_error="return")
            try:
                return (await asyncio.wait_for(question, PATIENCE))[address]
            except (*HANDLED, closed(), KeyError) as error:
                return error

        async def put_all() -> list[Any]:
            return await asyncio.gather(*map(put, wanted))

        try:
            answers = self._client.sync(put_all, callback_timeout=2 * PATIENCE) if wanted else []
        except (*HANDLED, closed()) as error:
            answers = [error] * len(wanted)
        return dict(zip(wanted, answers, strict=True))

    def listen(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Hear what workers tell about a topic; on another thread."""
        self._client.subscribe_topic(topic, lambda event: hear(event[1]))

    def hush(self, topic: str) -> None:
        """Hear no more of a topic."""
        with unlogged():
            self._client.unsubscribe_topic(topic)

    def check(self, addresses: Iterable[str]) -> dict[str, str | None]:
        """What keeps workers from being used, in one line each: other versions, or no hgpbench at all.

        Of those alone that answer: one which has ended is listed for a while.
        """
        here, told = versions(), self.ask(addresses, versions)
        return {a: _difference(here, found) for a, found in told.items() if not isinstance(found, SILENT)}

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler of {self.title} is gone, or cannot be reached any more; "
            "what is finished is kept: start it again, and type the same command to continue"
        )


@contextmanager
def joined(given: Any) -> Iterator[Cluster | None]:
    """The cluster that a model's parameter names: an address, a Client of Dask's that stays, or none."""
    check_given(given)
    if given is None:
        yield None
    elif isinstance(given, str):
        with opened(Wanted(given)) as cluster:
            yield cluster
    else:
        library()
        yield Cluster(given, str(given.scheduler.address), owned=False)


def check_given(given: Any) -> None:
    """ValueError unless a parameter can name a cluster."""
    if isinstance(given, str):
        try:
            Wanted(given).check()
        except ClusterError as error:
            raise ValueError(str(error).removeprefix("--")) from None
    elif given is not None and not _is_client(given):
        raise ValueError(
            f"cluster={given!r:.80} is not allowed: it must be an address ({ALLOWED}), a Client of "
            "dask.distributed, or None"
        )


def _is_client(given: Any) -> TypeGuard[Any]:
    return all(hasattr(given, name) for name in ("submit", "scheduler", "as_current"))


def answer_of(future: Any) -> Any:
    """What a task has answered; ClusterError where its worker has ended, or has raised something."""
    try:
        if future.status == "error":
            error = future.exception(timeout=PATIENCE)
            raise ClusterError(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.300}")
        return future.result(timeout=PATIENCE)
    except (*HANDLED, CancelledError) as error:
        raise ClusterError(f"its answer was lost ({type(error).__name__})") from error


def versions() -> dict[str, str]:
    """Versions that must be the same on both sides."""
    return {
        "hgpbench": hgpbench.__version__,
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in ALIKE},
    }


def _difference(here: dict[str, str], there: Any) -> str | None:
    if isinstance(there, ModuleNotFoundError):
        return f"has no module {there.name}; install hgpbench {hgpbench.__version__} there"
    if not isinstance(there, dict):
        lines = str(there).splitlines() or [type(there).__name__]
        return f"cannot say what is installed there ({type(there).__name__}: {lines[0]:.200})"
    other = [
        f"{name} {there.get(name)} and not {own}" for name, own in here.items() if there.get(name) != own
    ]
    return f"has {', '.join(other)}; install the same versions on both sides" if other else None


@contextmanager
def opened(wanted: Wanted) -> Iterator[Cluster]:
    """A cluster to use; our own workers end with the context, those of others stay."""
    wanted.check()
    distributed = library()
    with started(distributed, wanted) as (address, title, security):
        try:
            client = distributed.Client(
                address, security=security, timeout=PATIENCE / 3, set_as_default=False, name="hgpbench"
            )
        except (*HANDLED, TypeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ClusterError(
                f"{title}: no scheduler of Dask answers ({reason:.300}); is it running, and is the address "
                "right, also whether TLS is used?"
            ) from error
        try:
            yield Cluster(client, title)
        finally:
            with unlogged():
                client.close(timeout=2.0)
