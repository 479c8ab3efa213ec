"""The process of one run: ``python -m hgpbench.bench.child FOLDER PIPE``, started by the supervisor only.

The job arrives as the first line of standard input; the supervisor then holds that pipe open for as long as
it lives, so its end means that nobody is watching any more, and the run ends too. The record is written here,
by the process that has the numbers: a supervisor killed a moment later loses nothing.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record, Status
from hgpbench.errors import HgpbenchError, Refusal

_log = logging.getLogger(__name__)

REPORT_EVERY = 0.2  # seconds between progress lines


class Pipe:
    """Progress towards the supervisor, one JSON line at a time, not more often than a reader can use."""

    def __init__(self, handle: int) -> None:
        self._file: IO[str] = os.fdopen(handle, "w", buffering=1, encoding="utf-8")
        self._last = ("", 0.0)

    def __call__(self, phase: str, step: int, total: int | None, bound: float | None) -> None:
        now = time.monotonic()
        if phase == self._last[0] and now - self._last[1] < REPORT_EVERY:
            return
        self._last = (phase, now)
        line = {
            "phase": phase,
            "step": step,
            "total": total,
            "bound": None if bound is None else float(bound),
        }
        self._file.write(json.dumps(line) + "\n")


def main() -> None:
    """Run the job on standard input and leave its record in the folder."""
    folder, handle = Path(sys.argv[1]), int(sys.argv[2])
    request = json.loads(sys.stdin.readline())
    job, origin = Job.from_json(json.dumps(request["job"])), request["origin"]
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    _run(folder, job, origin, Pipe(handle))


def _run(folder: Path, job: Job, origin: dict[str, Any], pipe: Pipe) -> None:
    from hgpbench.bench.execute import (
        execute,
    )  # heavy: numpy, scipy and scikit-learn load while we are watched

    try:
        record, arrays = execute(job, origin, pipe)
    except Refusal as error:
        _leave(folder, job, origin, "skipped", str(error))
    except HgpbenchError as error:
        _leave(folder, job, origin, "failed", str(error))
    except MemoryError as error:
        _log.exception("out of memory")
        _leave(folder, job, origin, "memory", f"out of memory: {error}" if str(error) else "out of memory")
    except Exception as error:  # a model may raise anything: it becomes a row with its reason
        _log.exception("the run failed")
        _leave(folder, job, origin, "failed", f"{type(error).__name__}: {error}".splitlines()[0])
    else:
        records.write(folder, record, arrays)


def _leave(folder: Path, job: Job, origin: dict[str, Any], status: Status, reason: str) -> None:
    from hgpbench.bench.execute import peak_memory

    sys.stderr.flush()
    records.write(
        folder,
        Record(
            status=status,
            reason=reason,
            **job.described(),
            peak_memory=peak_memory(),
            provenance={**origin, "threads": job.threads},
            log_tail=records.log_tail(folder),
        ),
    )


def _end_with_supervisor() -> None:
    """Block until the supervisor is gone, then end this process and all that it started."""
    while sys.stdin.buffer.read(1):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
