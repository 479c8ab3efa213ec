"""The README as a program: its blocks, what they print, and what the commands in them print today.

``python -m tests.readme`` (``make readme``) runs the commands of the console blocks and puts what they print in
place of what stands there, line by line: a line is known by its shape, which numbers do not change. So nobody
types a figure, and a test finds every line whose shape is no longer that of the output.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
LEFT_OUT = "..."

# What the test does not execute as it is printed, each with its reason.
NOT_RUN = {
    "make demo": "sets up an environment; its commands are those of the console block",
    "make test": "runs this test",
    "hgpbench fetch protein": "downloads; tests/data fetch from files",
    "hgpbench fetch protein electric solar sarcos 3droad": "downloads",
    "hgpbench reproduce --quick --jobs 2": "takes minutes, and all datasets; planned with --dry-run instead",
    "hgpbench reproduce sinc2d --jobs 2 --threads 1": "takes hours; planned with --dry-run instead",
}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_VALUE = re.compile(r"<?#(?: ± <?#)?")
_WINNER = re.compile(r"^- \S+ (has a lower \w+ than) .*")  # who wins over whom is a figure too


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where the text stands in the document."""

    language: str
    text: str
    start: int


@dataclass(frozen=True)
class Step:
    """A command of a console block, and the lines that it is said to print."""

    command: str
    printed: tuple[str, ...]


def blocks(document: str) -> list[Block]:
    """All fenced blocks, in order."""
    return [Block(found[1], found[2], found.start(2)) for found in _FENCE.finditer(document)]


def steps(block: Block) -> list[Step]:
    """The commands of a console block."""
    found: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line.removeprefix("$ "), ()))
        else:
            found[-1] = Step(found[-1].command, (*found[-1].printed, line))
    return found


def commands(block: Block) -> list[str]:
    """The commands of a block of shell, without their comments."""
    return [line.partition("#")[0].strip() for line in block.text.splitlines() if line.strip()]


def run(command: str, folder: Path) -> str:
    """What a command prints in an environment with nothing but the installed command and a home."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath]), "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def shape(line: str) -> str:
    """A line without what a change of figures may change: numbers, marks of the best, widths."""
    bare = _NUMBER.sub("#", line.replace("**", ""))
    if bare.startswith("|"):
        cells = [cell.strip() for cell in bare.strip().strip("|").split("|")]
        rule = all(set(cell) <= set("-:") for cell in cells)
        return "|".join("-" if rule else _VALUE.sub("#", cell) for cell in cells)
    return _WINNER.sub(r"\1", bare.rstrip())


def as_printed(printed: tuple[str, ...], output: str) -> Iterator[str | None]:
    """For each line of the README the line of the output that it stands for, cut as it is; None for none.

    Lines of the output may be left out, but those that stand there have to come in this order.
    """
    rest = iter(output.splitlines())
    for line in printed:
        if line in {LEFT_OUT, ""}:
            yield line
            continue
        wanted = shape(line.removesuffix(LEFT_OUT))
        yield next(
            (_cut(each, line) for each in rest if shape(_cut(each, line).removesuffix(LEFT_OUT)) == wanted),
            None,
        )


def _cut(line: str, like: str) -> str:
    """The first columns of a table's line, as many as the README shows."""
    if not (line.startswith("|") and like.startswith("|")):
        return line
    shown = like.removesuffix(LEFT_OUT)
    head = "|".join(line.split("|")[: shown.count("|")]) + "|"
    return f"{head} {LEFT_OUT}" if like.endswith(LEFT_OUT) else head


def renewed(document: str, folder: Path) -> str:
    """The document with what its commands print now."""
    fresh, end = "", 0
    for block in blocks(document):
        if block.language != "console":
            continue
        lines = []
        for step in steps(block):
            output = None if step.command in NOT_RUN else run(step.command, folder)
            found = step.printed if output is None else tuple(as_printed(step.printed, output))
            lines += [
                f"$ {step.command}",
                *(new or old for new, old in zip(found, step.printed, strict=True)),
            ]
        fresh += document[end : block.start] + "".join(f"{line}\n" for line in lines)
        end = block.start + len(block.text)
    return fresh + document[end:]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(renewed(README.read_text(), Path(folder)))


if __name__ == "__main__":
    main()
