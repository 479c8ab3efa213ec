"""The process of one run, forked by the supervisor from a server that has loaded the heavy libraries already.

The supervisor holds the other end of the channel for as long as it lives, so the channel's end means that
nobody is watching any more, and the run ends too. The record is written here, by the process that has the
numbers: a supervisor killed a moment later loses nothing.
"""

import logging
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from hgpbench.bench import orphans
from hgpbench.bench import record as records
from hgpbench.bench.channel import Reporter
from hgpbench.bench.execute import execute, peak_memory
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record, Status
from hgpbench.cores import thread_variables
from hgpbench.errors import HgpbenchError, Refusal

_log = logging.getLogger(__name__)


def main(
    folder: Path, job: Job, origin: dict[str, Any], channel: socket.socket, environment: dict[str, str]
) -> None:
    """Run a job, in the supervisor's environment, and leave its record in the folder."""
    os.setsid()  # a terminal's interrupt reaches the supervisor alone, and the group can be ended whole
    orphans.adopt()
    orphans.end_with_parent()  # even in the middle of a call that lets no other thread run
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)  # what the server has set for itself
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with (folder / records.LOG).open("wb", buffering=0) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    # The server that forked us has the environment of its start; and what the model loads or starts later
    # learns its threads from here.
    os.environ.update(environment | thread_variables(job.threads))
    threading.Thread(target=_end_with_supervisor, args=(channel,), daemon=True).start()
    _run(folder, job, origin, Reporter(channel))


def _run(folder: Path, job: Job, origin: dict[str, Any], reporter: Reporter) -> None:
    try:
        record, arrays = execute(job, origin, reporter, folder / records.CHECKPOINT)
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
    (folder / records.CHECKPOINT).unlink(missing_ok=True)


def _leave(folder: Path, job: Job, origin: dict[str, Any], status: Status, reason: str) -> None:
    sys.stdout.flush()
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


def _end_with_supervisor(channel: socket.socket) -> None:
    """Block until the supervisor is gone, then end this process and all that it started."""
    with suppress(OSError):
        channel.recv(1)
    orphans.end_descendants(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)
