"""One prediction from many experts that share a prior: the paper's RBCM, and its relatives to compare with.

With the share s_i = s2_i / prior variance that an expert leaves unexplained, its entropy weight (paper,
Section IV-B) is w_i = -1/2 log s_i, and all aggregates here follow from three sums over the experts,

    weight = sum w_i,    excess = sum w_i (1/s_i - 1),    pull = sum w_i (mu_i - prior mean) / s_i.

In units of the prior precision, RBCM has precision 1 + excess: the paper's sum w_i / s2_i + (1 - sum w_i) /
prior variance, written so that an expert which knows nothing adds nothing, and no cancellation can make the
result negative. The mean is prior mean + pull / precision.

rbcm     robust Bayesian committee machine (Deisenroth and Ng, 2015), the paper's choice
gpoe     generalised product of experts (Cao and Fleet, 2014): the entropy weights normalised to sum to one
nearest  the one expert with the largest weight, which is the one with the smallest variance
"""

from typing import Literal, get_args

import numpy as np

from hgpbench.la import Array

Kind = Literal["rbcm", "gpoe", "nearest"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SMALLEST_SHARE = float(np.finfo(float).eps)
"""Round-off may give an expert the variance zero: no share counts as smaller than this."""

Rows = slice | np.ndarray


class Committee:
    """The sums above at ``n`` points; experts stream through ``add``, so memory does not grow with them.

    Floating-point sums depend on their order. Whoever wants the same bits from any number of workers fixes
    lanes of experts once, gives each lane a committee that adds its experts in order, and merges the lanes in
    order. ``sums`` is then all that travels.
    """

    def __init__(self, kind: Kind, n: int, prior_mean: float, prior_var: float) -> None:
        if kind not in KINDS:
            raise ValueError(f"committee {kind!r} is not one of {', '.join(KINDS)}")
        self.kind = kind
        self.prior_mean, self.prior_var = prior_mean, prior_var
        self.sums = np.zeros((3, n))  # weight, excess, pull

    def add(self, rows: Rows, mu: Array, s2: Array) -> None:
        """One more expert, with its moments at ``rows``: a slice, or distinct indices."""
        share = np.clip(s2 / self.prior_var, SMALLEST_SHARE, 1.0)
        weight = -0.5 * np.log(share) if self.kind in ("rbcm", "gpoe") else np.ones_like(share)
        precision = weight / share
        self._take(rows, np.stack([weight, precision * (1.0 - share), precision * (mu - self.prior_mean)]))

    def merge(self, sums: Array) -> None:
        """The ``sums`` (3, n) of a committee of further experts at the same points."""
        self._take(slice(None), sums)

    def result(self) -> tuple[Array, Array]:
        """Mean and variance of the aggregate, each (n,); the prior where no expert knows anything."""
        weight, excess, pull = self.sums
        # With vanishing weights every product of experts is the prior: any base does there.
        base = np.where(weight > 0.0, weight, 1.0) if self.kind == "gpoe" else 1.0
        precision = base + excess
        return self.prior_mean + pull / precision, self.prior_var * (base / precision)

    def _take(self, rows: Rows, sums: Array) -> None:
        if self.kind != "nearest":
            self.sums[:, rows] += sums
            return
        # Excess falls as the variance grows; a tie stays with the expert that came first.
        held = self.sums[:, rows]
        self.sums[:, rows] = np.where(sums[1] > held[1], sums, held)


def negligible(kind: Kind, tolerance: float, M: int, energy: float) -> float:
    """The largest explained share q = 1 - s2_i / prior variance of an expert that may be left out.

    However many of the ``M`` experts are left out for explaining at most q, the aggregate's mean moves by at
    most ``tolerance`` prior standard deviations and its variance by that fraction. ``energy`` bounds the
    experts' means: (mu_i - prior mean)^2 <= q_i energy prior variance, which holds for a GP with energy =
    y^T A^-1 y (Cauchy and Schwarz). Let c = max(energy, 1) and q <= 1/4, in units of the prior.

    rbcm: w_i <= 2q/3, so M such experts carry an excess of at most M q^2 and a pull of at most
    M q^(3/2) sqrt(c). The whole committee's mean is at most 2 M^(1/4) sqrt(c), so that the loss of excess
    moves it by at most 2 M q^(3/2) sqrt(c) when q <= M^(-1/2); with the loss of pull, 3 M q^(3/2) sqrt(c).

    others: their weights do not vanish with q, so only the means themselves are small. Leaving out M experts
    moves gpoe by at most sqrt(q c) (1 + sqrt(2 M)) and nearest by 2 sqrt(q c): with 3 M sqrt(q c) = tolerance
    both stay below it.
    """
    c = max(energy, 1.0)
    if kind == "rbcm":
        q = (tolerance / (3.0 * M * np.sqrt(c))) ** (2.0 / 3.0)
    else:
        q = (tolerance / (3.0 * M)) ** 2 / c
    return float(min(q, 0.25))
