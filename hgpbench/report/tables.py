"""The tables of one experiment as text cells, ready for any format."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hgpbench.metrics import LEVELS, METRICS
from hgpbench.report import flags, numbers, summary
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.summary import Row, Stat
from hgpbench.words import printable

SCORES = ("smse", "msll", "msll_gaussian", "nlpd", "rmse", "crps")
INTERVALS = ("coverage95", "calibration", "interval95", "width95")

LOGS = ("msll", "msll_gaussian")
"""Differences of log densities: near nought they say nothing, where a ratio as small would."""

RANKED = (
    *("msll", "smse", "calibration", "processor_seconds", "coverage95"),
    *("interval95", "peak_memory_bytes", "crps", "fit_seconds", "predict_seconds", "total_seconds"),
    *("rmse", "nlpd", "msll_gaussian", "width95"),
)
"""Columns of a ranking, the most asked for first: where room is short, the last are left out."""
BARS = "10 … 95 %"
"""Heading of the column of bars: shares covered beside the levels of central intervals."""

_BARS = "▁▂▃▄▅▆▇"
_BAR_REACH = 0.15  # of a share covered beside its level, for the highest and the lowest bar
_COST_TITLES = {
    "fit_seconds": "fit [s]",
    "predict_seconds": "predict [s]",
    "total_seconds": "total [s]",
    "processor_seconds": "processor [s]",
    "peak_memory_bytes": "peak memory [MB]",
}
_COST_DIGITS = 3
_ROUND_OFF = 1e-12  # of a score without a unit; with one, a number so small may be meant
_NOTHING = 5e-5  # nats: of a logarithm without a unit, what is smaller is told as 0.0000
_PERCENT = ("coverage95", "calibration")
_SCALES = {**dict.fromkeys(_PERCENT, 100.0), "peak_memory_bytes": 1e-6}


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    text: str
    is_best: bool = False
    is_number: bool = True


@dataclass(frozen=True)
class Table:
    """A caption, headings and rows of cells of the same length."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_prose: bool = False  # sentences rather than numbers: cells wrap, and a narrow screen stacks them
    of_models: bool = False  # a row for each model, a number in each column: what the page lets readers sort

    @property
    def is_number(self) -> tuple[bool, ...]:
        """Which columns are numbers, and so are set to the right."""
        return tuple(all(row[i].is_number for row in self.rows) for i in range(len(self.headings)))


def score_table(experiment: Experiment) -> Table:
    """Scores of every label, mean and deviation over seeds."""
    shown = [name for name in SCORES if name != "msll_gaussian" or experiment.has_mixtures]
    return _with_runs(_table(experiment, "Scores", shown), summary.rows(experiment))


def interval_table(experiment: Experiment) -> Table:
    """How well the intervals of every label hold, and how much they say."""
    return _table(experiment, "Intervals", list(INTERVALS), _begun(experiment))


def coverage_table(experiment: Experiment) -> Table:
    """What the calibration error is made of; means alone, as ten levels are to be read across."""
    headings = ("model", *(f"{percent} %" for percent in LEVELS))
    cells = tuple(
        (
            Cell(flags.signed(experiment, row.label), is_number=False),
            *(Cell(_share(row.stats[f"coverage{percent}"])) for percent in LEVELS),
        )
        for row in _begun(experiment)
    )
    return Table("Coverage of central intervals [%]", headings, cells, of_models=True)


def cost_table(experiment: Experiment) -> Table:
    """Times and memory of every label."""
    return _table(experiment, "Time and memory", list(summary.COSTS), _begun(experiment))


def ranking(experiment: Experiment) -> Table:
    """All quantities that some model has, the best MSLL first, and calibration as a line of bars."""
    rows = sorted(summary.rows(experiment), key=lambda row: _or_last(row.stats["msll"].mean))
    names = [name for name in RANKED if any(row.stats[name].n for row in rows)]
    if not experiment.has_mixtures:
        names = [name for name in names if name != "msll_gaussian"]
    table = _with_runs(_table(experiment, "By MSLL, best first", names, rows), rows)
    if not names:
        return table
    place = table.headings.index(heading("coverage95", experiment.has_mixtures)) + 1
    bars = (Cell(_bars(row), is_number=False) for row in rows)
    return replace(
        table,
        headings=(*table.headings[:place], BARS, *table.headings[place:]),
        rows=tuple(
            (*cells[:place], bar, *cells[place:]) for cells, bar in zip(table.rows, bars, strict=True)
        ),
    )


