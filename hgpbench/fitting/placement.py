"""Where inducing points start: k-means centres, each snapped to its nearest training point."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_chunked

from hgpbench.columns import Array
from hgpbench.fitting.start import spread

FEWEST_ROWS = 20_000  # rows that k-means looks at, however many there are ...
ROWS_PER_POINT = 20  # ... or this many for each point
BUDGET = 3e9  # rows times squared inducing points of a default: some seconds of an evaluation's products
FEWEST_POINTS, MOST_POINTS = 100, 500  # of a default, whatever that gives
TIE_DIGITS = 6  # distances, in standard deviations, that agree to so many digits are the same


def n_points(asked: int | None, n: int) -> int:
    """Inducing points for ``n`` rows where none are asked for: as many as the budget allows, 100 to 500."""
    if asked is not None:
        return asked
    return min(n, MOST_POINTS, max(FEWEST_POINTS, int(np.sqrt(BUDGET / n))))


def inducing_points(X: Array, m: int, rng: np.random.Generator) -> Array:
    """``m`` distinct rows of ``X`` (n, d), spread like the data; all distinct rows where they are fewer.

    Distances are measured in standard deviations. The rows are sorted first, so that the answer depends on
    the generator and on the set of rows but not on their order.
    """
    most = max(FEWEST_ROWS, ROWS_PER_POINT * m)
    if len(X) > most:
        X = X[rng.choice(len(X), most, replace=False)]
    rows, counts = np.unique(X, axis=0, return_counts=True)
    if len(rows) <= m:
        return rows
    scaled = rows / spread(rows)
    means = KMeans(m, n_init=1, max_iter=50, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Rows that differ by round-off alone leave clusters empty, and k-means says so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(scaled, sample_weight=counts)
    chosen = np.unique(_nearest(means.cluster_centers_, scaled))
    # Centres may share their nearest row: others, drawn at random, take the places left.
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    drawn = rng.choice(others, m - len(chosen), replace=False)
    return rows[np.concatenate([chosen, drawn])]


def _nearest(centres: Array, rows: Array) -> Array:
    """The row nearest to each centre, the first of them where round-off alone decides.

    The two rows of a cluster of two are equally near to its centre, however they are ordered or scaled.
    """
    by_chunks = pairwise_distances_chunked(
        centres, rows, reduce_func=lambda distances, _: np.argmin(np.round(distances, TIE_DIGITS), axis=1)
    )
    return np.concatenate(list(by_chunks))
