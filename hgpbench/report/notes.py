"""What a reader must know to trust a table: data, split, units, machine, versions."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from hgpbench import units
from hgpbench.bench.record import Record
from hgpbench.report import compare, summary
from hgpbench.report.collect import Experiment

LONG_ENOUGH = 1.0  # seconds of a fit, for its processor time to say how much of a core it had
WHOLE_CORE = 0.9
NOTHING = 0.01  # share of the variance of its training rows that a model may explain and be no model
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def notes(experiment: Experiment, added: Sequence[str] = ()) -> list[str]:
    """Notes below the tables of an experiment, each one sentence or two; those added before the machine's."""
    lines = [data(experiment), _protocol(experiment), *_columns(experiment), *_marking(experiment)]
    lines += _explaining_nothing(experiment)
    made = [*dates(experiment), *machines(experiment), *_company(experiment), *sources(experiment)]
    return [*lines, *added, *made]


def target_name(experiment: Experiment) -> str:
    """Name of the target column, or plain y."""
    return next((str(r.dataset["target"]) for r in experiment.finished if r.dataset.get("target")), "y")


def dataset_name(experiment: Experiment) -> str:
    """Dataset and variant as the user writes them."""
    name, variant = experiment.manifest.dataset["name"], experiment.manifest.dataset.get("variant")
    return f"{name}:{variant}" if variant else str(name)


def data(experiment: Experiment) -> str:
    """Dataset, sizes and split."""
    every = {(r.n_train, r.n_test, r.n_inputs) for r in experiment.finished}
    sizes = sorted((n, t, d) for n, t, d in every if n is not None and t is not None and d is not None)
    said = "; ".join(f"{n:,} training rows, {t:,} test rows, {_inputs(d)}" for n, t, d in sizes)
    split = ", ".join(
        f"{key} {value}" for key, value in experiment.manifest.split.items() if value is not None
    )
    asked = f" (split as asked for: {split})" if split else ""
    return f"Data: {dataset_name(experiment)}{f', {said}' if said else ''}{asked}."


