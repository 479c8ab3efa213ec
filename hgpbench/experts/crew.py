"""Who works on experts: processes of this machine, or the workers of a cluster."""

from collections.abc import Callable
from dataclasses import dataclass

from hgpbench.cluster import Cluster
from hgpbench.experts.pool import Lasting, Owner, Pool, open_pool
from hgpbench.experts.remote import SNAPSHOT_EVERY, Remote
from hgpbench.experts.rows import Rows, Shares


@dataclass(frozen=True)
class Crew:
    """So many processes here, or a cluster instead."""

    n_workers: int = 1
    cluster: Cluster | None = None
    snapshot_every: float = SNAPSHOT_EVERY

    @property
    def is_here(self) -> bool:
        """Whether all is done by this process."""
        return self.cluster is None and self.n_workers <= 1

    def opened(
        self, rows: Rows, lanes: int, owner: Callable[[Shares], Owner], lasting: Lasting | None = None
    ) -> Pool[Owner]:
        """A pool of them for these rows; ``lasting`` is what must outlive a worker."""
        if self.cluster is None:
            return open_pool(rows, lanes, self.n_workers, owner)
        return Remote(rows, lanes, owner, self.cluster, lasting, self.snapshot_every)
