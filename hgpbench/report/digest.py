"""What a report needs of one run's arrays, small enough to keep: ``scores.json`` beside the record.

Scoring many mixtures takes time (a root search and pairs of components per point), so the outcome is kept
beside the run, together with the hash of the record, of the code that made it and of its own content; when
one of them differs it is made afresh. Deleting the file is always safe.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hgpbench import files, metrics
from hgpbench.bench import record
from hgpbench.bench.record import Arrays, Record
from hgpbench.bench.stored import checked
from hgpbench.errors import RecordError
from hgpbench.report.facts import facts

SCORES = "scores.json"
PIT_BINS = 200  # even, so that every central interval of k per cent is a whole number of bins
MOST_POINTS = 2**53  # of a test: a count beyond it is no count
NOISE_QUANTILES = 401
TRACE_POINTS = 400


@dataclass(frozen=True)
class Digest:
    """The scores of one run and the few numbers behind its curves."""

    scores: dict[str, float]
    is_mixture: bool
    pit: tuple[int, ...]  # counts of the probability integral transform in PIT_BINS equal bins
    log_noise: tuple[float, ...]  # even quantiles of the log noise variance, lowest first
    log_noise_truth: tuple[float, ...]  # the same of the true noise variance, where it is known
    trace: tuple[tuple[float, float, float], ...]  # iteration, seconds, bound; thinned
    facts: dict[str, float]  # see report.facts
    log_latent: tuple[float, ...] = ()  # even quantiles of the log variance of f

    @property
    def rows(self) -> int:
        """Test rows."""
        return sum(self.pit)

    @property
    def has_constant_noise(self) -> bool:
        """Whether the noise variance is one number for all test points."""
        return bool(self.log_noise) and self.log_noise[-1] - self.log_noise[0] <= 1e-9


def of_run(folder: Path, run: Record) -> Digest:
    """The digest of a finished run: the kept one where it still holds, else computed and kept."""
    key = {"record": files.sha256_of(folder / record.RECORD), "code": _code_hash()}
    kept = _read(folder / SCORES, key)
    if kept is not None:
        return kept
    digest = compute(run, record.read_arrays(folder))
    try:
        body = {**key, **asdict(digest)}
        text = json.dumps({**body, "checksum": files.checksum(body)})
        files.write_text(folder / SCORES, text + "\n")
    except OSError:  # someone else's results, or a full disk: the report does not depend on keeping it
        return digest
    return digest


def compute(run: Record, arrays: Arrays) -> Digest:
    """Score a run and reduce its arrays."""
    if run.train_mean is None or run.train_var is None:
        raise RecordError("the record lacks the mean and variance of the training targets")
    if not (math.isfinite(run.train_mean) and 0 <= run.train_var < math.inf):
        raise RecordError("the mean and variance of the training targets are no such numbers")
    prediction = metrics.Remembering.of(arrays.prediction)  # scores and counts ask for the same
    if not all(np.all(np.isfinite(values)) for values in prediction.arrays().values()):
        raise RecordError("the predictions are not all finite")
    if arrays.y.size == 0 or arrays.y.shape != prediction.mean.shape:
        raise RecordError("the predictions and the test targets do not match")
    return Digest(
        scores=metrics.score(arrays.y, prediction, run.train_mean, run.train_var),
        is_mixture=prediction.is_mixture,
        pit=_pit_counts(prediction.cdf(arrays.y)),
        log_noise=_log_quantiles(prediction.noise_var),
        log_noise_truth=_log_quantiles(arrays.extras.get("truth_noise_var", np.empty(0))),
        trace=_thin(arrays.trace),
        facts=facts(arrays, run.train_mean, run.train_var),
        log_latent=_log_quantiles(np.empty(0) if prediction.f_var is None else prediction.f_var),
    )


def _pit_counts(pit: NDArray[np.float64]) -> tuple[int, ...]:
    counts, _ = np.histogram(np.clip(pit, 0.0, 1.0), bins=PIT_BINS, range=(0.0, 1.0))
    return tuple(int(count) for count in counts)


def _log_quantiles(variances: NDArray[np.float64]) -> tuple[float, ...]:
    """Even quantiles of the log variance over the points where it is positive; empty where none is."""
    positive = variances[variances > 0]
    if positive.size == 0:
        return ()
    return tuple(np.quantile(np.log(positive), np.linspace(0, 1, NOISE_QUANTILES)).tolist())


def _thin(trace: NDArray[np.float64] | None) -> tuple[tuple[float, float, float], ...]:
    """At most TRACE_POINTS rows, the first and the last among them."""
    if trace is None or len(trace) == 0:
        return ()
    rows = np.unique(np.linspace(0, len(trace) - 1, min(len(trace), TRACE_POINTS)).round().astype(int))
    return tuple((float(i), float(s), float(b)) for i, s, b in trace[rows])


def _read(path: Path, key: dict[str, str]) -> Digest | None:
    try:
        body = files.read_json(path)
        if not isinstance(body, dict) or body.pop("checksum", None) != files.checksum(body):
            return None
        if any(body.get(name) != value for name, value in key.items()):
            return None
        kept = checked(Digest, body)
    except (OSError, ValueError):
        return None
    # The checksum is no secret: what tables and plots rely on is looked at as well.
    counts = len(kept.pit) == PIT_BINS and all(0 <= count <= MOST_POINTS for count in kept.pit)
    return kept if counts and kept.scores.keys() >= metrics.METRICS.keys() else None


@cache
def _code_hash() -> str:
    """Hash of the sources that decide a score: nobody has to remember to raise a version."""
    package = Path(metrics.__file__).parent
    sources = ("metrics.py", "prediction.py", "gp/predictive.py", "report/digest.py", "report/facts.py")
    return hashlib.sha256(b"".join((package / name).read_bytes() for name in sources)).hexdigest()
