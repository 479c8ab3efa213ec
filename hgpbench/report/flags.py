"""What must not pass for fine in a table: a fit no better than the mean, intervals that do not hold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hgpbench.metrics import LEVELS, fails
from hgpbench.report.collect import Experiment
from hgpbench.report.summary import Stat

MISCALIBRATED = 0.1
"""Calibration error of a normal whose standard deviation is a quarter too small, or a third too large."""

_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class Flag:
    """Something amiss with a label: its words, and the sign that points from tables to the note."""

    words: str
    sign: str


NO_BETTER = Flag("no better than the mean", "†")
BADLY_CALIBRATED = Flag("badly calibrated", "‡")
MIXED = Flag("made by different code or data", "§")


def flags(experiment: Experiment, label: str) -> list[Flag]:
    """What is amiss with a label, by the scores of its finished runs."""
    found = [NO_BETTER] if no_better(experiment, label) else []
    found += [BADLY_CALIBRATED] if calibration_error(experiment, label) is not None else []
    return [*found, MIXED] if label in experiment.mixed else found


def signed(experiment: Experiment, label: str) -> str:
    """The label with the signs of its flags."""
    return " ".join([label, *(flag.sign for flag in flags(experiment, label))])


def no_better(experiment: Experiment, label: str) -> dict[int, float]:
    """Seeds whose SMSE is no better than the trivial predictor's, which itself is not blamed for that."""
    done = experiment.done(label)
    judged = {seed: digest.scores for seed, digest in done.items() if not is_trivial(digest.scores)}
    return {seed: scores["smse"] for seed, scores in judged.items() if fails(scores["smse"])}


def calibration_error(experiment: Experiment, label: str) -> float | None:
    """The mean calibration error where it is large, and larger than few test rows make it by chance."""
    found = Stat.of(digest.scores["calibration"] for digest in experiment.done(label).values()).mean
    rows = min((run.digest.rows for run in experiment.of(label) if run.digest is not None), default=0)
    # A calibrated predictor has 0.32/sqrt(rows) on average, and 1/sqrt(rows) once in a thousand times.
    return found if rows and found > max(MISCALIBRATED, 1 / math.sqrt(rows)) else None


def is_narrow(experiment: Experiment, label: str) -> bool:
    """Whether intervals hold fewer targets than they should, over all levels."""
    covered = [
        digest.scores[f"coverage{percent}"] - percent / 100
        for digest in experiment.done(label).values()
        for percent in LEVELS
    ]
    return sum(covered) < 0


def is_trivial(scores: Mapping[str, float]) -> bool:
    """Whether a run is the trivial predictor, by scores that are exact for it."""
    return abs(scores["msll"]) <= _ROUND_OFF and abs(scores["interval95"] - 1) <= _ROUND_OFF
