"""How large the pieces of a committee's prediction may be: test rows, covariances, and worker processes.

A prediction takes memory beside the rows, the model and the result: sums over experts for each test row of a
block, covariances of some test rows with the points of an expert, the matrices of one expert in each
process, and what one process keeps of them for its next prediction. Smaller pieces take less of it and more
time; they change the result by round-off alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

from hgpbench.units import byte_count

ROWS = 65_536  # test rows in a block, at most
CHUNK = 32_000_000  # bytes of covariances at once, at most
PROCESS = 120_000_000  # bytes of a worker process that knows nothing yet: the interpreter and its libraries
FEWEST_ROWS = 512  # in a block: experts that are not kept are made anew for each
KEPT = 256_000_000  # bytes of posteriors that a process keeps for its next prediction, at most


class Pieces(NamedTuple):
    """Test rows at once, bytes of covariances at once in each process, processes, and what may be kept.

    Workers end with their prediction, so that only this process keeps anything.
    """

    rows: int = ROWS
    chunk: int = CHUNK
    processes: int = 1
    kept: int = 0


@dataclass(frozen=True)
class Needs:
    """What a committee's prediction takes, in bytes unless said otherwise.

    ``expert`` are the matrices of the largest expert, ``model`` is what travels to the workers, ``sums`` are
    numbers for each test row in all lanes together, ``inputs`` columns of the test rows.
    """

    expert: int
    model: int
    sums: int
    inputs: int

    def pieces(self, max_memory: int | str | None, n_workers: int) -> Pieces:
        """Pieces that keep within ``max_memory`` with as many of the workers as leave half of it to them.

        The least is one process with an expert's matrices and the fewest rows.
        """
        if max_memory is None:
            return Pieces(processes=n_workers, kept=KEPT if n_workers == 1 else 0)
        limit = byte_count(max_memory)
        workers = n_workers
        while workers > 1 and limit - self._fixed(workers) < limit // 2:
            workers -= 1
        left = max(limit - self._fixed(workers), 0)
        kept = min(left // 4, KEPT) if workers == 1 else 0
        half = (left - kept) // 2
        # Answers of workers travel: both ends of a socket hold a message and its content.
        copies = 1 if workers == 1 else 4
        per_row = 8 * (copies * self.sums + workers * (6 * self.inputs + 24))
        rows = min(max(half // per_row, FEWEST_ROWS), ROWS)
        # Covariances are held twice: as they are, and as the product that the variance is made of.
        return Pieces(rows, min(half // (2 * workers), CHUNK), workers, kept)

    def _fixed(self, workers: int) -> int:
        """What is taken whatever the pieces; a model arrives at a worker as a message first."""
        return self.expert if workers == 1 else workers * (PROCESS + self.expert) + 2 * self.model


def check_memory(name: str, value: int | str | None) -> None:
    """ValueError unless a parameter is a size, or None."""
    if value is None:
        return
    try:
        byte_count(value)
    except ValueError:
        raise ValueError(
            f"{name}={value!r} is not allowed: it must be a number of bytes, or text such as '500MB' or '2GB'"
        ) from None
