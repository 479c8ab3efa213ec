"""What must hold after any kill: nothing finished lost or changed, no failure, no traceback, the same bits."""

import hashlib
import json
import os
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.record import Arrays
from hgpbench.errors import RecordError
from hgpbench.report import digest
from tests.torture.command import Place, Started
from tests.torture.problem import CONFIG, NAME, Problem
from tests.torture.rounds import Round

Finished = dict[str, tuple[str, str]]  # of each finished run: its attempt, and a hash of its record
DONE = re.compile(r"^done +(\S+ seed \d+): (.*)$", re.MULTILINE)  # also of runs that another command did
TALLY = re.compile(
    r"(\d+) done, (\d+) cached, (\d+) failed, (\d+) skipped(?:, (\d+) left)?(?: \(\d+ code changed\))?\n"
)
STARTS_AGAIN = "the next run starts it again"


def finished(results: Path) -> Finished:
    """Every finished run, as it lies on disk."""
    found = {}
    for folder in results.glob("runs/*/*/*/"):
        record = records.find(folder)
        if record is not None and record.status == "done":
            content = hashlib.sha256((folder / records.RECORD).read_bytes()).hexdigest()
            found[str(folder.relative_to(results))] = (record.provenance["attempt"], content)
    return found


def check_nothing_lost(around: Round, before: Finished, results: Path, after: str) -> Finished:
    """What was finished before is so now, in the same attempt; gives what is finished now."""
    now = finished(results)
    for folder, what in before.items():
        around.expect(
            now.get(folder) == what, f"after {after}: {folder} was finished, and is lost or changed"
        )
    return now


def check_rows(around: Round, results: Path, after: str) -> None:
    """Whatever was killed says that it will be started again; nothing here fails for another reason."""
    for folder in results.glob("runs/*/*/*/"):
        if not (folder / records.RECORD).exists():
            continue
        try:
            record = records.read(folder)
        except RecordError as error:
            around.expect(False, f"after {after}: {error}")
            continue
        killed = record.status == "killed" and (record.reason or "").endswith(STARTS_AGAIN)
        around.expect(
            record.status == "done" or killed,
            f"after {after}: {record.label} seed {record.seed} is {record.status}: {record.reason}",
        )


def check_words(around: Round, command: Started, allowed: set[int | None]) -> None:
    """No traceback, an exit code that is promised, and a last line that agrees with it."""
    around.counts["commands"] += 1
    text = command.said + command.complained
    around.expect("Traceback" not in text, f"{command}: a traceback: {text[-2000:]}")
    if not around.expect(command.code in allowed, f"{command}: {text[-2000:]}") or command.code not in {0, 3}:
        return
    tally = TALLY.fullmatch(command.said)
    if around.expect(tally is not None, f"{command}: said {command.said!r}") and tally is not None:
        failed = int(tally[3]) > 0
        around.expect(failed == (command.code == 3), f"{command}: said {command.said!r}")


def check_run_once(around: Round, commands: list[Started]) -> None:
    """No run was finished twice: all commands that tell of it tell the same times."""
    told = defaultdict[str, set[str]](set)
    for command in commands:
        for run, times in DONE.findall(command.complained):
            told[run].add(times)
    for run, times in told.items():
        around.expect(len(times) == 1, f"{run} was run to its end {len(times)} times: {'; '.join(times)}")


def finish(around: Round, problem: Problem, commands: list[Started], before: Finished, *options: str) -> None:
    """One undisturbed command ends the experiment; everything is as if nothing had happened."""
    for left in (*problem.place.scratch.glob("hgp-*/"), *problem.results.rglob(".scores.json.*.part")):
        os.utime(left, (0, 0))  # as old as it must be for the next command to know that it is nobody's
    around.note("the last command")
    last = problem.place.run("run", CONFIG, *options)
    check_words(around, last, {0})
    check_run_once(around, [*commands, last])
    check_nothing_lost(around, before, problem.results, "the last command")
    check_rows(around, problem.results, "the last command")
    tally = TALLY.fullmatch(last.said)
    if tally is not None:
        around.expect(int(tally[1]) + int(tally[2]) == problem.runs, f"{last}: said {last.said!r}")
    check_same_bits(around, problem)
    check_leftovers(around, problem.place, problem.results)


def check_same_bits(around: Round, problem: Problem) -> None:
    """Manifest, predictions, scores and what a fit says of itself, to the bit."""
    try:
        expected, found = (manifests.read(root / NAME) for root in (problem.calm, problem.results))
    except RecordError as error:
        around.expect(False, str(error))
        return
    around.expect(expected == found, "the manifests differ")
    for entry in expected.entries:
        name = f"{entry.label} seed {entry.seed}"
        try:
            one, two = (content(root / entry.folder) for root in (problem.calm, problem.results))
        except RecordError as error:
            around.expect(False, f"{name}: {error}")
            continue
        around.counts["runs compared to the bit"] += 1
        resumed = (records.read(problem.results / entry.folder).fit.get("resumed_after") or 0.0) > 0
        around.counts["runs compared to the bit, continued from a checkpoint"] += resumed
        differ = [part for part in one if one[part] != two.get(part)]
        around.expect(one.keys() == two.keys() and not differ, f"{name}: other bits in {', '.join(differ)}")


def content(folder: Path) -> dict[str, object]:
    """All of a run that is a pure function of what was asked; times are not."""
    record, arrays = records.read(folder), records.read_arrays(folder)
    parts: dict[str, object] = {name: values.tobytes() for name, values in _arrays(arrays).items()}
    computed = digest.compute(record, arrays)
    parts["scores"] = json.dumps(computed.scores, sort_keys=True)
    parts |= {f"fit {name}": value for name, value in record.fit.items() if name != "resumed_after"}
    return parts


def _arrays(arrays: Arrays) -> dict[str, "np.ndarray"]:
    found = {"index": arrays.index, "y": arrays.y, **arrays.prediction.arrays(), **arrays.extras}
    if arrays.trace is not None:
        found["trace"] = arrays.trace[:, [0, 2]].copy()  # without the seconds
    return found


def check_leftovers(around: Round, place: Place, results: Path) -> None:
    """No half-written file, no checkpoint of a finished run, no temporary folder, no process."""
    parts = [*results.rglob("*.part"), *results.rglob(records.CHECKPOINT)]
    around.expect(not parts, f"left behind: {', '.join(str(part.relative_to(results)) for part in parts)}")
    temporary = sorted(path.name for path in place.scratch.iterdir())
    around.expect(not temporary, f"left behind in the temporary folder: {', '.join(temporary)}")
    alive = place.outlived()
    around.expect(not alive, f"outlived the last command: {', '.join(str(process) for process in alive)}")
    for process in alive:
        process.kill()
