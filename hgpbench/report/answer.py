"""The answer that a comparison on one's own table is made for, in a few sentences before any table.

Models are told apart by the log densities that they give the same test rows: the mean difference, and its
standard error from the scatter over rows and over seeds. That speaks of these rows and these fits; the tables
have the stricter tests over seeds.
"""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hgpbench.bench import record
from hgpbench.bench.asked import Asked
from hgpbench.metrics import MARGIN
from hgpbench.report import flags, numbers, summary
from hgpbench.report.cautions import cautions
from hgpbench.report.collect import Experiment
from hgpbench.report.summary import Row, Stat
from hgpbench.units import show_seconds
from hgpbench.words import listed

SIGMAS = 2.0  # standard errors that tell two models apart
SAME = 0.01  # nats a row that nobody needs to tell apart
TRIVIAL = "mean"
MOST_NAMED = 4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """How far a model is behind another one, in nats a row, and the standard error of that."""

    mean: float
    error: float

    @property
    def is_tie(self) -> bool:
        return self.mean < max(SIGMAS * self.error, SAME)

    def __str__(self) -> str:
        return f"{numbers.plain(self.mean, 2)} ± {numbers.plain(self.error, 2)}"


@dataclass(frozen=True)
class Seen:
    """What one run said of its test rows: log densities, and what is needed to ask about its noise."""

    density: Array
    constant: Array  # log densities with the same means and the best constant variance of other rows


def answer(experiment: Experiment, asked: Asked) -> tuple[str, ...]:
    """Sentences: which model, who is as good, whose intervals lie, whether noise varies, cost, what next."""
    rows = {row.label: row for row in summary.rows(experiment)}
    most = max((row.done for row in rows.values()), default=0)
    ranked = sorted(
        (row for row in rows.values() if row.done == most and most and math.isfinite(_msll(row))), key=_msll
    )
    if not ranked:
        return ('No model could be fitted; the reasons are under "Runs without a score".', *asked.cut)
    best = ranked[0]
    if _msll(best) > -MARGIN:
        return (_nothing(best, ranked), *_warned(experiment, asked), *_cut(asked))
    seen = {row.label: _seen(experiment, row.label) for row in ranked}
    gaps = {row.label: _gap(seen[best.label], seen[row.label]) for row in ranked[1:]}
    ties = [label for label, gap in gaps.items() if gap.is_tie]
    return (
        _winner(best, asked),
        _rivals(gaps, ties),
        _calibration(experiment, best, rows),
        _noise(best.label, seen[best.label]),
        _cost(experiment, rows, best.label, ties),
        *_warned(experiment, asked),
        *_fewer(experiment, asked),
        *_cut(asked),
        _next(asked, ranked),
    )


def _msll(row: Row) -> float:
    return row.stats["msll"].mean


def _nothing(best: Row, rows: list[Row]) -> str:
    closest = min(rows, key=lambda row: row.stats["smse"].mean)
    if closest.stats["smse"].mean < 1 - MARGIN:
        return (
            "No model gives better densities than the mean and the variance of the target: the best "
            f"MSLL, of {best.label}, is {numbers.mean_sd(best.stats['msll'])}. Yet {closest.label} explains "
            f"{100 * (1 - closest.stats['smse'].mean):.0f} % of the variance of new rows (SMSE "
            f"{numbers.mean_sd(closest.stats['smse'])}): its means can be used, but some rows are far "
            "outside its intervals: what is odd about them? Filled cells, say?"
        )
    return (
        f"No model knows more than the mean and the variance of the target: the best, {best.label}, has an "
        f"MSLL of {numbers.mean_sd(best.stats['msll'])}. Either the inputs say nothing about it, or the rows "
        "are too few."
    )


