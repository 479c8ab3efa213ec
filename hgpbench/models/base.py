"""The contract of an estimator, in scikit-learn's manner.

A constructor only stores. ``fit`` learns and returns self; what it learned ends in ``_``. Then ``predict``
gives means (and standard deviations of y), and ``predict_dist`` a ``Prediction``: latent moments, density,
cdf, quantiles and CRPS. Everything that a user sees is in the user's units, however the model works inside:

``elbo_``          the bound (or evidence) of the training targets, a log density of y; models that have one
``trace_``         (k, 3): iteration, seconds since the start, bound
``outcome_``       how the optimiser ended, of ``gp.optim.Outcome``, and "no better than the mean" behind it
                   where it has found nothing: a search may converge all the same
``explained_``     share of the variance of some training rows that the mean explains; ``fit`` warns where it
                   is nothing
``n_iter_``, ``n_evaluations_``, ``jitter_``   iterations, evaluations, relative jitter of the last Cholesky
``n_copies_``      training rows that were left out as copies of others; what belongs to rows, as ``labels_``,
                   and the bound are those of the others, in their order; models with a kernel
``starts_``        first values that were tried, the best first: ``lengthscale`` in terms of sqrt(d)/2
                   standard deviations, ``noise`` as a share of the variance of y, the ``bound`` there and
                   the one ``climbed`` to, of scaled y, on a sample of the rows where they are many
``log_jacobian_``  what the units of y add to ``elbo_`` and ``trace_``; less it they are those of scaled y

Models share functions, not ancestry: this class only validates, scales and undoes the scaling.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import ClassVar, Literal, ParamSpec, Self, get_args, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from hgpbench.columns import Array, moments
from hgpbench.errors import CopiedRows, NoBetterThanTheMean
from hgpbench.fitting.checks import check_choice
from hgpbench.fitting.filerows import is_stored, kept, left_in_file
from hgpbench.fitting.kernels import AUTO, PARAMETERS, Densities, best, choose, families_of
from hgpbench.fitting.threads import blas_threads
from hgpbench.fitting.values import Values, learned
from hgpbench.gp.kernels import Families, KernelName
from hgpbench.gp.optim import OptimResult
from hgpbench.models import saving
from hgpbench.prediction import Prediction
from hgpbench.repeated import observed
from hgpbench.scaling import Scaling, is_constant

Callback = Callable[[int, int | None, float], None]  # step, total or None, bound
Given = ParamSpec("Given")

JUDGED_ROWS = 500
"""Training rows by which a fit is judged to explain something."""

NOTHING = 0.01
"""Share of the variance that is nothing: on pure noise a fit explains about as much."""
NO_BETTER = "no better than the mean"
"""What is said of such a fit, behind how its search ended."""

Copies = Literal["once", "each"]
COPIES: tuple[Copies, ...] = get_args(Copies)
MANY_COPIES = 0.1
"""Share of the rows beyond which copies are learned from once, unless asked otherwise."""
FEW_COPIES = 0.01
"""Share of the rows that may be copies without a word."""
ONCE = (
    "they are learned from once, as another measurement hardly ever agrees to the last digit: copies='each' "
    "if these did"
)
EACH = (
    "each counts as an observation, and the noise there is called too small. Leave them out (copies='once'), "
    "unless the same target was measured again"
)

TINY = float(np.finfo(float).tiny)

FARTHEST = 1e100
"""Standard deviations from the training rows beyond which a row to predict is no farther."""

FEW_ITERATIONS = 40
"""Of an optimiser, that tell kernels apart."""

LARGEST_UNSCALED = 1e60
"""Spread of a target that is not standardised: squares of variances must not overflow, nor their inverses."""


def refusing(former: Mapping[str, str]) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Have a constructor say what became of a parameter that it no longer takes."""

    def decorate(constructor: Callable[Given, None]) -> Callable[Given, None]:
        @wraps(constructor)
        def checked(*args: Given.args, **given: Given.kwargs) -> None:
            _refuse(former, given)
            constructor(*args, **given)

        return checked

    return decorate


def _refuse(former: Mapping[str, str], given: Iterable[str]) -> None:
    for name in given:
        if name in former:
            raise TypeError(f"there is no parameter {name} any more: it is {former[name]}")


