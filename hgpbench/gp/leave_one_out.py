"""The leave-one-out log density: every row predicted from the rows nearest to it, and its derivatives.

It judges a model by what the model is for, prediction, so that it needs no prior of the whole (Sundararajan
and Keerthi, 2001, for the exact GP). Its cost is linear in the rows that are predicted; any sample of them
is an unbiased batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hgpbench.gp.kernels import Family
from hgpbench.gp.neighbours import Conditioned, pieces
from hgpbench.gp.params import Bound
from hgpbench.gp.predictive import normal_logpdf
from hgpbench.gp.scatter import log_density
from hgpbench.gp.search import Search
from hgpbench.gp.tasks import Run, serially
from hgpbench.la import JITTER, Array, Places

Judge = Callable[[Array, Array, slice], tuple[float, Array, Array]]
"""From the moments of the function at some of the rows: log density, and its derivatives by both."""
POSITIVE = frozenset({"s2_k", "ell", "sigma2"})


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows to predict, by number (s,), and those near each (s, K), of a table of all that take part."""

    X: Array  # (n, d)
    y: Array
    w: Array  # noise variances over sigma2, (n,)
    rows: Places
    near: Places
    family: Family
    run: Run = serially

    @classmethod
    def of(
        cls, X: Array, y: Array, w: Array, rows: Places, ell: Array, K: int, family: Family, run: Run
    ) -> "Batch":
        """The rows with their nearest others in these lengthscales; no other row is kept."""
        near = Search(X / ell).others(rows, K, run)
        return cls(X, y, w, rows, near, family, run)._alone()

    def _alone(self) -> "Batch":
        """Without the rows of which it makes no use."""
        used, places = np.unique(np.concatenate([self.rows, self.near.ravel()]), return_inverse=True)
        rows, near = places[: len(self.rows)], places[len(self.rows) :].reshape(self.near.shape)
        return replace(self, X=self.X[used], y=self.y[used], w=self.w[used], rows=rows, near=near)

    def with_targets(self, y: Array, w: Array) -> "Batch":
        """The same rows with other targets and weights."""
        return replace(self, y=y, w=w)

    def bound(self, values: dict[str, Array], judge: Judge) -> Bound:
        """The log density of the rows by ``judge``, and its derivative by s2_k, ell, sigma2 and mu0.

        Through the latent function alone: what a judge makes of sigma2 or mu0 itself is its own affair.
        """
        kernel = self.family(float(values["s2_k"]), np.asarray(values["ell"]))
        X, r = self.X / kernel.ell, float(values["sigma2"]) * self.w
        y = self.y - float(values.get("mu0", 0.0))
        parts = list(pieces(len(self.rows), self.near.shape[1]))
        sums = np.zeros((len(parts), 4 + X.shape[1]))

        def visit(place: int, part: slice) -> None:
            near = self.near[part]
            found = Conditioned.of(kernel, X, y, r, near, X[self.rows[part]], True)
            value, dmu, ds2 = judge(found.mu, found.s2, part)
            grad = found.pullback(dmu, ds2)
            dsigma2 = float(np.vdot(grad.dnoise, self.w[near]))
            sums[place] = [value, grad.ds2_k, dsigma2, grad.dmean, *grad.dlog_ell]

        self.run([partial(visit, place, part) for place, part in enumerate(parts)])
        value, ds2_k, dsigma2, dmean, *dlog_ell = sums.sum(axis=0)
        grads = {"s2_k": np.asarray(ds2_k), "ell": np.array(dlog_ell) / kernel.ell}
        grads |= {"sigma2": np.asarray(dsigma2), "mu0": np.asarray(dmean)}
        return Bound(float(value), grads, JITTER)


def signal(batch: Batch, c: Array, values: dict[str, Array]) -> Bound:
    """The sum of log N(y_i | mu_i, (s2_i + sigma2 w_i) c_i), by s2_k, ell and sigma2; c (s,) is given."""
    w, y, sigma2 = batch.w[batch.rows], batch.y[batch.rows], float(values["sigma2"])
    direct = np.empty(len(y))

    def judge(mu: Array, s2: Array, part: slice) -> tuple[float, Array, Array]:
        v = (s2 + sigma2 * w[part]) * c[part]
        e = y[part] - mu
        slope = 0.5 * (e * e / v - 1.0) / v * c[part]
        direct[part] = slope * w[part]
        return float(normal_logpdf(e, np.zeros_like(e), v).sum()), e / v, slope

    value, grads, jitter = batch.bound(values, judge)
    grads["sigma2"] = grads["sigma2"] + direct.sum()
    return Bound(value, grads, jitter)


def scattered(batch: Batch, z: Array, values: dict[str, Array]) -> Bound:
    """The sum of the log densities of z_i (s,) given g_i ~ N(mu0 + mu_i, s2_i), by s2_k, ell and mu0.

    The batch's targets are the working responses of g.
    """
    mu0 = float(values["mu0"])

    def judge(mu: Array, s2: Array, part: slice) -> tuple[float, Array, Array]:
        density, dmu, ds2 = log_density(z[part], mu0 + mu, s2)
        return float(density.sum()), dmu, ds2

    return batch.bound(values, judge)
