"""What every model predicts: moments in words, and the predictive distribution behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hgpbench.gp import predictive

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


def check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Levels of quantiles, each once and in order; ValueError for one that is none."""
    for level in levels:
        if not 0.0 < level < 1.0:
            raise ValueError(f"{level:g} is no level of a quantile; it should lie between 0 and 1")
    return tuple(sorted(dict.fromkeys(float(level) for level in levels)))


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictive moments at the test points, one entry per point.

    With ``g_mean`` and ``g_var`` the predictive is the normal mixture N(y | f_mean, f_var + e^g) over
    g ~ N(g_mean, g_var) (paper, eq. for q(y*)); without them it is N(mean, var). With ``rare_share`` f has a
    part in e^g, too, and so many of the targets are told by another normal: y is of
    N(y | f_mean, (1 + f_var / noise_var) e^g), and with that probability of N(y | f_mean, rare_var). Beyond
    these moments, the distribution answers ``logpdf``, ``cdf``, ``quantile`` and ``crps``.
    """

    mean: Array
    var: Array
    noise_var: Array
    f_mean: Array | None = None
    f_var: Array | None = None
    g_mean: Array | None = None
    g_var: Array | None = None
    rare_share: Array | None = None
    rare_var: Array | None = None

    @classmethod
    def gaussian(cls, f_mean: Array, f_var: Array, noise_var: ArrayLike) -> "Prediction":
        """Latent moments and a noise variance that is known: y ~ N(f_mean, f_var + noise_var)."""
        noise = np.broadcast_to(np.asarray(noise_var, dtype=float), f_mean.shape).copy()
        return cls(f_mean, f_var + noise, noise, f_mean, f_var)

    @classmethod
    def floored(cls, f_mean: Array, f_var: Array, noise_var: float, floor: float) -> "Prediction":
        """The same with more noise where it takes that for y to have the variance ``floor``."""
        return cls.gaussian(f_mean, f_var, np.maximum(noise_var, floor - f_var))

    @classmethod
    def mixture(cls, f_mean: Array, f_var: Array, g_mean: Array, g_var: Array) -> "Prediction":
        """Latent moments of f and of the log noise variance g; the two moments of y are exact."""
        noise = np.exp(g_mean + 0.5 * g_var)
        return cls(f_mean, f_var + noise, noise, f_mean, f_var, g_mean, g_var)

    @classmethod
    def scaled(
        cls,
        f_mean: Array,
        f_var: Array,
        noise_var: float,
        scale: tuple[Array, Array],
        rare_share: Array,
        rare_var: Array,
    ) -> "Prediction":
        """Variances of f and of the noise, times e^h with moments of h; for the rare another, shared alike.

        The two moments of y are exact.
        """
        h_mean, h_var = scale
        own = f_var + noise_var
        times = (1.0 - rare_share) * np.exp(h_mean + 0.5 * h_var) + rare_share * rare_var / own
        f, noise, g_mean = f_var * times, noise_var * times, h_mean + np.log(noise_var)
        return cls(f_mean, f + noise, noise, f_mean, f, g_mean, h_var, rare_share, rare_var)

    @property
    def is_mixture(self) -> bool:
        """Whether the predictive density is a normal mixture rather than a normal."""
        return self._mixture is not None

    def rescale(self, shift: float, scale: float) -> "Prediction":
        """The prediction of ``shift + scale * y``: undoes the standardisation of the target."""
        square = scale * scale

        def located(values: Array | None) -> Array | None:
            return None if values is None else shift + scale * values

        return Prediction(
            mean=shift + scale * self.mean,
            var=square * self.var,
            noise_var=square * self.noise_var,
            f_mean=located(self.f_mean),
            f_var=None if self.f_var is None else square * self.f_var,
            g_mean=None if self.g_mean is None else self.g_mean + np.log(square),
            g_var=self.g_var,
            rare_share=self.rare_share,
            rare_var=None if self.rare_var is None else square * self.rare_var,
        )

    def logpdf(self, y: ArrayLike) -> Array:
        """Log density of the targets ``y``, one per point (other shapes broadcast)."""
        if self._mixture is None:
            return predictive.normal_logpdf(y, self.mean, self.var)
        return predictive.mixture_logpdf(y, *self._mixture)

    def cdf(self, y: ArrayLike) -> Array:
        """Probability of a target not above ``y``, one per point (other shapes broadcast)."""
        if self._mixture is None:
            return predictive.normal_cdf(y, self.mean, self.var)
        return predictive.mixture_cdf(y, *self._mixture)

    def quantile(self, q: ArrayLike) -> Array:
        """The q-quantiles: (n,) for one level, (k, n) for k levels."""
        if self._mixture is None:
            return predictive.normal_quantile(q, self.mean, self.var)
        return predictive.mixture_quantile(q, *self._mixture)

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends of the central interval that has a target with this probability."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level is {level:g}; it should lie between 0 and 1")
        lower, upper = self.quantile([0.5 - level / 2.0, 0.5 + level / 2.0])
        return lower, upper

    def to_frame(self, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> "pd.DataFrame":
        """A pandas frame: mean, standard deviations of y and of its noise, and quantiles as ``q0.05``."""
        import pandas as pd

        levels = check_levels(quantiles)
        columns = {"mean": self.mean, "std": np.sqrt(self.var), "noise_std": np.sqrt(self.noise_var)}
        if levels:
            columns |= dict(zip((f"q{level:g}" for level in levels), self.quantile(levels), strict=True))
        return pd.DataFrame(columns)

    def crps(self, y: ArrayLike) -> Array:
        """Continuous ranked probability score at ``y``, in the units of y; smaller is better."""
        if self._mixture is None:
            return predictive.normal_crps(y, self.mean, self.var)
        return predictive.mixture_crps(y, *self._mixture)

    @property
    def _mixture(self) -> tuple[Array, ...] | None:
        """Mean, the variance that is free of g, moments of the log of the rest, and the rare; or None."""
        if self.f_mean is None or self.f_var is None or self.g_mean is None or self.g_var is None:
            return None
        if self.rare_share is not None and self.rare_var is not None:
            g_mean = self.g_mean + np.log1p(self.f_var / self.noise_var)
            free = np.zeros_like(self.f_var)
            return self.f_mean, free, g_mean, self.g_var, self.rare_share, self.rare_var
        return self.f_mean, self.f_var, self.g_mean, self.g_var

    def arrays(self) -> dict[str, Array]:
        """The arrays that are present, by name: what a record stores."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: values for name, values in named.items() if values is not None}
