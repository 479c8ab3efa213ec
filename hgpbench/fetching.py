"""What ``hgpbench fetch`` says: one line per dataset, and the notes that belong to it."""

from pathlib import Path

from hgpbench import units
from hgpbench.data import fetch as fetches
from hgpbench.data.fetch import FetchResult
from hgpbench.data.own import import_table
from hgpbench.errors import ConfigError


def named(names: list[str] | None, target: str | None, name: str | None) -> list[str]:
    """The datasets asked for; an error where there is none or an option makes no sense with them."""
    if not names:
        raise ConfigError(
            "no dataset given; name some (see `hgpbench datasets`), or use --csv FILE --target COLUMN"
        )
    if target is not None or name is not None:
        raise ConfigError("--target and --name belong to --csv; a named dataset has a card that says both")
    return names


def check_own(names: list[str] | None, source: str | None) -> None:
    """--csv stands alone."""
    if names or source:
        raise ConfigError("--csv imports one file of your own; it does not go with dataset names or --from")


def fetch(name: str, source: str | None, force: bool) -> str:
    """Fetch one dataset and say what happened."""
    return _told(fetches.fetch(name, source=source, force=force))


def verify(name: str) -> str:
    """Check one fetched dataset against its hashes and say so."""
    return _told(fetches.check(name))


def own(path: Path, name: str, target: str | None, force: bool) -> str:
    """Import a table of the user's own."""
    return _told(import_table(path, name, target, force=force))


def _told(result: FetchResult) -> str:
    if result.status == "generated":
        return f"{result.name}: drawn from the seed of each run; nothing to fetch"
    happened = {"written": f"written in {units.show_seconds(result.seconds)}", "present": "there already"}
    rows = f"{result.rows:,} rows, {result.inputs} input{'s' * (result.inputs != 1)}, target {result.target}"
    lines = [f"{result.name}: {rows}, {result.path} ({happened[result.status]})"]
    return "\n".join([*lines, *(f"    {note}" for note in result.notes)])