class Estimator(RegressorMixin, BaseEstimator, ABC):
    """A regressor whose predictions are distributions; children write ``_learn`` and ``_moments``."""

    reference: ClassVar[str]
    shorthands: ClassVar[Mapping[str, Callable[[str], str]]] = {}
    """Of parameters for which text may stand: what checks it and gives one text for each setting."""
    former: ClassVar[Mapping[str, str]] = {}
    """Parameters that there are no more, and what they became."""
    trial_rows: ClassVar[int] = 4_000
    """Training rows that decide between kernels, at most: some are fitted to, the others predicted."""
    blockwise: ClassVar[bool] = False
    """Whether inputs may stay in an HDF5 file, from which they are read by blocks."""
    standardize: bool = True
    kernel_: KernelName  # of models that have one
    outcome_: str  # of models that search
    _square: int | None = None  # see ``_matrix_size``

    def set_params(self, **params: object) -> Self:
        """As scikit-learn's, and it says what became of a former parameter."""
        _refuse(self.former, params)
        super().set_params(**params)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, *, callback: Callback | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,); ``callback(step, total, bound)`` hears each step."""
        inputs, target = self._validated(X, y)
        self._check_params()
        inputs, target = self._observed(inputs, target)
        self._check_size(*inputs.shape)
        self._choose_kernels(inputs, target)
        self._scaling = _scaling_of(inputs, target, standardize=self.standardize)
        self._square = self._matrix_size(len(target))
        with blas_threads(self._square):
            self._learn(inputs, target, callback)
            if not get_tags(self).regressor_tags.poor_score:  # by design
                self._judge(inputs, target)
        return self

    def _observed(self, X: Array, y: Array) -> tuple[Array, Array]:
        """The rows to learn from; a word about copies, where they are many and the model learns a noise."""
        if not hasattr(self, "kernel"):
            return X, y
        asked, rows = getattr(self, "copies", "each"), observed(X, y)
        if asked is not None:
            check_choice("copies", asked, COPIES)
        copies = len(y) - len(rows)
        once = copies > MANY_COPIES * len(y) if asked is None else asked == "once"
        self.n_copies_ = copies if once else 0
        if copies > FEW_COPIES * len(y):
            done = ONCE if once else EACH
            warnings.warn(
                f"{copies:,} of {len(y):,} training rows are copies of others, target and all; {done}",
                CopiedRows,
                stacklevel=3,
            )
        return (kept(X, rows), y[rows]) if self.n_copies_ else (X, y)

    def _judge(self, X: Array, y: Array) -> None:
        """Say how much of the training rows the fit explains, and warn where that is nothing."""
        self.explained_ = self._explained(X, y)
        if self.explained_ <= NOTHING:
            if hasattr(self, "outcome_"):
                self.outcome_ = f"{self.outcome_}, {NO_BETTER}"
            warnings.warn(
                f"{type(self).__name__} is {NO_BETTER}: it explains "
                f"{100 * self.explained_:.1f} % of the variance of its own training rows; either the inputs "
                "say nothing about the target, or the fit went wrong",
                NoBetterThanTheMean,
                stacklevel=3,
            )

    def _explained(self, X: Array, y: Array) -> float:
        """The share of the variance of some training rows, spread over all, that the mean explains."""
        rows = slice(None, None, -(-len(y) // JUDGED_ROWS))
        target = self._scaling.target(y[rows])
        mean = self._moments(self._seen(np.asarray(X[rows], dtype=np.float64))).mean
        trivial = target - self._scaling.target(y).mean()
        return 1.0 - float(np.mean((target - mean) ** 2) / max(float(np.mean(trivial**2)), TINY))

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predictive means at the rows of ``X``; with ``return_std`` also the standard deviations of y."""
        prediction = self.predict_dist(X)
        return (prediction.mean, np.sqrt(prediction.var)) if return_std else prediction.mean

    def predict_dist(self, X: ArrayLike) -> Prediction:
        """The predictive distribution of y at the rows of ``X``."""
        check_is_fitted(self)
        return self.predict_seen(validate_data(self, X, dtype=np.float64, order="C", reset=False))

    def predict_seen(self, inputs: Array) -> Prediction:
        """The same at inputs that are known to be valid, of any columns' names."""
        with blas_threads(self._square):
            prediction = self._moments(self._seen(inputs))
        return self._scaling.undo(prediction)

    def save(self, path: str | Path) -> None:
        """Write the fitted model into a file of its own, from which ``hgpbench.load`` makes it again."""
        check_is_fitted(self)
        saving.save(self, Path(path))

    def _seen(self, X: Array) -> Array:
        """Scaled inputs, none so far that squares of distances overflow: the prior reigns long before."""
        if not self.standardize:
            return self._scaling.inputs(X)
        with np.errstate(over="ignore"):
            scaled = self._scaling.inputs(X)
        return np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Training data as finite doubles, at least two rows; one order, so that sums round alike."""
        if self.blockwise and is_stored(X):
            return left_in_file(self, X, y)
        inputs, target = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        return inputs, np.asarray(target, dtype=np.float64)

    @abstractmethod
    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        """Fit to valid data in the user's units; ``_scaling`` is ready."""

    @abstractmethod
    def _moments(self, X: Array) -> Prediction:
        """Predict at scaled inputs, for the scaled target."""

    def smaller(self, n: int, kept: int) -> dict[str, object]:
        """Parameters for a fit to ``kept`` of ``n`` rows that only has to tell settings apart."""
        return {"max_iter": min(self.max_iter, FEW_ITERATIONS)} if hasattr(self, "max_iter") else {}

    def _choose_kernels(self, X: Array, y: Array) -> None:
        """Find out which kernels to use, for models that have some."""
        asked = {name: getattr(self, name) for name in PARAMETERS if hasattr(self, name)}
        if not asked:
            return
        self.kernel_densities_: Densities = {}
        if AUTO in asked.values():
            self.kernel_densities_ = choose(self, asked, X, y, getattr(self, "random_state", None) or 0)
        for name, kernel in asked.items():
            setattr(self, f"{name}_", best(self.kernel_densities_[name]) if kernel == AUTO else kernel)

    @property
    def _families(self) -> Families:
        """The kernels in use."""
        return families_of(self.kernel_, getattr(self, "noise_kernel_", "se"))

    def _check_params(self) -> None:
        """Raise ValueError on a parameter out of range."""

    def _matrix_size(self, n: int) -> int | None:
        """Rows of the largest square matrix for ``n`` training rows; None where the model sees to threads."""
        return None

    def _check_size(self, n: int, d: int) -> None:
        """Raise Refusal on a problem that this model declines by design."""

    def _keep(self, result: OptimResult, n: int) -> None:
        """Store how an optimisation ended; its bound is that of the scaled target."""
        self.log_jacobian_ = constant = self._scaling.log_jacobian(n)
        self.elbo_ = float(result.value) + constant
        self.trace_ = result.trace + np.array([0.0, 0.0, constant])
        self.outcome_ = result.outcome
        self.n_iter_ = result.iterations
        self.n_evaluations_ = result.evaluations
        self.jitter_ = result.jitter

    def _tell(self, values: Values) -> None:
        """Store learned parameters in the user's units."""
        for name, value in learned(values, self._scaling).items():
            setattr(self, name, value)

    def _reporter(self, callback: Callback | None, n: int) -> Callback | None:
        """The callback for an optimiser of the scaled target: hears the bound in the user's units."""
        if callback is None:
            return None
        constant = self._scaling.log_jacobian(n)
        return lambda step, total, bound: callback(step, total, bound + constant)


def _scaling_of(X: Array, y: Array, *, standardize: bool) -> Scaling:
    """The scaling of training rows; with a constant target there is nothing to explain or to predict with."""
    if is_constant(y):
        raise ValueError(
            f"y is constant: its {len(y)} targets are {y[0]:g} up to round-off; there is nothing to learn"
        )
    if standardize:
        return Scaling.of(X, y)
    spread = float(moments(y[:, None])[1][0])
    if not 1.0 / LARGEST_UNSCALED <= spread <= LARGEST_UNSCALED:
        raise ValueError(
            f"the standard deviation of y is {spread:.3g}; without standardize it must lie between "
            f"{1.0 / LARGEST_UNSCALED:.0e} and {LARGEST_UNSCALED:.0e}: rescale y or leave standardize=True"
        )
    return Scaling.identity(X.shape[1])
