"""A real scheduler on loopback, and real workers that come and are killed, each a process of its own."""

import asyncio
import multiprocessing
import time
from multiprocessing.context import ForkServerProcess
from typing import Any

PATIENCE = 120.0


class Crowd:
    """Workers are forked from a process that has loaded all that they need: loading is what takes long."""

    def __init__(self, scheduler: Any) -> None:
        import distributed

        self.address = str(scheduler.scheduler_address)
        self.client = distributed.Client(self.address, direct_to_workers=True, set_as_default=False)
        self._workers: list[ForkServerProcess] = []
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["distributed", "hgpbench.models", __name__])

    def have(self, count: int) -> None:
        """See to it that so many workers live."""
        alive = [worker for worker in self._workers if worker.is_alive()]
        for worker in alive[count:]:
            self._end(worker)
        new = [self._context.Process(target=work, args=(self.address,)) for _ in range(count - len(alive))]
        for worker in new:
            worker.start()
        self._workers = [*alive[:count], *new]
        deadline = time.monotonic() + PATIENCE
        while len(self.client.scheduler_info(n_workers=-1)["workers"]) != count:
            assert time.monotonic() < deadline, "the workers did not come"
            time.sleep(0.05)

    def kill(self, place: int = 0) -> None:
        """End a worker without a farewell: this one of those that live."""
        self._end([worker for worker in self._workers if worker.is_alive()][place])

    def close(self) -> None:
        """Leave nothing behind."""
        self.client.close()
        for worker in self._workers:
            self._end(worker)

    def _end(self, worker: ForkServerProcess) -> None:
        worker.kill()
        worker.join()


def work(address: str) -> None:
    """The life of a worker."""
    import distributed

    async def serve() -> None:
        worker = distributed.Worker(address, nthreads=1, host="127.0.0.1", dashboard=False)
        async with worker:
            await worker.finished()

    asyncio.run(serve())
