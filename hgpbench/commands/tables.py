"""The options that say how a table is read: the same for every command that reads one."""

import csv
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_type_hints

import typer

from hgpbench.data.frames.choices import Choices, Missing, Order, Rare


def _option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel="How the table is read", **more)


OPTIONS: dict[str, tuple[Any, Any]] = {
    "inputs": (str | None, _option("--inputs", metavar="A,B", help="Only these columns predict.")),
    "drop": (str | None, _option("--drop", metavar="A,B", help="Columns to leave out.")),
    "keep_index": (bool, _option("--keep-index", help="Keep columns without a name or that count rows.")),
    "missing": (
        Missing,
        _option("--missing", help="Rows with missing cells: refuse, drop, or fill and flag."),
    ),
    "na": (list[str] | None, _option("--na", metavar="TEXT", help="A cell that counts as missing; repeat.")),
    "categories": (str | None, _option("--categories", metavar="A,B", help="Numbers that are names.")),
    "max_categories": (int, _option("--max-categories", min=2, help="The most names of one column.")),
    "rare": (Rare, _option("--rare", help="Where there are more: refuse, or pool the rare ones.")),
    "date_parts": (
        str | None,
        _option("--date-parts", metavar="PARTS", help="E.g. month,weekday,year-cycle."),
    ),
    "date_order": (Order | None, _option("--date-order", help="What 03/04/2021 begins with.")),
    "header": (bool | None, _option("--header/--no-header", help="Whether the first line has names.")),
    "delimiter": (str | None, _option("--delimiter", metavar="CHARACTER", help="Between cells.")),
    "decimal": (Literal[".", ","] | None, _option("--decimal", help="The decimal mark.")),
    "encoding": (str, _option("--encoding", metavar="NAME", help="Of a text file.")),
}
"""Type and option of each field of ``Choices``."""

_LISTS = ("inputs", "drop", "categories", "date_parts")  # with commas between names
_DEFAULTS = Choices()


def reading_tables(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options; it is given them as one argument, ``choices``."""

    @functools.wraps(command)
    def called(**given: Any) -> None:
        asked = {name: given.pop(name) for name in OPTIONS}
        command(**given, choices=_choices(asked))

    own = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    kept = [
        each.replace(annotation=hints[name]) for name, each in own.parameters.items() if name != "choices"
    ]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*kept, *_parameters())]
    vars(called)["__signature__"] = own.replace(parameters=parameters)  # what typer reads
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def asks_nothing(choices: Choices) -> bool:
    """Whether no option was given."""
    return choices == _DEFAULTS


def _parameters() -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if name in (*_LISTS, "na") else getattr(_DEFAULTS, name),
            annotation=Annotated[kind, option],
        )
        for name, (kind, option) in OPTIONS.items()
    ]


def _choices(asked: dict[str, Any]) -> Choices:
    lists = {name: _names(asked[name]) for name in _LISTS}
    plain = {name: lists[name] or () for name in ("drop", "categories", "date_parts")}
    return Choices(**{**asked, **plain, "inputs": lists["inputs"], "na": tuple(asked["na"] or ())})


def _names(text: str | None) -> tuple[str, ...] | None:
    """Names with commas between them; a name that has one is written in quotes, as in CSV."""
    if text is None:
        return None
    row = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(name.strip() for name in row)