def _winner(best: Row, asked: Asked) -> str:
    return (
        f"Best: {best.label}. It gives new rows of {asked.target} the highest density (MSLL "
        f"{numbers.mean_sd(best.stats['msll'])}; 0 is the mean and variance of the training rows, lower is "
        "better) "
        f"and explains {100 * max(0.0, 1 - best.stats['smse'].mean):.0f} % of their variance "
        f"(SMSE {numbers.mean_sd(best.stats['smse'])}), over {best.done} seeds."
    )


def _rivals(gaps: Mapping[str, Gap], ties: list[str]) -> str:
    behind = [f"{label} {gap}" for label, gap in gaps.items() if label not in ties and label != TRIVIAL]
    near = ", ".join(f"{label} ({gaps[label]} nats a row behind)" for label in ties)
    first = f"As good, as far as these rows tell: {near}." if ties else "No other model is as good."
    rest = f" Behind, in nats a row: {', '.join(behind[:MOST_NAMED])}." if behind else ""
    return first + rest


def _calibration(experiment: Experiment, best: Row, rows: Mapping[str, Row]) -> str:
    own = (
        f"Its 95 % intervals hold {100 * best.stats['coverage95'].mean:.1f} % of new rows "
        f"(calibration error {100 * best.stats['calibration'].mean:.2g} %)."
    )
    amiss = {label: flags.calibration_error(experiment, label) for label in rows if label != TRIVIAL}
    told = [
        f"{label}, by {100 * error:.2g} %, too {'narrow' if flags.is_narrow(experiment, label) else 'wide'}"
        for label, error in amiss.items()
        if error is not None
    ]
    return f"{own} Badly calibrated: {'; '.join(told)}." if told else f"{own} No model is badly calibrated."


def _noise(label: str, runs: Mapping[int, Seen]) -> str:
    """Whether a variance for each row is worth having, by the best model's own means."""
    gain = _difference([each.density - each.constant for each in runs.values()])
    if gain.mean > max(SIGMAS * gain.error, SAME):
        return (
            f"The noise varies: with the means of {label}, a variance for each row is worth {gain} nats "
            "a row more than the best constant one."
        )
    if label == TRIVIAL or gain.mean < -max(SIGMAS * gain.error, SAME):
        return (
            f"The noise: with the means of {label}, a constant variance would do better than what it says "
            f"of each row ({gain} nats)."
        )
    return (
        f"No sign of varying noise: with the means of {label}, a variance for each row is worth {gain} nats "
        "a row against the best constant one; a model of constant noise will do."
    )


def _cost(experiment: Experiment, rows: Mapping[str, Row], best: str, ties: list[str]) -> str:
    done = experiment.finished[0]
    said = f"Cost of {best}: {_costs(rows[best], done.n_test or 1)}, with {done.n_train:,} training rows"
    cheaper = min(ties, key=lambda label: rows[label].stats["fit_seconds"].mean, default=None)
    if cheaper is None or rows[cheaper].stats["fit_seconds"].mean >= rows[best].stats["fit_seconds"].mean:
        return f"{said}."
    return f"{said}; the cheapest that is as good, {cheaper}: {_costs(rows[cheaper], done.n_test or 1)}."


def _costs(row: Row, n_test: int) -> str:
    fit, predict = row.stats["fit_seconds"].mean, row.stats["predict_seconds"].mean
    memory = row.stats["peak_memory_bytes"]
    peak = f", {memory.mean / 1e6:,.0f} MB at most" if memory.n else ""
    return f"fit {show_seconds(fit)}, {numbers.plain(1e6 * predict / n_test, 2)} µs a row to predict{peak}"


def _warned(experiment: Experiment, asked: Asked) -> tuple[str, ...]:
    """Rows that are copies, and test rows with the inputs of training rows."""
    told = f"Beware: {asked.copies:,} of the {asked.rows:,} rows are copies of another row."
    copies = (told,) if asked.copies else ()
    seen = [f"Beware: {sentence}" for sentence in cautions(experiment) if "exactly the inputs" in sentence]
    return (*copies, *seen)


