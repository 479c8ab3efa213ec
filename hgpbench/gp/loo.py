"""Leave-one-out residuals of a VSHGP at no cost to speak of: whether its mean predicts rows not yet seen.

For given noise variances r and inducing inputs the mean of f is a linear smoother of y, so a row's residual
without that row is e / (1 - h), with the leverage h = diag(V B^-1 V^T) / r (Allen, 1974: PRESS).
The bound may rise while these residuals grow: the noise process then explains what the mean should.
"""

import numpy as np

from hgpbench.gp.vshgp import State, Workspace
from hgpbench.la.dense import Array, rowdots

LARGEST_LEVERAGE = 0.999  # a row that nothing else explains: its own residual is then taken as a thousandth


def residuals(memory: Workspace, state: State, y: Array, mu0: float, rows: slice) -> Array:
    """Residuals of the targets ``y`` at ``rows`` without the row itself, after ``vshgp.differentiate``.

    O(m^2) for each of the rows.
    """
    f, g = memory.f, memory.g
    Vf, Vg = f.V[rows], g.V[rows]
    Cf, Cg = Vf @ f.LBinv.T, Vg @ g.LBinv.T
    s2_g = g.kd - rowdots(Vg, Vg) + rowdots(Cg, Cg)
    r = np.exp(mu0 + Vg @ state.w - 0.5 * s2_g)
    leverage = np.minimum(rowdots(Cf, Cf) / r, LARGEST_LEVERAGE)
    return (y[rows] - Vf @ state.alpha) / (1.0 - leverage)
