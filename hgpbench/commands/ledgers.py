"""What commands do with a ledger: the plans behind it, what in it is stale, and which runs it has already."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hgpbench import config, shipped
from hgpbench.bench import estimators, locks
from hgpbench.config import QUICK
from hgpbench.errors import ConfigError, RecordError
from hgpbench.report import ledger
from hgpbench.report.assemble import Reader
from hgpbench.report.collect import Collection, Experiment, Progress
from hgpbench.report.ledger import Outcome, Plan
from hgpbench.report.lines import Line
from hgpbench.words import listed

LOCK = ".ledger.lock"


def known(folder: Path) -> frozenset[str]:
    """The identities of the runs that a ledger has finished: what was asked, and by which code."""
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such folder of lines; `hgpbench export RESULTS {folder}` makes one")
    return frozenset(
        line.record.identity
        for name in ledger.names(folder)
        for line in ledger.read(folder / f"{name}{ledger.SUFFIX}")
        if line.is_done
    )


def plan(name: str) -> Plan:
    """What the shipped experiment of that name should have run; nothing of one that is not shipped."""
    base = name.removesuffix(QUICK)
    if shipped.find("configs", base) is None:
        return Plan()
    experiment = config.load(base, quick=name != base)
    seeds = tuple(range(experiment.repeats))
    return Plan(experiment.title, {entry.label: (entry.model, seeds) for entry in experiment.entries})


def stale(line: Line) -> bool:
    """Whether other code than today's made a line: a model that is gone, or one that changed since."""
    try:
        model = estimators.find(line.record.model, (Path.cwd(),))
        return estimators.complete(model, line.record.params).code.digest != line.record.code
    except ConfigError:
        return True


def reader(mixed: bool, clean: bool = False) -> Reader:
    """What reads a ledger for a report, with what the shipped experiments plan beyond it."""

    def read(path: Path, progress: Progress | None, only: Sequence[str]) -> Collection:
        return ledger.collect(path, plan, only, mixed, clean)

    return read


def old(experiments: Sequence[Experiment]) -> Iterator[str]:
    """Of experiments made of lines: a sentence on the labels that other code than today's has made."""
    for experiment in experiments:
        labels = [label for label in experiment.labels if _is_old(experiment, label)]
        if labels:
            yield (
                f"{experiment.name}: made by other code than today's: {listed(labels, 12)}; "
                "`hgpbench run --known LINES` runs them again"
            )


def _is_old(experiment: Experiment, label: str) -> bool:
    done = [run for run in experiment.of(label) if run.record is not None and run.digest is not None]
    return any(
        stale(Line(experiment.name, label, run.entry.setting, run.record)) for run in done if run.record
    )


def bring(collection: Collection, folder: Path, replace: bool) -> dict[str, list[Outcome]]:
    """Merge what has ended of these experiments into a ledger; what became of each line, by experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    with locks.holding(folder / LOCK):
        for experiment in collection.experiments:
            path = folder / f"{experiment.name}{ledger.SUFFIX}"
            outcomes = ledger.merge(ledger.read(path), _lines(experiment), stale, replace)
            ledger.write(path, [outcome.line for outcome in outcomes])
            told[experiment.name] = outcomes
    return told


def told(outcomes: Sequence[Outcome]) -> list[str]:
    """What became of the lines of one experiment, by what happened and why."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        run = f"{outcome.line.label} {outcome.line.seed}"
        grouped.setdefault((outcome.fate, outcome.why), []).append(run)
    said = []
    for (fate, why), runs in grouped.items():
        named = f": {listed(runs, 8)}" if why else ""
        said.append(f"{len(runs)} {fate}{f' ({why})' if why else ''}{named}")
    return said


def _lines(experiment: Experiment) -> list[Line]:
    """The lines of all runs that have ended; of each label the lowest seed that is done has its pictures."""
    lines = []
    for label in experiment.labels:
        runs = [run for run in experiment.of(label) if run.record is not None and run.state != "killed"]
        first = next((run for run in runs if run.digest is not None), None)
        lines += [Line.of(experiment.name, run, drawn=run is first) for run in runs]
    return lines
