"""The installed command as a user would start it: a clean environment, its output in files."""

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil

INSTALLED = Path(sys.executable).with_name("hgpbench")
MARK = "TORTURE_MARK"  # a variable of the environment by which everything that a command started is found
PATIENCE = 600.0  # seconds for a command that has all it needs; one that takes longer hangs
GONE = 30.0  # seconds in which all that a killed command had started is to be gone


@dataclass
class Place:
    """A folder to work in, with temporary files and outputs of its own."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: int = 0

    def __post_init__(self) -> None:
        for each in (self.work, self.scratch, self.outputs):
            each.mkdir(parents=True, exist_ok=True)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    def start(self, *words: str) -> "Started":
        """Start the command; its output goes to files, which a killed command cannot block."""
        self.started += 1
        out, err = (self.outputs / f"{self.started:03}.{end}" for end in ("out", "err"))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.scratch),
            "OPENBLAS_NUM_THREADS": "1",
            MARK: self.mark,
        }
        with out.open("w") as output, err.open("w") as errors:
            process = subprocess.Popen(
                [str(INSTALLED), *words],
                cwd=self.work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        return Started(words, process, out, err)

    def run(self, *words: str) -> "Started":
        """Start the command and wait for its end."""
        started = self.start(*words)
        started.wait()
        return started

    def alive(self) -> list[psutil.Process]:
        """Every process that commands of this place have started and that is not dead yet."""
        found = []
        for process in psutil.process_iter():
            try:
                marked = process.environ().get(MARK) == self.mark
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:  # it ended, or is another user's
                continue
        return found

    def outlived(self) -> list[psutil.Process]:
        """What is still alive some time after the last command ended."""
        end = time.monotonic() + GONE
        while (found := self.alive()) and time.monotonic() < end:
            time.sleep(0.1)
        return found


@dataclass(frozen=True)
class Started:
    """A command under way, or ended."""

    words: tuple[str, ...]
    process: "subprocess.Popen[bytes]"
    out: Path
    err: Path

    def wait(self) -> int:
        """Its exit code; a command that hangs is ended, and has None of ours."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    @property
    def code(self) -> int | None:
        return self.process.poll()

    @property
    def said(self) -> str:
        return self.out.read_text(errors="replace")

    @property
    def complained(self) -> str:
        return self.err.read_text(errors="replace")

    def __str__(self) -> str:
        return f"hgpbench {' '.join(self.words)} (exit code {self.code}, output in {self.err})"