def _bars(row: Row) -> str:
    """The share covered beside each level as a bar of its own, in the middle where they agree."""
    excess = [row.stats[f"coverage{percent}"].mean - percent / 100 for percent in LEVELS]
    if not row.done or not all(map(math.isfinite, excess)):
        return numbers.ABSENT
    middle = len(_BARS) // 2
    steps = (round(max(-1.0, min(1.0, each / _BAR_REACH)) * middle) for each in excess)
    return "".join(_BARS[middle + step] for step in steps)


def _or_last(value: float) -> float:
    return math.inf if math.isnan(value) else value


def scale(quantity: str) -> float:
    """What a stored quantity is multiplied by for the column under its heading."""
    return _SCALES.get(quantity, 1.0)


def digits(quantity: str) -> int:
    """How many digits of a mean its deviation may ask for."""
    return numbers.MOST_DIGITS if quantity in METRICS else _COST_DIGITS


def unfinished_table(experiment: Experiment) -> Table | None:
    """Runs that are missing, failed or damaged, with their reasons; None where all were done."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for label in experiment.labels:
        for run in experiment.of(label):
            if run.state != "done":
                reason = " ".join((run.reason or "").split())
                groups.setdefault((label, run.state, reason), []).append(run)
    if not groups:
        return None
    rows = [
        (
            label,
            seed_span(run.entry.seed for run in runs),
            state,
            reason or numbers.ABSENT,
            printable(runs[0].entry.folder),
        )
        for (label, state, reason), runs in groups.items()
    ]
    cells = tuple(tuple(Cell(text, is_number=False) for text in row) for row in rows)
    return Table("Runs without a score", ("model", "seeds", "status", "reason", "folder"), cells)


def heading(quantity: str, has_mixtures: bool) -> str:
    """Column heading; says which MSLL is which where both are shown."""
    if quantity in _COST_TITLES:
        return _COST_TITLES[quantity]
    if quantity in ("msll", "nlpd") and has_mixtures:
        return f"{METRICS[quantity].title} (exact)"
    title = METRICS[quantity].title
    return f"{title} [%]" if quantity in _PERCENT else title


def seed_span(seeds: Iterable[int]) -> str:
    """Seeds in few words: ``0-3, 7``."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _table(
    experiment: Experiment, caption: str, quantities: list[str], ordered: list[Row] | None = None
) -> Table:
    rows = summary.rows(experiment) if ordered is None else ordered
    best = {name: summary.best(rows, name) for name in quantities}
    headings = ("model", *(heading(name, experiment.has_mixtures) for name in quantities))
    cells = tuple(
        (
            Cell(flags.signed(experiment, row.label), is_number=False),
            *(Cell(text_of(row.stats[name], name), row.label in best[name]) for name in quantities),
        )
        for row in rows
    )
    return Table(caption, headings, cells, of_models=True)


def _with_runs(table: Table, rows: list[Row]) -> Table:
    """The table with how many runs it is made of; once an experiment is enough."""
    first, *others = table.headings
    counted = (
        (cells[0], Cell(f"{row.done}/{row.planned}"), *cells[1:])
        for row, cells in zip(rows, table.rows, strict=True)
    )
    return replace(table, headings=(first, "runs", *others), rows=tuple(counted))


def _begun(experiment: Experiment) -> list[Row]:
    """Rows with a finished run; the others are told by the scores, and need no more lines of dashes."""
    rows = summary.rows(experiment)
    return [row for row in rows if row.done] or rows


def _share(stat: Stat) -> str:
    return f"{100 * stat.mean:.1f}" if stat.n else numbers.ABSENT


def text_of(stat: Stat, quantity: str) -> str:
    """A stored quantity as it is printed under its heading."""
    factor = scale(quantity)
    shown = Stat(stat.mean * factor, stat.sd * factor, stat.n)
    is_round_off = abs(shown.mean) <= _ROUND_OFF and not shown.sd > _ROUND_OFF
    if quantity in METRICS and is_round_off and not METRICS[quantity].in_units:
        return "0"
    if quantity in LOGS and abs(stat.mean) < _NOTHING and not stat.sd >= _NOTHING:
        return "0.0000"
    return numbers.mean_sd(shown, digits(quantity))
