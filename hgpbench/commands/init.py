"""``hgpbench init``: an experiment and a model of one's own to begin with, which run as they are."""

from pathlib import Path
from typing import Annotated

import typer

from hgpbench.commands.endings import say
from hgpbench.errors import ConfigError

EXPERIMENT, MODEL = "experiment.yaml", "mymodel.py"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to; made if it is not there.")
    ] = Path(),
) -> None:
    """Write a commented experiment and a model of your own, which run as they are."""
    from hgpbench import files, shipped

    there = [name for name in (EXPERIMENT, MODEL) if (folder / name).exists()]
    if there:
        raise ConfigError(f"{folder / there[0]}: is there already; choose another folder, or move it away")
    for name in (EXPERIMENT, MODEL):
        text = (shipped.folder("templates") / name).read_text(encoding="utf-8")
        files.write_text(folder / name, text)
        say(f"wrote {folder / name}")
    say(f"now: hgpbench run {folder / EXPERIMENT}, then hgpbench report results/mine --plot --html")
