"""Training rows in groups, one for each expert: by k-means as in the paper, balanced, or random.

The answer depends on the generator and on the set of rows, not on their order: rows are sorted first.
Distances are measured in standard deviations. Two million rows of 11 inputs become 2,000 experts in 24 s on
one core, and need about one more copy of the rows. Rows of a mapped file (``fitting.filerows``) are copied
into such files, and the same experts come of them: memory then holds some numbers a row, not the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from hgpbench.columns import Array, chunks
from hgpbench.fitting.filerows import reordered
from hgpbench.fitting.start import spread

Index = NDArray[np.intp]
Numbers = Sequence[int]  # of experts, or of lanes of them
Kind = Literal["kmeans", "balanced", "random"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LLOYD_ROWS = 50_000  # up to here k-means looks at all rows, above at a sample, in mini-batches
ROWS_PER_CENTRE = 50  # rows of that sample for each centre, if that is more
# Sizes of balanced experts, in terms of n / M. On protein (seed 20, 175 and 100 inducing points) SMSE and
# MSLL are .375, -.857 with these limits and .396, -.827 with 0.5 and 1.5.
SMALLEST, LARGEST = 0.2, 3.0
SAMPLE = 20_000  # rows that suffice to choose the direction of a cut


class Shares(Protocol):
    """Rows of experts, as far as whoever owns some of these asks for them."""

    @property
    def sizes(self) -> Index:
        """Rows of each expert, (M,)."""

    @property
    def n_inputs(self) -> int:
        """Columns of the inputs."""

    def of(self, number: int) -> tuple[Array, Array]:
        """Inputs and targets of an expert."""


@dataclass(frozen=True, eq=False)
class Rows:
    """All training rows, those of an expert together: expert i has rows starts[i] to starts[i + 1]."""

    X: Array
    y: Array
    starts: Index

    def of(self, number: int) -> tuple[Array, Array]:
        """Inputs and targets of an expert, without a copy."""
        rows = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.X[rows], self.y[rows]

    @property
    def sizes(self) -> Index:
        """Rows of each expert, (M,)."""
        return np.diff(self.starts)

    @property
    def n_inputs(self) -> int:
        """Columns of the inputs."""
        return self.X.shape[1]

    @property
    def centres(self) -> Array:
        """The mean of the inputs of each expert, (M, d)."""
        return np.stack([self.of(number)[0].mean(axis=0) for number in range(len(self.sizes))])

    def drawn(self, most: int, rng: np.random.Generator) -> "Rows":
        """The rows of experts drawn at random while they have at most ``most`` in all; at least one."""
        order = rng.permutation(len(self.sizes))
        enough = max(1, int(np.searchsorted(np.cumsum(self.sizes[order]), most, side="right")))
        chosen = np.sort(order[:enough])
        parts = [self.of(number) for number in chosen]
        starts = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        return Rows(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]), starts)


@dataclass(frozen=True, eq=False)
class Held:
    """The rows of some experts of all, which may come and go."""

    sizes: Index
    n_inputs: int
    _rows: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def of(self, number: int) -> tuple[Array, Array]:
        """Inputs and targets of an expert that is held."""
        return self._rows[number]

    def hold(self, number: int, X: Array, y: Array) -> None:
        """Have the rows of an expert from now on."""
        self._rows[number] = X, y

    def drop(self, number: int) -> None:
        """Have them no more."""
        self._rows.pop(number, None)


@dataclass(frozen=True, eq=False)
class Partition:
    """Every row in one expert: expert i owns the rows ``order[starts[i]:starts[i + 1]]``."""

    order: Index
    starts: Index

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Index:
        """Rows of each expert, (M,)."""
        return np.diff(self.starts)

    def gather(self, X: Array, y: Array) -> Rows:
        """A copy of the rows, those of an expert together; of mapped rows in a file of its own."""
        return Rows(np.asarray(reordered(X, self.order)), y[self.order], self.starts)

    @property
    def labels(self) -> Index:
        """The expert of each row, (n,)."""
        labels = np.empty_like(self.order)
        labels[self.order] = np.repeat(np.arange(len(self)), self.sizes)
        return labels


def partition(
    kind: Kind, X: Array, n_experts: int, rng: np.random.Generator, max_size: int | None = None
) -> Partition:
    """Share the rows of ``X`` (n, d) among about ``n_experts`` experts of at most ``max_size`` rows.

    kmeans    nearest centre; sizes as they fall, and no expert where no row is (at most ``n_experts``)
    balanced  k-means whose small clusters join a neighbour and whose large ones are cut: sizes between 0.2
              and 3 times n / M, and the number of experts only near ``n_experts``
    random    equal shares of the shuffled rows

    Experts above ``max_size`` are cut, which makes more of them.
    """
    n = len(X)
    if kind not in KINDS:
        raise ValueError(f"partition {kind!r} is not one of {', '.join(KINDS)}")
    most = n if max_size is None else max_size
    M = max(min(n_experts, n), -(-n // most))
    sort = np.lexsort(X.T)
    if kind == "random":
        return _gathered([sort[np.sort(share)] for share in np.array_split(rng.permutation(n), M)])
    Z = np.asarray(reordered(X, sort, spread(X)))
    labels = _nearest_centres(Z, M, rng)
    if kind == "balanced":
        labels = _merge_small(Z, labels, SMALLEST * n / M)
    shares = _groups(labels)
    if kind == "balanced":
        shares = _cut_large(Z, shares, n / M)
    shares = [part for share in shares for part in cut(Z, share, -(-len(share) // most), 1, most)]
    return _gathered([sort[np.sort(share)] for share in shares])


def cut(Z: Array, rows: Index, k: int, fewest: int, most: int) -> list[Index]:
    """``rows`` of ``Z`` in ``k`` compact parts of ``fewest`` to ``most`` rows, by halving again and again.

    Each cut is a plane between the centres of 2-means, shifted no further than the sizes demand. Needs
    k fewest <= len(rows) <= k most, which the two sides then inherit.
    """
    parts: list[Index] = []
    waiting = [(rows, k)]
    while waiting:
        rows, k = waiting.pop()
        if k == 1:
            parts.append(rows)
            continue
        n = len(rows)
        along, threshold = _two_means(Z[rows[:: max(1, n // SAMPLE)]])
        position = np.concatenate([Z[rows[part]] @ along for part in chunks(n)])
        left = int(np.count_nonzero(position <= threshold))
        k_left = min(max(round(k * left / n), 1), k - 1)
        k_right = k - k_left
        left = max(left, k_left * fewest, n - k_right * most)
        left = min(left, k_left * most, n - k_right * fewest)
        order = np.argsort(position, kind="stable")
        waiting += [(np.sort(rows[order[left:]]), k_right), (np.sort(rows[order[:left]]), k_left)]
    return parts


def _two_means(Z: Array, iterations: int = 10) -> tuple[Array, float]:
    """Normal and offset of the plane between two means, started from the halves of the longest axis."""
    middle = Z.mean(axis=0)
    along = np.linalg.eigh((Z - middle).T @ (Z - middle))[1][:, -1]
    threshold = float(middle @ along)
    for _ in range(iterations):
        above = Z @ along > threshold
        if not above.any() or above.all():  # no spread: any plane will do
            break
        low, high = Z[~above].mean(axis=0), Z[above].mean(axis=0)
        along, threshold = high - low, float((high - low) @ (high + low)) / 2.0
    return along, threshold


def _nearest_centres(Z: Array, M: int, rng: np.random.Generator) -> Index:
    """For each row of ``Z`` the number of its k-means centre; centres without rows have no number."""
    n = len(Z)
    most = max(LLOYD_ROWS, ROWS_PER_CENTRE * M)
    sample = Z if n <= LLOYD_ROWS else Z[np.sort(rng.choice(n, min(n, most), replace=False))]
    points, counts = np.unique(sample, axis=0, return_counts=True)
    seed = int(rng.integers(2**31))
    # Threads of scikit-learn add their sums in the order in which they finish: one thread repeats exactly.
    with threadpool_limits(1):
        if len(points) <= M:
            centres = points
        elif n <= LLOYD_ROWS:
            means = KMeans(M, n_init=1, max_iter=50, random_state=seed)
            centres = means.fit(points, sample_weight=counts).cluster_centers_
        else:
            batches = MiniBatchKMeans(
                M, n_init=1, max_iter=10, batch_size=max(4096, 5 * M), init_size=5 * M, random_state=seed
            )
            centres = batches.fit(points, sample_weight=counts).cluster_centers_
        labels = pairwise_distances_argmin(Z, centres)
    return np.unique(labels, return_inverse=True)[1]


def _merge_small(Z: Array, labels: Index, fewest: float) -> Index:
    """Clusters of fewer rows, smallest first, join the one where this adds least to the sum of squares.

    That is Ward's criterion. Rows that join the nearest centre one by one did as well on electric and
    sarcos, but left 8 % more variance within the experts of protein: outliers are better kept together.
    """
    sizes, centres = _centres(Z, labels)
    joined = np.arange(len(sizes))
    left = np.arange(len(sizes))
    while sizes[left].min() < fewest:
        small = left[np.argmin(sizes[left])]
        left = left[left != small]
        added = np.square(centres[left] - centres[small]).sum(axis=1) / (
            1.0 / sizes[left] + 1.0 / sizes[small]
        )
        host = left[np.argmin(added)]
        total = sizes[host] + sizes[small]
        centres[host] += (centres[small] - centres[host]) * (sizes[small] / total)
        sizes[host] = total
        joined[joined == small] = host
    return np.unique(joined[labels], return_inverse=True)[1]


def _cut_large(Z: Array, shares: list[Index], mean_size: float) -> list[Index]:
    fewest, most = max(1, int(SMALLEST * mean_size)), int(np.ceil(LARGEST * mean_size))
    parts = []
    for share in shares:
        k = 1 if len(share) <= most else round(len(share) / mean_size)
        parts += cut(Z, share, k, fewest, most)
    return parts


def _centres(Z: Array, labels: Index) -> tuple[Array, Array]:
    """Sizes (k,) as floats and means (k, d) of the clusters."""
    sizes = np.bincount(labels).astype(float)
    sums = [np.bincount(labels, weights=column) for column in Z.T]
    return sizes, np.stack(sums, axis=1) / sizes[:, None]


def _groups(labels: Index) -> list[Index]:
    """The rows of each label."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def _gathered(shares: list[Index]) -> Partition:
    starts = np.concatenate([[0], np.cumsum([len(share) for share in shares])]).astype(np.intp)
    return Partition(np.concatenate(shares), starts)
