"""Models read from their source say what the classes say, and reading them takes next to no time."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from hgpbench.bench.estimators import SEED_PARAMETER, SHIPPED
from hgpbench.commands import described

# What takes seconds to import, and no listing needs.
HEAVY = {"scipy", "sklearn", "numba", "pandas", "matplotlib", "hgpbench.gp", "hgpbench.la", "hgpbench.models"}


def test_every_model_is_there_in_order() -> None:
    assert list(described.models()) == list(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_it_says_what_the_class_says(name: str) -> None:
    kind, told = SHIPPED[name], described.models()[name]
    given = inspect.signature(kind).parameters.values()
    assert told.paragraphs == tuple((inspect.getdoc(kind) or "").split("\n\n"))
    assert told.reference == kind.reference
    assert list(told.defaults.items()) == [(p.name, p.default) for p in given if p.name != SEED_PARAMETER]
    assert (told.needs, told.extra) == (getattr(kind, "needs", ()), getattr(kind, "extra", ""))


@pytest.mark.parametrize(
    "words", [["models"], ["models", "--json"], ["datasets"], ["--help"], ["run", "--help"]]
)
def test_no_listing_imports_what_is_heavy(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['hgpbench', *{words!r}]\n"
        "from hgpbench.__main__ import main\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    assert not HEAVY & set(done.stderr.split())


@pytest.mark.parametrize("words", [["models"], ["datasets"]])
def test_a_listing_takes_a_few_times_what_numpy_takes(words: list[str], tmp_path: Path) -> None:
    def seconds(code: str) -> float:
        text = (
            f"{code}\nimport resource, sys\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, file=sys.stderr)"
        )
        found = [
            subprocess.run(
                [sys.executable, "-c", text], capture_output=True, text=True, cwd=tmp_path, check=True
            )
            for _ in range(3)
        ]
        return min(float(done.stderr.split()[-1]) for done in found)

    listing = (
        f"import sys; sys.argv = ['hgpbench', *{words!r}]\n"
        "from hgpbench.__main__ import main\ntry:\n    main()\nexcept SystemExit: pass"
    )
    assert seconds(listing) < 10 * seconds("import numpy")
