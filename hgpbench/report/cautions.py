"""What a reader must know before admiring a table: fits that are no fits, intervals that lie, leaked rows."""

from hgpbench.metrics import MARGIN
from hgpbench.report import flags
from hgpbench.report.collect import Experiment
from hgpbench.report.numbers import plain
from hgpbench.report.tables import seed_span


def cautions(experiment: Experiment) -> list[str]:
    """One sentence for each kind of trouble that there is; all but the last explain signs in the tables."""
    return [
        *_no_better(experiment),
        *_badly_calibrated(experiment),
        *_mixed(experiment),
        *_seen(experiment),
    ]


def _no_better(experiment: Experiment) -> list[str]:
    found = {label: flags.no_better(experiment, label) for label in experiment.labels}
    told = [unskilled(label, s, len(experiment.done(label))) for label, s in found.items() if s]
    if not told:
        return []
    return [
        f"{flags.NO_BETTER.sign} No better than predicting the mean of the training targets, whose SMSE is 1 "
        f"({1 - MARGIN:g} or more counts as that): {'; '.join(told)}."
    ]


def unskilled(label: str, scores: dict[int, float], done: int) -> str:
    """A label, its mean SMSE on the seeds that are no better than the mean, and which these are."""
    seeds = "" if len(scores) == done else f" on {len(scores)} of {done} seeds ({seed_span(scores)})"
    return f"{label} with {plain(sum(scores.values()) / len(scores))}{seeds}"


def _badly_calibrated(experiment: Experiment) -> list[str]:
    found = {label: flags.calibration_error(experiment, label) for label in experiment.labels}
    told = [
        f"{label} by {_percent(error)}, mostly too {_way(experiment, label)}"
        for label, error in found.items()
        if error is not None
    ]
    if not told:
        return []
    return [
        f"{flags.BADLY_CALIBRATED.sign} Intervals that do not hold what they say (a calibration error above "
        f"{_percent(flags.MISCALIBRATED)}, as from standard deviations a quarter too small or a third too "
        f"large): {'; '.join(told)}."
    ]


def _way(experiment: Experiment, label: str) -> str:
    return "narrow" if flags.is_narrow(experiment, label) else "wide"


def _mixed(experiment: Experiment) -> list[str]:
    """Labels whose rows stand in one table although different code or data made them."""
    labels = [label for label in experiment.labels if label in experiment.mixed]
    if not labels:
        return []
    return [
        f"{flags.MIXED.sign} Runs of the same model by different code, or on different data, stand together: "
        f"{', '.join(labels)}. What differs may be the version and not the model."
    ]


def _seen(experiment: Experiment) -> list[str]:
    """Test rows that are copies of training rows; where all are meant to be, the protocol says so."""
    done = [record for record in experiment.finished if record.split.get("test") != "train"]
    shares = [record.seen_share for record in done if record.seen_share is not None]
    if not shares or max(shares) <= 0:
        return []
    low, mean, high = (_percent(each) for each in (min(shares), sum(shares) / len(shares), max(shares)))
    span = "" if low == high else f" ({low} to {high} by seed)"
    return [
        f"{mean} of the test rows{span} have exactly the inputs of a training row: a model that remembers "
        "these does better here than on new rows."
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
