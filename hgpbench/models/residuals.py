"""First guesses for a model of f and of the log noise variance g: two sparse GPs with constant noise.

One explains y; the other explains the logarithms of its squared residuals, which are g plus the logarithm of
a chi-squared variable. The authors' release offers the same idea with exact GPs on a random subset. On toy
the joint bound then climbed to its heteroscedastic optimum for six seeds of six; by the paper's recipe, from
fixed values, for one of six.
"""

from typing import NamedTuple

import numpy as np

from hgpbench.gp import vshgp
from hgpbench.gp.tasks import Run
from hgpbench.models.base import Array
from hgpbench.models.initial import Values, guess
from hgpbench.models.sparse import SparseFit, fit_sparse

STEPS = 30  # iterations of each sparse GP: enough for a guess
G_STRETCHES = (0.4, 1.0)  # lengthscales of g tried, as multiples of those f starts from: the bound decides
FLOOR = 1e-6  # of the variance of y, under the squared residuals: a zero has no logarithm
MEAN_LOG_CHI2 = -1.2703628454614782  # of one degree of freedom: psi(1/2) + log 2
SCATTER = 1.5  # variance of the log squares about g, held: less than pi^2 / 2 since E(y - f)^2 is never zero
LEVELLINGS = 2  # closed-form corrections of mu0; the second one gains a nat or two


class Start(NamedTuple):
    """Initial values of the joint bound, and the evaluations of sparse bounds that they took."""

    values: Values
    evaluations: int


def first_values(
    X: Array, y: Array, Xm: Array, Xu: Array, memory: vshgp.Workspace, *, move_inducing: bool
) -> Start:
    """Initial values for ``vshgp.evaluate``, with a free whitened mean ``w``; the data are scaled."""
    first = guess(X, y)
    held = () if move_inducing else ("Xm",)
    f = fit_sparse("vfe", X, y, first | {"Xm": Xm}, max_iter=STEPS, held=held, run=memory.run)
    g, mu0, evaluations = _fit_log_residuals(X, y, f, first, Xu, memory.run)
    values = {
        "s2_kf": f.values["s2_k"],
        "ell_f": f.values["ell"],
        "Xm": f.values["Xm"],
        "s2_kg": g.values["s2_k"],
        "ell_g": g.values["ell"],
        "Xu": Xu,
        "mu0": np.asarray(mu0),
        "lam": np.full(len(y), 0.5),  # its fixed point where the noise is as large as the residuals
        "w": g.posterior.Linv @ g.posterior.moments(Xu)[0],
    }
    for _ in range(LEVELLINGS):
        # The mean of rho E(y - f)^2, which should be one, is 1 + 2/n dF/dmu0: shift mu0 by its logarithm.
        slope = vshgp.bound(values, X, y, memory).grads["mu0"]
        values["mu0"] = values["mu0"] + np.log1p(2.0 * slope / len(y))
    return Start(values, f.result.evaluations + evaluations + LEVELLINGS)


def authors_values(X: Array, Xm: Array, Xu: Array, ell: Array | None = None) -> Values:
    """The fixed values of the authors' release for standardised data ('User'), mean tied to lambda.

    Lengthscales ``ell``, where given, replace theirs for both f and g.
    """
    d = X.shape[1]
    return {
        "s2_kf": np.asarray(1.0),
        "ell_f": np.full(d, 0.5) if ell is None else ell.copy(),
        "Xm": Xm,
        "s2_kg": np.asarray(1.0),
        "ell_g": np.full(d, 0.2) if ell is None else ell.copy(),
        "Xu": Xu,
        "mu0": np.asarray(np.log(0.25)),
        "lam": np.full(len(X), 0.5),
    }


def _fit_log_residuals(
    X: Array, y: Array, f: SparseFit, first: Values, Xu: Array, run: Run
) -> tuple[SparseFit, float, int]:
    """The better of some sparse GPs on the centred log squared residuals, their mean, evaluations used."""
    mu, s2 = f.posterior.moments(X, run=run)
    squares = np.maximum((y - mu) ** 2 + s2, FLOOR * np.var(y))
    z = np.log(squares) - MEAN_LOG_CHI2
    fits = []
    for stretch in G_STRETCHES:
        start = {
            "s2_k": np.asarray(1.0),
            "ell": stretch * first["ell"],
            "sigma2": np.asarray(SCATTER),
            "Xm": Xu,
        }
        held = ("sigma2", "Xm")
        fits.append(fit_sparse("vfe", X, z - z.mean(), start, max_iter=STEPS, held=held, run=run))
    best = max(fits, key=lambda fit: fit.result.value)
    return best, float(z.mean()), sum(fit.result.evaluations for fit in fits)
