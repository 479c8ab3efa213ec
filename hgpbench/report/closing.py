"""What the last lines of a run say of its fits: from stored predictions, without scoring them in full."""

from collections.abc import Iterable
from pathlib import Path

from hgpbench import metrics
from hgpbench.bench import record
from hgpbench.errors import RecordError
from hgpbench.report.cautions import unskilled
from hgpbench.report.flags import is_trivial

Planned = tuple[str, int, Path]  # label, seed, folder

_EXACT = ("msll", "interval95")  # of the trivial predictor, by which it is known


def no_better(runs: Iterable[Planned]) -> list[str]:
    """Each label with finished runs that are no better than the mean, in words."""
    scores: dict[str, dict[int, float]] = {}
    for label, seed, folder in runs:
        smse = _smse(folder)
        if smse is not None:
            scores.setdefault(label, {})[seed] = smse
    told = []
    for label, found in scores.items():
        bad = {seed: smse for seed, smse in found.items() if metrics.fails(smse)}
        if bad:
            told.append(unskilled(label, bad, len(found)))
    return told


def _smse(folder: Path) -> float | None:
    """The SMSE of a finished run; None where there is none, or the run is the trivial predictor's own."""
    run = record.find(folder)
    if run is None or run.status != "done" or run.train_mean is None or run.train_var is None:
        return None
    try:
        arrays = record.read_arrays(folder)
    except RecordError:  # a report will name it
        return None
    asked = arrays.y, arrays.prediction, run.train_mean, run.train_var
    smse = metrics.smse(*asked)
    if not metrics.fails(smse):
        return smse
    exact = {name: metrics.METRICS[name].function(*asked) for name in _EXACT}
    return None if is_trivial(exact) else smse
