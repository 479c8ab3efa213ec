"""What is there, as lines: datasets and models. Nothing heavy is imported: a listing is there at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hgpbench import units
from hgpbench.commands import described
from hgpbench.commands.described import Described
from hgpbench.errors import ConfigError
from hgpbench.words import nearest

if TYPE_CHECKING:
    from hgpbench.data.catalogue import Listed

COST = (
    "Cost: "  # how the paragraph of a docstring begins that says it; docstrings are no part of a run's code
)

RECKONED_ROWS, RECKONED_INPUTS = (1_000, 10_000, 100_000), 10  # of the fits whose time is reckoned


@dataclass(frozen=True)
class Listing:
    """Rows of words, with headings or without; ``right`` are the columns that hold numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """As aligned text, for a file or another program."""
        return columns([*([self.headings] if self.headings else []), *self.rows], self.right)


def datasets() -> Listing:
    """One line per dataset and variant."""
    from hgpbench.data.catalogue import list_datasets

    rows = tuple(
        (
            item.full_name,
            f"{item.rows:,}" if item.rows else "?",
            str(item.inputs or "?"),
            item.target,
            state(item),
            item.problem or item.title,
            item.licence,
        )
        for item in list_datasets()
    )
    headings = ("DATASET", "ROWS", "INPUTS", "TARGET", "STATE", "TITLE", "LICENCE")
    return Listing(headings, rows, frozenset({1, 2}))


def models(name: str | None, results: Path) -> str:
    """Every model in a few lines, or one in full, with the times of earlier runs in a results folder."""
    if name is None:
        return "\n\n".join(map(_model, described.models().values()))
    model = found(name)
    paragraphs = [each for each in model.paragraphs if not each.startswith(COST)]
    told = [_model(model), _reckoned(model), _measured(model, results)]
    return "\n".join([*told, "", "\n\n".join(paragraphs)])


def found(name: str) -> Described:
    """The model of that name, or ConfigError."""
    known = described.models()
    if name not in known:
        raise ConfigError(f"no model {name!r}{nearest(name, known)}; models: {', '.join(known)}")
    return known[name]


def cost(model: Described) -> str | None:
    """What a model costs, in its own words."""
    told = [each[len(COST) :] for each in model.paragraphs if each.startswith(COST)]
    return " ".join(told[0].split()) if told else None


def reckoned(model: Described) -> dict[int, float]:
    """Seconds that a fit at the defaults should take on this machine, by its rows; at sizes it accepts."""
    from hgpbench.bench import effort

    sizes = [rows for rows in RECKONED_ROWS if model.most_rows is None or rows <= model.most_rows]
    guessed = {rows: effort.seconds(model.name, model.defaults, rows, RECKONED_INPUTS) for rows in sizes}
    return {rows: seconds for rows, seconds in guessed.items() if seconds is not None}


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Rows as aligned text, two spaces between columns, the last one ragged."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def state(item: "Listed") -> str:
    """Whether a dataset can be used."""
    if item.problem:
        return "unusable"
    return "ready" if item.fetched else "not fetched"


def _model(model: Described) -> str:
    """First line of a model's description, its reference, its parameters with defaults, what it costs."""
    lines = [f"{model.name}: {model.paragraphs[0]}", f"    {model.reference}"]
    params = ", ".join(f"{key}={value!r}" for key, value in model.defaults.items())
    if params:
        lines.append(f"    parameters: {params}")
    if model.needs:
        state = f"not installed: {model.install}" if model.missing else "installed"
        lines.append(f"    needs: {' and '.join(model.needs)} ({state})")
    if told := cost(model):
        lines.append(f"    cost: {told}")
    return "\n".join(lines)


def _reckoned(model: Described) -> str:
    """What a fit at the defaults should take, by the arithmetic of the model."""
    told = [f"{rows:,} rows {units.show_seconds(seconds)}" for rows, seconds in reckoned(model).items()]
    return (
        f"    reckoned: a fit at the defaults, {RECKONED_INPUTS} inputs, one thread of this machine: "
        f"{', '.join(told)}; within a factor of three or so"
    )


def _measured(model: Described, results: Path) -> str:
    """What fits at the defaults took, as far as earlier runs tell; no guess for other sizes."""
    absent = f"    measured: no run at the defaults in {results}"
    if not results.is_dir():
        return absent
    from hgpbench.bench import costs

    told = [
        f"{each.rows:,} rows of {each.dataset} {units.show_seconds(each.seconds)}"
        f" ({each.threads} {'thread' if each.threads == 1 else 'threads'})"
        for each in costs.measured(model.name, model.defaults, results)
    ]
    if not told:
        return absent
    return f"    measured: fits at the defaults in {results}: {'; '.join(told)}"