def _inputs(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def _protocol(experiment: Experiment) -> str:
    done = experiment.finished
    if not done:
        return "No run is done yet."
    kinds = {
        "fresh": "Each seed draws its own training and test data.",
        "resampled": "Each seed draws its own split.",
        "fixed": "Every seed has the same training and test rows.",
    }
    in_sample = " Scores are on the training rows themselves." if done[0].split.get("test") == "train" else ""
    return (
        f"{kinds[compare.sampling(done[0])]}{in_sample} Inputs and target were standardised on training rows "
        f"only; RMSE, CRPS and width are in the units of the target ({target_name(experiment)}). "
        "Values are mean ± standard deviation over seeds."
    )


def _columns(experiment: Experiment) -> list[str]:
    if not experiment.finished:
        return []
    trivial = "SMSE is 1 and MSLL is 0 for the mean and variance of the training targets; lower is better."
    intervals = (
        "The calibration error is the mean absolute difference between the share of targets inside and the "
        "level, over central intervals of 10, 20, ..., 90 and 95 %. The interval score is that of the 95 % "
        "interval (Gneiting and Raftery, 2007): its width and 40 times the distance of a target outside, "
        "divided by the same of the trivial predictor, for which it is 1; lower is better."
    )
    if not experiment.has_mixtures:
        return [trivial, intervals]
    return [
        trivial,
        intervals,
        "MSLL (exact), NLPD, CRPS and the intervals are of the model's own predictive distribution, a normal "
        "mixture where it has a noise process; MSLL (Gaussian) replaces it by a normal of the same mean and "
        "variance, as in the paper.",
    ]


def _marking(experiment: Experiment) -> list[str]:
    rows = summary.rows(experiment)
    most = max((row.done for row in rows), default=0)
    fewer = [row.label for row in rows if 0 < row.done < most]
    if len(rows) < 2 or most == 0:
        return []
    besides = f"; {', '.join(fewer)} did not take part, having fewer finished runs" if fewer else ""
    return [
        "The best mean of each score is marked, among models that beat the mean and variance of the training "
        "targets by 0.01: in SMSE, but for MSLL and NLPD in MSLL, and for the interval score in itself"
        f"{besides}."
    ]


def _explaining_nothing(experiment: Experiment) -> list[str]:
    """Runs whose model explained nothing of its own training rows, though its fit may have converged."""
    found = [record.label for record in experiment.finished if _explained(record) <= NOTHING]
    counts = [(label, found.count(label)) for label in experiment.labels if label in found]
    said = ", ".join(f"{label} ({count} {'run' if count == 1 else 'runs'})" for label, count in counts)
    return [f"No better than the mean on its own training rows: {said}."] if said else []


def _explained(record: Record) -> float:
    """The share of the variance of training rows; all of it where the record does not say."""
    share = record.fit.get("explained")
    return float(share) if isinstance(share, int | float) else 1.0


def dates(experiment: Experiment) -> list[str]:
    """The days on which the commands were given that made the runs; records of older versions do not tell."""
    told = (str(record.provenance.get("begun", "")) for record in experiment.finished)
    days = sorted({found[0] for text in told if (found := _DAY.match(text))})
    if not days:
        return []
    return [f"Runs of {days[0]}." if len(days) == 1 else f"Runs of {days[0]} to {days[-1]}."]


def machines(experiment: Experiment) -> list[str]:
    """Machine and threads; how many runs each had where there were several."""
    by_machine = _grouped(experiment, lambda record: _machine(record.provenance))
    if not by_machine:
        return []
    if len(by_machine) == 1:
        return [f"Machine: {next(iter(by_machine))}."]
    said = "; ".join(f"{machine} ({count} runs)" for machine, count in by_machine.items())
    mixed = [label for label in experiment.labels if len(_label_machines(experiment, label)) > 1]
    across = f" Runs of one model on different machines or threads: {', '.join(mixed)}." if mixed else ""
    return [f"Times are not comparable throughout: runs were done on {said}.{across}"]


def _company(experiment: Experiment) -> list[str]:
    """Whether runs of one thread had their core to themselves, judged by processor and wall-clock time."""
    alone = [
        record.timings
        for record in experiment.finished
        if record.provenance.get("threads") == 1
        and record.timings.get("fit_wall", 0.0) > LONG_ENOUGH
        and "fit_cpu" in record.timings
    ]
    if not alone:
        return []
    share = sum(timings["fit_cpu"] for timings in alone) / sum(timings["fit_wall"] for timings in alone)
    if share >= WHOLE_CORE:
        return []
    return [
        f"Other work ran beside these runs: fits had {share:.0%} of a core on average. Wall-clock times are "
        "longer for it; processor times tell more."
    ]


def _label_machines(experiment: Experiment, label: str) -> set[str]:
    return {_machine(run.record.provenance) for run in experiment.of(label) if run.record and run.digest}


def _machine(provenance: dict[str, Any]) -> str:
    machine = _mapping(provenance, "machine")
    parts = [str(machine["cpu"])] if "cpu" in machine else []
    if isinstance(machine.get("memory"), int | float):
        parts.append(f"{units.show_bytes(machine['memory'])} memory")
    if "os" in machine:
        parts.append(str(machine["os"]))
    threads = provenance.get("threads")
    if threads is not None:
        parts.append("1 thread" if threads == 1 else f"{threads} threads")
    return ", ".join(parts)


def sources(experiment: Experiment) -> list[str]:
    """Versions; more than one line only where runs differ in them."""
    by_version = _grouped(experiment, lambda record: _versions(record.provenance))
    if not by_version:
        return []
    if len(by_version) == 1:
        return [f"Software: {next(iter(by_version))}."]
    said = "; ".join(f"{versions} ({count} runs)" for versions, count in by_version.items())
    return [f"Runs were done with different software: {said}."]


def _versions(provenance: dict[str, Any]) -> str:
    versions = _mapping(provenance, "versions")
    shown = [
        f"{name} {versions[name]}" for name in ("hgpbench", "python", "numpy", "scipy") if name in versions
    ]
    source = _mapping(provenance, "source")
    if source.get("git_sha"):
        changed = " with uncommitted changes" if source.get("git_dirty") else ""
        shown.append(f"commit {str(source['git_sha'])[:10]}{changed}")
    return ", ".join(shown)


def _mapping(provenance: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of what a record says of its origin; other versions may say it in another way, or not."""
    part = provenance.get(name)
    return part if isinstance(part, dict) else {}


def _grouped(experiment: Experiment, key: Callable[[Record], str]) -> dict[str, int]:
    """How many finished runs share each description, the most frequent first; empty descriptions left out."""
    counts: dict[str, int] = {}
    for record in experiment.finished:
        said = key(record)
        if said:
            counts[said] = counts.get(said, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
