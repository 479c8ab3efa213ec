"""What a run says of the noise, in a few numbers: how it varies, and how near it comes to a known truth."""

import numpy as np
from numpy.typing import NDArray

from hgpbench import metrics
from hgpbench.bench.record import Arrays
from hgpbench.prediction import Prediction

Array = NDArray[np.float64]
CYCLE = (8.0, 14.0)  # periods, in units of the input: those of the sun, in years


def facts(arrays: Arrays, train_mean: float, train_var: float) -> dict[str, float]:
    """Numbers by name; one that cannot be said of this run is absent."""
    prediction, extras = arrays.prediction, arrays.extras
    found = {}
    if np.all(prediction.var > 0):
        found["var_spread"] = _spread(prediction.var)
    if np.all(prediction.noise_var > 0):
        found["noise_var"] = float(np.mean(prediction.noise_var))
        found["noise_spread"] = _spread(prediction.noise_var)
    if prediction.f_var is not None and train_var > 0:
        found["latent_var"] = float(np.mean(prediction.f_var)) / train_var
    if "X_test" in extras and extras["X_test"].shape[1] == 1:
        found |= _cycle(extras["X_test"][:, 0], arrays.y, prediction.mean)
        found |= _bend(extras["X_test"][:, 0], prediction.mean, train_var)
    if "truth_mean" in extras and np.all(extras.get("truth_noise_var", 0.0) > 0):
        mean, noise_var = extras["truth_mean"], extras["truth_noise_var"]
        truth = Prediction.gaussian(mean, np.zeros_like(mean), noise_var)
        found["truth_noise_var"] = float(np.mean(noise_var))
        found["truth_smse"] = metrics.smse(arrays.y, truth, train_mean, train_var)
        found["truth_msll"] = metrics.msll(arrays.y, truth, train_mean, train_var)
        found |= _against(prediction, mean, noise_var)
    return found


def _against(prediction: Prediction, mean: Array, noise_var: Array) -> dict[str, float]:
    """How near a prediction comes to the true function and the true noise variance."""
    found = {}
    if np.var(mean) > 0:
        found["mean_error"] = float(np.mean((prediction.mean - mean) ** 2) / np.var(mean))
    if np.all(prediction.var > 0):
        found["var_correlation"] = _correlation(prediction.var, noise_var)
        found["var_log_error"] = _log_error(prediction.var, noise_var)
        found["var_log_bias"] = float(np.mean(np.log(prediction.var / noise_var)))
        if prediction.f_var is not None and np.all(prediction.f_var > 0):
            found["latent_share"] = float(np.mean(prediction.f_var / prediction.var))
            found["latent_correlation"] = _correlation(prediction.f_var, noise_var)
    return found


def _cycle(x: Array, y: Array, mean: Array) -> dict[str, float]:
    """The share that a mean explains of what swings with the periods of a cycle, at even steps of one input.

    A running mean over several periods has none of it, however small its squared error.
    """
    order = _in_order(x)
    if order is None:
        return {}
    frequencies = np.fft.rfftfreq(len(x), float(np.ptp(x)) / (len(x) - 1))
    band = (frequencies >= 1 / CYCLE[1]) & (frequencies <= 1 / CYCLE[0])
    swings, errors = (np.abs(np.fft.rfft(values[order])[band]) ** 2 for values in (y, y - mean))
    return {"cycle": float(1 - errors.sum() / swings.sum())} if swings.sum() > 0 else {}


def _bend(x: Array, mean: Array, train_var: float) -> dict[str, float]:
    """The sharpest turn of a mean between three even steps of one input, in deviations of the target.

    Of a smooth mean it falls with the square of the step; where the mean jumps it is the jump itself.
    """
    even = _in_order(x)
    if even is None or train_var <= 0:
        return {}
    return {"bend": float(np.abs(np.diff(mean[even], n=2)).max() / np.sqrt(train_var))}


def _in_order(x: Array) -> NDArray[np.intp] | None:
    """The order of inputs that lie at even steps; None where they do not."""
    order = np.argsort(x, kind="stable")
    steps = np.diff(x[order])
    return None if len(x) < 3 or steps.min() <= 0 or np.ptp(steps) > 1e-6 * steps.mean() else order


def _spread(variances: Array) -> float:
    """Standard deviation of the log: 0.1 is a variance that changes by some ten per cent."""
    return float(np.std(np.log(variances)))


def _correlation(variances: Array, truth: Array) -> float:
    """Correlation of the logs; a constant follows nothing, so it has none."""
    a, b = np.log(variances), np.log(truth)
    if min(np.std(a), np.std(b)) <= 1e-9:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def _log_error(variances: Array, truth: Array) -> float:
    """Root mean square of the log ratio: log 2 is a variance that is off by a factor of two."""
    return float(np.sqrt(np.mean(np.log(variances / truth) ** 2)))
