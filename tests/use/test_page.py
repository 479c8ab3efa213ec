"""What docs/use.md shows runs; a block on a library that is not installed is passed over."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hgpbench.cli import app
from tests.use.conftest import draw

PAGE = Path(__file__).parents[2] / "docs/use.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
OTHERS = ("mapie", "skpro", "skops")


def test_every_block_is_of_a_kind_that_is_tested_here() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "python"}
    assert len(PYTHON) == 6


@pytest.mark.parametrize("text", PYTHON, ids=range(len(PYTHON)))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_python_runs(text: str, home: Path) -> None:
    missing = [name for name in OTHERS if f"from {name}" in text and importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    rng = np.random.default_rng(0)
    X, X_new = rng.uniform(-2, 2, (90, 2)), rng.uniform(-2, 2, (30, 2))
    y, y_new = (np.sin(each[:, 0]) + 0.1 * rng.standard_normal(len(each)) for each in (X, X_new))
    known: dict[str, Any] = {"X": X, "y": y, "X_new": X_new, "y_new": y_new}
    known |= {"frame": draw(80), "new": draw(20, seed=1).drop(columns="price"), "__name__": "page"}
    exec(compile(text, "use.md", "exec"), known)
    if "mean" in known:
        assert known["mean"].shape == (30,)
    if "table" in known:
        assert list(known["table"])[:2] == ["mean", "std"]
    if "quantiles" in known:
        assert known["quantiles"].shape == (30, 2)


def test_the_commands_run(home: Path) -> None:
    [shell] = [text for language, text in BLOCKS if language == "sh"]
    for line in shell.splitlines():
        words = line.split()[1:]
        small = ("--set", "max_iter=3") if words[0] == "fit" else ()
        result = CliRunner().invoke(app, [*words, *small])
        assert result.exit_code == 0, result.stderr
    assert (home / "out.csv").read_text().startswith("mean,std,noise_std,q0.05,q0.5,q0.95\n")