def _fewer(experiment: Experiment, asked: Asked) -> tuple[str, ...]:
    """That a longer budget would use more of the table, or has room for models that may be the best."""
    rows = experiment.finished[0].n_train or 0
    if rows >= asked.whole and not asked.missed:
        return ()
    told = f"this is on {rows:,} of {asked.whole:,} training rows, where other models may be the best"
    if asked.missed:
        are = "is" if len(asked.missed) == 1 else "are"
        told = f"{listed(asked.missed, MOST_NAMED)} {are} not in the table, as good as any with fewer rows"
    longer = f"--budget {_round(asked.enough)}" if asked.enough else "a longer --budget"
    return (f"Beware: for want of time {told}; {longer} should do for all rows.",)


def _round(seconds: float) -> str:
    """A duration as one types it, in minutes or hours."""
    return f"{math.ceil(seconds / 60)}min" if seconds < 7_200 else f"{math.ceil(seconds / 3_600)}h"


def _cut(asked: Asked) -> tuple[str, ...]:
    chosen = (f"Chosen by a look at fewer rows: {'; '.join(asked.chosen)}.",) if asked.chosen else ()
    return (*chosen, f"Left out: {'; '.join(asked.cut)}.") if asked.cut else chosen


def _next(asked: Asked, ranked: list[Row]) -> str:
    """The command for the best model that can be saved; by groups, the column of groups is no input."""
    savable = [row for row in ranked if row.label not in asked.peers and row.label != TRIVIAL]
    if not savable:
        return "Next: none of these models can be saved; compare with others."
    row, best = savable[0], ranked[0]
    if asked.group or not asked.folder:
        words = ["hgpbench", "fit", asked.table, "--target", asked.target, "--model", row.model]
        words += ["--drop", asked.group] if asked.group else []
        words += shlex.split(asked.options)
    else:
        words = ["hgpbench", "fit", "--from", asked.folder, "--label", row.label]
    other = ""
    if row is not best:
        other = f" ({best.label}, another package's, cannot be saved; of those that can this one is the best)"
    return (
        f"Next: `{shlex.join([*words, '-o', 'model.h5'])}` fits {row.label} to all {asked.rows:,} rows"
        f"{other}, and `hgpbench predict model.h5 new.csv -o predictions.csv` predicts new ones."
    )


def _seen(experiment: Experiment, label: str) -> dict[int, Seen]:
    """Log densities of the test rows of every finished run, by seed."""
    found = {}
    for run in experiment.of(label):
        if run.digest is None:
            continue
        arrays = record.read_arrays(run.folder)
        density = np.maximum(arrays.prediction.logpdf(arrays.y), -1e6)  # a catastrophe, but a number
        residual = arrays.y - arrays.prediction.mean
        found[run.entry.seed] = Seen(density, _constant(residual))
    return found


def _constant(residual: Array) -> Array:
    """Log densities with a constant variance, of either half of the rows by the residuals of the other."""
    density = np.empty_like(residual)
    for rows, others in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        of = residual[others] if residual[others].size else residual[rows]
        variance = max(float(np.mean(of**2)), float(np.finfo(float).tiny))
        density[rows] = -0.5 * (math.log(2 * math.pi * variance) + residual[rows] ** 2 / variance)
    return density


def _gap(best: Mapping[int, Seen], other: Mapping[int, Seen]) -> Gap:
    return _difference([best[seed].density - other[seed].density for seed in best if seed in other])


def _difference(by_seed: list[Array]) -> Gap:
    """The mean over rows and seeds; its error is the larger of what rows and what seeds tell."""
    if not by_seed:
        return Gap(math.inf, 0.0)
    means = Stat.of(float(each.mean()) for each in by_seed)
    of_rows = math.sqrt(sum(float(each.var()) / max(len(each), 1) for each in by_seed)) / len(by_seed)
    of_seeds = means.sd / math.sqrt(means.n) if means.n > 1 else 0.0
    return Gap(means.mean, max(of_rows, of_seeds))
