"""Models that misbehave, each in its own way: written into a folder by tests, as a user's own module."""

import os
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hgpbench import files
from hgpbench.errors import Ended, Refusal


class Plain:
    """A foreign regressor in scikit-learn's manner: the mean, and the standard deviation."""

    def __init__(self, shift: float = 0.0, pause: float = 0.0, random_state: int | None = None) -> None:
        self.shift, self.pause, self.random_state = shift, pause, random_state

    def fit(self, X: Any, y: Any) -> "Plain":
        time.sleep(self.pause)
        self.mean_, self.std_ = float(np.mean(y)) + self.shift, float(np.std(y))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        mean = np.full(len(X), self.mean_)
        return (mean, np.full(len(X), self.std_)) if return_std else mean


class Waits(Plain):
    """Fits until the file ``go`` appears."""

    def fit(self, X: Any, y: Any) -> "Waits":
        Path("fitting").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        super().fit(X, y)
        return self


class Resumes(Plain):
    """Dies in the middle of its first fit, having left a checkpoint; then continues from it."""

    def fit(self, X: Any, y: Any, *, checkpoint: Path | None = None) -> "Resumes":
        assert checkpoint is not None
        if not checkpoint.exists():
            checkpoint.write_text("1234.5")
            os.kill(os.getpid(), signal.SIGKILL)
        self.resumed_seconds_ = float(checkpoint.read_text())
        super().fit(X, y)
        return self


class LosesWorker(Plain):
    """Has left a checkpoint when a worker of its first fit is killed; then continues from it."""

    def fit(self, X: Any, y: Any, *, checkpoint: Path | None = None) -> "LosesWorker":
        assert checkpoint is not None
        if not checkpoint.exists():
            checkpoint.write_text("67.5")
            raise Ended("a worker process ended with exit code -9")
        self.resumed_seconds_ = float(checkpoint.read_text())
        super().fit(X, y)
        return self


class Raises(Plain):
    def fit(self, X: Any, y: Any) -> "Raises":
        sys.stdout.write("so far so good\n")
        raise ZeroDivisionError("the model divided by zero\nand says it in two lines")


class Refuses(Plain):
    def fit(self, X: Any, y: Any) -> "Refuses":
        raise Refusal("at most 3 rows, given more")


class EatsMemory(Plain):
    def fit(self, X: Any, y: Any) -> "EatsMemory":
        hoard = []
        while True:
            hoard.append(np.ones(4_000_000))
            time.sleep(0.01)


class NeverEnds(Plain):
    def fit(self, X: Any, y: Any) -> "NeverEnds":
        while True:
            time.sleep(0.01)


class Crashes(Plain):
    def fit(self, X: Any, y: Any) -> "Crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
        return self


class Killed(Plain):
    def fit(self, X: Any, y: Any) -> "Killed":
        os.kill(os.getpid(), signal.SIGKILL)
        return self


class Exits(Plain):
    def fit(self, X: Any, y: Any) -> "Exits":
        os._exit(7)


class NotFinite(Plain):
    def predict(self, X: Any, return_std: bool = False) -> Any:
        mean, std = super().predict(X, True)
        mean[1] = np.nan
        return mean, std


class DiesOdd(Plain):
    """Ended by a signal that has no name."""

    def fit(self, X: Any, y: Any) -> "DiesOdd":
        os.kill(os.getpid(), 40)
        time.sleep(10)
        return self


class TellsOdd(Plain):
    """Tells progress in what is no number."""

    def fit(self, X: Any, y: Any, *, callback: Any = None) -> "TellsOdd":
        for step, total, bound in ((1, "abc", 0.0), ("x", [1], None), ([2], 1e400, "y"), (-1, 10**400, 1j)):
            time.sleep(0.25)
            callback(step, total, bound)
        super().fit(X, y)
        return self


def channels() -> list[int]:
    """Every socket that this process holds; its channel to the supervisor is among them."""
    numbers = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    found = []
    for number in numbers:
        try:
            found += [number] if stat.S_ISSOCK(os.fstat(number).st_mode) else []
        except OSError:
            continue
    return found


class Junk(Plain):
    """Writes what is no progress on the channel, and ends well."""

    def fit(self, X: Any, y: Any) -> "Junk":
        for channel in channels():
            os.write(
                channel, b"\x00\x00\x00\x04junk" + b"[" * 3000 + b"\nnull\n{}\n\xff\xfe\n" + b"9" * 20_000
            )
        time.sleep(0.3)
        super().fit(X, y)
        return self


