"""One pass over a table: what each column holds, and so which numbers it becomes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hgpbench.data.frames import cells
from hgpbench.data.frames.cells import ORDERS
from hgpbench.data.frames.choices import Choices
from hgpbench.data.frames.encoding import POOLED, Category, Column, Date, Number
from hgpbench.data.frames.preprocessing import Preprocessing
from hgpbench.data.frames.seen import MOST_TEXTS, Seen
from hgpbench.data.frames.table import NotNumbers, Table
from hgpbench.errors import DataError
from hgpbench.words import listed, nearest, printable

_SHOWN = 12  # names in a note


@dataclass(frozen=True)
class Learnt:
    """What becomes of a table, how many rows it has, and what a user should know."""

    plan: Preprocessing
    rows: int
    notes: tuple[str, ...]
    wanting: tuple[str, ...]  # inputs with missing cells


def learn(table: Table, target: str, choices: Choices) -> Learnt:
    """What becomes of each column, from one pass."""
    wanted = _wanted(table, target, choices)
    seen = _survey(table, [*wanted, target], choices)
    if seen[target].rows == 0:
        raise DataError(f"{table.label}: has no rows")
    _check_target(seen[target], table, choices)
    kept, notes = _without_index(table, wanted, seen, choices)
    kept, more = _without_empty(kept, seen, choices)
    notes += more
    if not kept:
        why = "".join(f"; {note}" for note in notes)
        raise DataError(f"{table.label}: has no column beside the target {target!r} to predict it from{why}")
    columns = [_column(seen[name], table.label, choices) for name in kept]
    notes += [note for note in (_told(column) for column in columns) if note]
    wanting = [name for name in kept if seen[name].missing]
    _check_missing(table.label, [seen[name] for name in (*kept, target)], choices)
    plan = Preprocessing(
        columns=tuple(columns),
        target=target,
        missing=choices.missing,
        markers=tuple(sorted(choices.markers)),
        flagged=tuple(wanting) if choices.missing == "flag" else (),
    )
    if len(set(plan.inputs)) < len(plan.inputs):
        twice = next(name for name, count in Counter(plan.inputs).items() if count > 1)
        raise DataError(
            f"{table.label}: two columns would become {twice!r}; rename one, or leave one out with --drop"
        )
    return Learnt(plan, seen[target].rows, (*table.notes, *notes), tuple(wanting))


def _survey(table: Table, names: Sequence[str], choices: Choices) -> dict[str, Seen]:
    """One pass; columns of text that begin like numbers are parsed as such, and as text where that fails."""
    asked = set(names)
    likely = [name for name in table.likely_numbers if name in asked]
    try:
        return _pass(table, names, likely, choices)
    except NotNumbers:
        return _pass(table, names, [], choices)


def _pass(table: Table, names: Sequence[str], as_numbers: Sequence[str], choices: Choices) -> dict[str, Seen]:
    seen = {name: Seen(name) for name in names}
    for block in table.read(as_numbers):
        plain = [name for name in names if name not in choices.categories]
        numeric, values = cells.numeric_columns(block, plain, choices.markers)
        for name, column in zip(numeric, values.T, strict=True):
            seen[name].add_numbers(column)
        for name in set(names).difference(numeric):
            seen[name].add(block[name], choices)
    return seen


def _wanted(table: Table, target: str, choices: Choices) -> list[str]:
    """The columns asked for, in the table's order unless they were listed."""
    _check_names(table, [target, *(choices.inputs or ()), *choices.drop, *choices.categories])
    if choices.inputs is not None and target in choices.inputs:
        raise DataError(f"{table.label}: inputs: {target!r} is the target and cannot be an input too")
    dropped = {*choices.drop, target}
    return [name for name in (choices.inputs or table.columns) if name not in dropped]


def _check_names(table: Table, names: Iterable[str]) -> None:
    there = set(table.columns)
    for name in names:
        if name not in there:
            near = nearest(name, table.columns)
            notes = "".join(f"; {note}" for note in table.notes)
            raise DataError(
                printable(
                    f"{table.label}: has no column {name!r}{near}; it has {listed(table.columns)}{notes}"
                )
            )


def _check_target(seen: Seen, table: Table, choices: Choices) -> None:
    if seen.name in choices.categories:
        raise DataError(
            f"{table.label}: the target {seen.name!r} cannot be a category: it is a number to predict"
        )
    if seen.stamps.count:
        raise DataError(
            f"{table.label}: column {seen.name!r} holds dates; choose a target of numbers with --target"
        )
    if seen.first_odd is not None:
        raise DataError(_odd(seen, table.label, "choose another column with --target"))
    _check_finite(seen, table.label)


def _without_index(
    table: Table, names: list[str], seen: dict[str, Seen], choices: Choices
) -> tuple[list[str], list[str]]:
    """Leave out what only counts rows or has no name; a column asked for, or the only one, stays."""
    if choices.keep_index or choices.inputs is not None:
        return names, []
    notes = []
    for name in names:
        if name in choices.categories:
            continue
        counting = seen[name].counts_from is not None and seen[name].rows > 2
        if name in table.unnamed:
            notes.append((name, f"{name} is left out, as it has no name"))
        elif counting:
            first = seen[name].counts_from or 0
            notes.append((name, f"{name!r} is left out, as it only counts the rows from {first}"))
    left = [name for name in names if name not in {out for out, _ in notes}]
    if not left:
        return names, []
    return left, [f"{note}; --keep-index keeps it" for _, note in notes]


