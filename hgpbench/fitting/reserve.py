"""With what reserve to believe g: what rows that were kept from f *and* g say of its level, width and tails.

A row left out of f alone still shows in g: it is near the rows whose residuals tell g, and has a part in
them. What is certain and wrong is then seen as less certain than it would be. So some rows are kept from
both, and the predictions of them say by how much the level of g is off, how wide it should be, and which
share of the rows is told by a normal of constant variance instead, wherever they are: where g calls a
prediction nearly certain, a few are wrong by far, and neither an interval nor a variance bears that.

A row whose inputs a training row has, too, asks another question than a new one: not how f varies between
rows but how a target repeats. It has a reserve of its own, where enough such rows were kept.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.nearest import Signal, Task
from hgpbench.fitting.scatter import Residuals, Scatter, learned_from
from hgpbench.fitting.values import Values
from hgpbench.gp.optim import lbfgs
from hgpbench.gp.params import Bound, Layout, objective
from hgpbench.gp.scatter import SMALLEST, reserved
from hgpbench.la import Places

FEWEST = 100  # training rows, of which some can be spared; and rows kept, for a reserve of their own
FOLDS = 2  # rows kept together, and then others
MOST_KEPT, SHARE_KEPT = 5_000, 10  # of each: a tenth of the rows ...
SOME_KEPT, SHARE_OF_FEW = 1_000, 5  # ... but of few rows a fifth, up to so many
POSITIVE = frozenset({"width", "odds", "rare"})
WIDTH_STD, RARE_STD, LEVEL_STD = 0.5, 1.0, 2.0  # of their priors, the first two of logarithms
ROWS_MORE = 100.0  # and one rare: what the prior of the odds has seen
MAX_ITER = 100


class Reserve(NamedTuple):
    """g ~ N(mean + level, width times its variance) for all but a ``share``, of the variance ``rare``."""

    level: float = 0.0
    width: float = 1.0
    share: float = 0.0
    rare: float = 1.0


class Reserves(NamedTuple):
    """For rows whose inputs are new, and for those whose inputs a training row has."""

    new: Reserve = Reserve()
    seen: Reserve = Reserve()

    def of(self, seen: Array) -> list[Array]:
        """Level, width, share and rare variance at each row, by whether its inputs were ``seen``."""
        return [np.where(seen, there, here) for here, there in zip(self.new, self.seen, strict=True)]


class Kept(NamedTuple):
    """Rows kept from f and g: residuals over their standard deviations, moments of g, and these variances."""

    z: Array
    g_mean: Array
    g_var: Array
    v: Array
    seen: Array  # whether a row that was not kept has the same inputs

    def only(self, rows: Array) -> "Kept":
        """Some of them."""
        return Kept(*(values[rows] for values in self))


def reserves(task: Task, f: Signal, g: Scatter) -> Reserves:
    """What rows kept from f and g ask for; none where there are few."""
    if len(task.y) < FEWEST:
        return Reserves()
    return learned(kept(task, f, g))


def kept(task: Task, f: Signal, g: Scatter) -> Kept:
    """Predictions of some rows by f and g that have not seen them, at the parameters that these have."""
    n = len(task.y)
    size = min(MOST_KEPT, max(n // SHARE_KEPT, min(n // SHARE_OF_FEW, SOME_KEPT)))
    folds = [_kept(task, f, g, task.order[n - (k + 1) * size : n - k * size]) for k in range(FOLDS)]
    return Kept(*(np.concatenate(parts) for parts in zip(*folds, strict=True)))


def _kept(task: Task, f: Signal, g: Scatter, rows: Places) -> Kept:
    fewer = task.only(np.setdiff1d(task.order, rows))
    residuals = Residuals.of(fewer, f, np.sort(fewer.order[: len(g.t)]))
    again = learned_from(residuals, g, task).neighbourhood()
    near = f.neighbourhood(fewer)
    mu, s2 = near.moments(task.X[rows], task.run)
    v = s2 + float(f.values["sigma2"])
    z, seen = (task.y[rows] - mu) / np.sqrt(v), near.holds(task.X[rows], task.run)
    return Kept(z, *again.moments(task.X[rows], task.run), v, seen)


def learned(kept: Kept) -> Reserves:
    """The reserves of the greatest density of these rows, under weak priors."""
    mean = float(np.mean(kept.z**2))
    if not mean > 0.0:
        return Reserves()
    # Residuals of zero would make any density infinite.
    kept = kept._replace(z=np.sqrt(np.maximum(kept.z**2, SMALLEST * mean)))
    typical = float(np.mean(kept.z**2 * kept.v))
    together, seen = _most_likely(kept, typical), kept.seen.astype(bool)
    alone = [
        _most_likely(kept.only(rows), typical) if rows.sum() >= FEWEST else together for rows in (~seen, seen)
    ]
    return Reserves(*alone)


def _most_likely(kept: Kept, typical: float) -> Reserve:
    first = {"level": 0.0, "width": 1.0, "odds": 1.0 / ROWS_MORE, "rare": typical}
    layout = Layout.of(first, positive=POSITIVE)
    result = lbfgs(
        objective(partial(_posterior, kept, typical), layout), layout.pack(first), max_iter=MAX_ITER
    )
    values = layout.unpack(result.x) if result.outcome != "failed" else first
    level, width, odds, rare = (float(value) for value in values.values())
    return Reserve(level, width, odds / (1.0 + odds), rare)


def _posterior(kept: Kept, typical: float, values: Values) -> Bound:
    """The density of the rows times that of the priors."""
    value, grads, jitter = reserved(kept.z, kept.g_mean, kept.g_var, kept.v, values)
    level, width, odds, rare = (float(values[name]) for name in ("level", "width", "odds", "rare"))
    wide, much = np.log(width) / WIDTH_STD, np.log(rare / typical) / RARE_STD
    value += np.log(odds) - ROWS_MORE * np.log1p(odds)
    value -= 0.5 * ((level / LEVEL_STD) ** 2 + wide**2 + much**2)
    more = {
        "level": -level / LEVEL_STD**2,
        "width": -wide / (WIDTH_STD * width),
        "odds": 1.0 / odds - ROWS_MORE / (1.0 + odds),
        "rare": -much / (RARE_STD * rare),
    }
    return Bound(value, {name: grads[name] + more[name] for name in more}, jitter)