class JunkLength(Plain):
    """Promises two gigabytes on the channel and sends none of them."""

    def fit(self, X: Any, y: Any) -> "JunkLength":
        for channel in channels():
            os.write(channel, b"\x7f\xff\xff\xff")
        time.sleep(60)
        return self


class Again(Plain):
    """Waits where the file ``wait`` is, raises where the file ``raise`` is, and else is plain."""

    def fit(self, X: Any, y: Any) -> "Again":
        if Path("raise").exists():
            raise ZeroDivisionError("this time")
        while Path("wait").exists():
            Path("fitting").touch()
            time.sleep(0.01)
        super().fit(X, y)
        return self


class Wanders(Plain):
    """Changes the directory, in the fit."""

    def fit(self, X: Any, y: Any) -> "Wanders":
        Path("far").mkdir()
        os.chdir("far")
        super().fit(X, y)
        return self


def note_child(number: int) -> None:
    """Leave the number of a process for the test to look for."""
    part = Path(f"child.{os.getpid()}.part")
    part.write_text(str(number))
    part.rename(f"child.{number}")


class KillsServer(Plain):
    """Kills the process that forked it, once."""

    def fit(self, X: Any, y: Any) -> "KillsServer":
        if not Path("killed").exists():
            Path("killed").touch()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        super().fit(X, y)
        return self


class Daemon(Plain):
    """Leaves a process behind that is in a session of its own and has lost its parent; then ends, or stays."""

    def __init__(self, stays: bool = False, size: int = 0, random_state: int | None = None) -> None:
        super().__init__()
        self.stays, self.size, self.random_state = stays, size, random_state

    def fit(self, X: Any, y: Any) -> "Daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                note_child(os.getpid())
                hoard = np.ones(self.size)
                time.sleep(60 + hoard.size * 0)
            os._exit(0)
        while not list(Path().glob("child.*[0-9]")):
            time.sleep(0.01)
        if self.stays:
            Path("fitting").touch()
            time.sleep(60)
        super().fit(X, y)
        return self


class Spins(Plain):
    """Stays in one call that lets no other thread run."""

    def fit(self, X: Any, y: Any) -> "Spins":
        sys.setswitchinterval(1e6)
        Path("fitting").touch()
        while True:
            pass


class OddRemarks(Plain):
    """A good fit that says odd things of itself."""

    def fit(self, X: Any, y: Any) -> "OddRemarks":
        super().fit(X, y)
        self.n_iter_, self.outcome_ = np.array([1, 2]), object()
        self.resumed_seconds_, self.trace_, self.labels_ = float("nan"), "trace", [object()] * len(y)
        return self


class LongWords(Plain):
    def fit(self, X: Any, y: Any) -> "LongWords":
        raise ValueError("\x1b[31mcaf\udce9 " + "x" * 5_000_000)


class NoRoom(Plain):
    """The disk is full by the time the result is stored: for the predictions, or for everything."""

    def __init__(self, everything: bool = False) -> None:
        super().__init__()
        self.everything = everything

    def fit(self, X: Any, y: Any) -> "NoRoom":
        before = files.replacing

        def full(path: Path) -> Any:
            if self.everything or path.name == "predictions.h5":
                raise OSError(28, "No space left on device", str(path))
            return before(path)

        files.replacing = full
        super().fit(X, y)
        return self


class Continues(Plain):
    """Leaves a checkpoint and waits; where it finds one, it goes on from it."""

    def fit(self, X: Any, y: Any, *, checkpoint: Path | None = None) -> "Continues":
        assert checkpoint is not None
        if not checkpoint.exists():
            checkpoint.write_text("89.5")
            time.sleep(120)
        self.resumed_seconds_ = float(checkpoint.read_text())
        super().fit(X, y)
        return self


class KillsEverybody(Plain):
    """Kills the worker of a cluster that it runs on: whatever the processes between them are."""

    def fit(self, X: Any, y: Any) -> "KillsEverybody":
        number = os.getpid()
        while "spawn_main" not in Path(f"/proc/{number}/cmdline").read_text():
            stat_line = Path(f"/proc/{number}/stat").read_text()
            number = int(stat_line.rpartition(")")[2].split()[1])
        os.kill(number, signal.SIGKILL)
        time.sleep(60)
        return self
