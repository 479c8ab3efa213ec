"""Models that mean harm beside healthy ones: the healthy keep their bits, each other one is a row with its reason."""

import re
import shutil
from pathlib import Path

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.errors import RecordError
from tests.bench import troubles
from tests.torture import promises
from tests.torture.command import Place
from tests.torture.problem import CALM, CONFIG, NAME, RESULTS
from tests.torture.rounds import Round

WALL = 12  # seconds of a run; a healthy one takes a hundredth of it
MIXTURES = 2  # experiments in a round
HEALTHY = """\
  linear:
  own: {model: "troubles:Plain", shift: 0.5, pause: 0.3}
  gp: {max_iter: 5}
  dvshgp: {n_experts: 3, n_inducing_f: 5, n_inducing_g: 5, optimizer: natural(n_passes=2)}
"""
FINE = ("done", "")
LATE = ("timeout", rf"stopped after the limit of {WALL} s")
KILLED = ("killed", rf"{promises.STARTS_AGAIN}$")
# Each with its parameters, and how it ends: the status, and what its reason says.
ENDINGS: dict[str, tuple[str, tuple[str, str]]] = {
    "Raises": ("", ("failed", "^ZeroDivisionError: the model divided by zero$")),
    "Refuses": ("", ("skipped", "at most 3 rows")),
    "EatsMemory": ("", ("memory", "the limit is 600 MB")),
    "NeverEnds": ("", LATE),
    "Crashes": ("", ("failed", "SIGSEGV")),
    "Killed": ("", KILLED),
    "Exits": ("", ("failed", "exit code 7")),
    "NotFinite": ("", ("failed", "mean is not finite")),
    "DiesOdd": ("", ("failed", "signal 40")),
    "TellsOdd": ("", FINE),
    "Junk": ("", FINE),
    "JunkLength": ("", LATE),
    "Wanders": ("", FINE),
    "KillsServer": ("", FINE),  # once; then it is plain
    "Daemon": ("", FINE),
    "Spins": ("", LATE),
    "OddRemarks": ("", FINE),
    "LongWords": ("", ("failed", r"^ValueError: .*5,000,0\d\d characters")),
    "NoRoom": ("", ("failed", "No space left on device")),
}
SLOW = {"NeverEnds", "JunkLength", "Spins"}  # each takes as long as it may


def perform(around: Round) -> None:
    """A few random mixtures, each in a folder of its own."""
    for number in range(MIXTURES):
        if not around.has_time() and number:
            return
        _mixture(around, Place(around.folder / str(number)))


def _mixture(around: Round, place: Place) -> None:
    chance = around.chance
    shutil.copy(Path(troubles.__file__), place.work)
    names = chance.sample(sorted(ENDINGS.keys() - SLOW), chance.randint(3, 7))
    names += chance.sample(sorted(SLOW), chance.randint(0, 1))
    chance.shuffle(names)
    lines = [f'  {name}: {{model: "troubles:{name}"{ENDINGS[name][0]}}}\n' for name in names]
    healthy = HEALTHY.splitlines(keepends=True)
    _write(place.work / "calm.yaml", healthy)
    _write(place.work / CONFIG, chance.sample(lines + healthy, len(lines) + len(healthy)))
    calm = place.run("run", "calm.yaml", "--out", CALM)
    promises.check_words(around, calm, {0})
    jobs = ("--jobs", str(chance.randint(1, 4)))
    first = place.run("run", CONFIG, *jobs)
    promises.check_words(around, first, {0, 3})
    # What a killed server took with it is started again, as the model that kills it is; it does so once.
    second = place.run("run", CONFIG, *jobs)
    promises.check_words(around, second, {0, 3})
    _check_rows(around, place.work, names)
    alive = place.outlived()
    around.expect(not alive, f"{', '.join(names)}: outlived by {', '.join(map(str, alive))}")
    for process in alive:
        process.kill()


def _write(path: Path, models: list[str]) -> None:
    path.write_text(
        f"name: {NAME}\ndataset: toy\nsplit: {{train: 40, test: 20}}\nrepeats: 1\n"
        f"limits: {{wall: {WALL}s, memory: 600MB, threads: 1}}\nmodels:\n{''.join(models)}"
    )


def _check_rows(around: Round, work: Path, names: list[str]) -> None:
    """Each hostile model's own ending, and the healthy ones' bits."""
    calm = {entry.label: entry for entry in manifests.read(work / CALM / NAME).entries}
    entries = manifests.read(work / RESULTS / NAME).entries
    around.expect({entry.label for entry in entries} == {*names, *calm}, "labels are missing in the manifest")
    for entry in entries:
        folder = work / RESULTS / entry.folder
        beside = f"beside {', '.join(names)}"
        try:
            record = records.read(folder)
            if entry.label in calm:
                same = promises.content(folder) == promises.content(work / CALM / calm[entry.label].folder)
                around.expect(same, f"{entry.label} has other bits {beside}")
                around.counts["healthy runs beside hostile ones"] += 1
                continue
        except RecordError as error:
            around.expect(False, f"{entry.label} {beside}: {error}")
            continue
        status, reason = ENDINGS[entry.label][1]
        fits = record.status == status and re.search(reason, record.reason or "") is not None
        around.expect(fits, f"{entry.label} {beside}: {record.status}: {record.reason}")
        around.counts["hostile runs"] += 1
        around.counts[f"hostile {entry.label}"] += 1