def _without_empty(names: list[str], seen: dict[str, Seen], choices: Choices) -> tuple[list[str], list[str]]:
    """Leave out columns without a cell, and texts that are the same everywhere."""
    notes = []
    left = []
    for name in names:
        column = seen[name]
        if column.known == 0:
            notes.append(f"{name!r} is left out, as none of its cells has a value")
        elif (
            not _is_number(column, choices)
            and not _is_date(column)
            and column.texts is not None
            and len(column.texts) == 1
            and not column.missing
        ):
            notes.append(f"{name!r} is left out, as it is {next(iter(column.texts))!r:.40} in every row")
        else:
            left.append(name)
    return left, [printable(note) for note in notes]


def _is_number(seen: Seen, choices: Choices) -> bool:
    return seen.name not in choices.categories and seen.first_odd is None and not seen.stamps.count


def _is_date(seen: Seen) -> bool:
    return seen.stamps.count > 0 or (bool(seen.dates) and seen.first_odd is not None)


def _column(seen: Seen, label: str, choices: Choices) -> Column:
    if seen.name in choices.categories:
        return _category(seen, label, choices)
    if _is_number(seen, choices):
        _check_finite(seen, label)
        return Number(seen.name, seen.numbers.value)
    if _is_date(seen):
        return _date(seen, label, choices)
    if seen.known - seen.odd >= seen.odd:
        raise DataError(
            _odd(
                seen,
                label,
                f"leave the column out with --drop {seen.name!r}, or take it for names with --categories",
            )
        )
    return _category(seen, label, choices)


def _odd(seen: Seen, label: str, remedy: str) -> str:
    row, text = seen.first_odd or (0, "")
    where = f"{label}: row {row + 1:,}, column {seen.name!r}"
    return printable(
        f"{where}: {text!r:.60} is not a number; where it stands for a missing value "
        f"say --na {text!r:.40}, or {remedy}"
    )


def _check_finite(seen: Seen, label: str) -> None:
    if seen.first_infinite is not None:
        row, value = seen.first_infinite
        where = f"{label}: row {row + 1:,}, column {seen.name!r}"
        raise DataError(
            f"{where}: {value} is not finite; where it stands for a missing value say --na {value}"
        )


def _check_missing(label: str, columns: list[Seen], choices: Choices) -> None:
    wanting = [seen for seen in columns if seen.first_missing is not None]
    if not wanting or choices.missing != "error":
        return
    first = min(wanting, key=lambda seen: seen.first_missing or 0)
    row = (first.first_missing or 0) + 1
    others = f" ({len(wanting)} columns have such cells)" if len(wanting) > 1 else ""
    raise DataError(
        f"{label}: row {row:,}, column {first.name!r}: the value is missing{others}; "
        "say --missing drop, mean or flag"
    )


def _date(seen: Seen, label: str, choices: Choices) -> Date:
    if seen.stamps.count:
        return Date(seen.name, "", seen.stamps.least, seen.stamps.value, choices.date_parts)
    forms = seen.dates or {}
    orders = [order for order, starts in ORDERS.items() if any(form.startswith(starts) for form in forms)]
    if len(orders) == 2:
        if choices.date_order is None:
            row, text = seen.first_odd or (0, "")
            raise DataError(
                printable(
                    f"{label}: row {row + 1:,}, column {seen.name!r}: "
                    f"{text!r:.40} may begin with the day or the month; "
                    f"say --date-order day or month, or --drop {seen.name!r}"
                )
            )
        forms = {form: mean for form, mean in forms.items() if form.startswith(ORDERS[choices.date_order])}
    form, mean = next(iter(forms.items()))
    return Date(seen.name, form, mean.least, mean.value, choices.date_parts)


def _category(seen: Seen, label: str, choices: Choices) -> Category:
    most = choices.max_categories
    count = len(seen.texts) if seen.texts is not None else MOST_TEXTS
    if seen.texts is None or (count > most and choices.rare == "refuse"):
        more = "more than " if seen.texts is None else ""
        raise DataError(
            printable(
                f"{label}: column {seen.name!r} has {more}{count:,} different texts, the most are {most}; "
                f"leave it out with --drop {seen.name!r}, keep the most frequent ones with --rare pool, "
                "or allow more with --max-categories"
            )
        )
    frequent = sorted(seen.texts.items(), key=lambda item: (-item[1], item[0]))
    levels = sorted(frequent[: most - 1] if count > most else frequent)
    counts = [number for _, number in levels]
    names = [text for text, _ in levels]
    if pooled := count > most:
        names.append(POOLED)
        counts.append(seen.known - sum(counts))
    if len(names) == 1:
        names, counts = ["", *names], [0, *counts]  # its other name is that it is missing
    return Category(seen.name, tuple(names), tuple(number / seen.known for number in counts), pooled)


def _told(column: Column) -> str:
    if isinstance(column, Category):
        pooled = "; the rarer ones count as one" if column.pooled else ""
        return printable(f"{column.name!r} has categories: {listed(column.levels, _SHOWN)}{pooled}")
    if isinstance(column, Date):
        return printable(f"{column.name!r} has dates: counted in days from {_day(column.origin)}")
    return ""


def _day(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s").astype("datetime64[D]"))
