"""What was run, as the runs themselves tell it: sizes, seeds, what is missing, and by which code."""

from collections.abc import Sequence

from hgpbench.paper.published import departures
from hgpbench.report import compare
from hgpbench.report.collect import Experiment
from hgpbench.report.tables import Cell, Table, seed_span
from hgpbench.units import show_seconds
from hgpbench.words import listed

_MOST_NAMED = 30
_SHA = 10


def table(experiments: Sequence[Experiment]) -> Table:
    """A line an experiment: rows, seeds, models, processor time, and how many pairs the tests tell apart."""
    rows = [
        (
            each.name,
            _rows(each),
            _seeds(each),
            f"{sum(bool(each.done(label)) for label in each.labels)} of {len(each.labels)}",
            _time(each),
            _apart(each),
            "; ".join(departure.words for departure in departures(each)) or "–",
        )
        for each in experiments
    ]
    headings = (
        "experiment",
        "training, test rows",
        "seeds",
        "models run",
        "processor time of all fits",
        "pairs told apart in MSLL",
        "unlike the paper",
    )
    cells = tuple(tuple(Cell(text, is_number=False) for text in row) for row in rows)
    return Table("What was run", headings, cells, is_prose=True)


def missing(experiments: Sequence[Experiment]) -> list[str]:
    """A sentence for each experiment of which something has no score, by its reason."""
    return [sentence for each in experiments for sentence in _missing(each)]


def sources(experiments: Sequence[Experiment]) -> list[str]:
    """Commits and machines of all runs, and whether the tree had uncommitted changes."""
    commits, machines = dict[str, list[str]](), dict[str, list[str]]()
    for each in experiments:
        for record in each.finished:
            source = record.provenance.get("source") or {}
            dirty = " with uncommitted changes" if source.get("git_dirty") else ""
            commit = f"{str(source.get('git_sha') or 'unknown')[:_SHA]}{dirty}"
            machine = record.provenance.get("machine") or {}
            named = f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores"
            for found, key in ((commits, commit), (machines, named)):
                names = found.setdefault(key, [])
                if each.name not in names:
                    names.append(each.name)
    said = []
    for what, found in (("Commit", commits), ("Machine", machines)):
        for key, names in found.items():
            whose = "all experiments" if len(found) == 1 else listed(names, _MOST_NAMED)
            said.append(f"{what} {key}: {whose}.")
    return said


def _rows(each: Experiment) -> str:
    sizes = sorted({(record.n_train or 0, record.n_test or 0) for record in each.finished})
    return "; ".join(f"{train:,}, {test:,}" for train, test in sizes) or "–"


def _seeds(each: Experiment) -> str:
    """The seeds of most models, and how many models have others."""
    by_seeds: dict[str, int] = {}
    for label in each.labels:
        done = each.done(label)
        if done:
            by_seeds[seed_span(done)] = by_seeds.get(seed_span(done), 0) + 1
    if not by_seeds:
        return "–"
    most = max(by_seeds, key=lambda span: by_seeds[span])
    rest = [f"{span} ({count})" for span, count in by_seeds.items() if span != most]
    return f"{most} ({by_seeds[most]} models){'; ' + ', '.join(rest) if rest else ''}"


def _time(each: Experiment) -> str:
    spent = sum(r.timings.get("fit_cpu", 0.0) + r.timings.get("predict_cpu", 0.0) for r in each.finished)
    return show_seconds(spent) if spent else "–"


def _apart(each: Experiment) -> str:
    pairs = [pair for pair in compare.compare(each, "msll") if pair.is_tested]
    return f"{sum(pair.is_different for pair in pairs)} of {len(pairs)}" if pairs else "–"


def _missing(each: Experiment) -> list[str]:
    reasons: dict[str, dict[str, list[int]]] = {}
    for run in each.runs:
        if run.state != "done":
            reason = f"{run.state}: {run.reason}" if run.reason else run.state
            reasons.setdefault(reason, {}).setdefault(run.entry.label, []).append(run.entry.seed)
    return [
        f"{each.name}, {reason}: "
        f"{listed([f'{label} {seed_span(seeds)}' for label, seeds in labels.items()], _MOST_NAMED)}."
        for reason, labels in reasons.items()
    ]
