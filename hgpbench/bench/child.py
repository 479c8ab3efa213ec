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

from hgpbench.bench import logs, orphans
from hgpbench.bench import record as records
from hgpbench.bench.channel import Reporter
from hgpbench.bench.execute import execute, peak_memory
from hgpbench.bench.job import Job
from hgpbench.bench.record import Arrays, Record, Status
from hgpbench.cores import thread_variables
from hgpbench.errors import Ended, HgpbenchError, Refusal

_log = logging.getLogger(__name__)

EXIT_STORED_NOTHING = 73  # as the system's headers name it: an output file could not be created
LONGEST = 1_000  # characters of a reason; the log has it whole


def main(
    folder: Path, job: Job, origin: dict[str, Any], channel: socket.socket, environment: dict[str, str]
) -> None:
    """Run a job, in the supervisor's environment, and leave its record in the folder."""
    os.setsid()  # a terminal's interrupt reaches the supervisor alone, and the group can be ended whole
    orphans.adopt()
    orphans.end_with_parent()  # even in the middle of a call that lets no other thread run
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)  # what the server has set for itself
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logs.redirect(folder)
    # The server that forked us has the environment of its start; and what the model loads or starts later
    # learns its threads from here.
    os.environ.update(environment | thread_variables(job.threads))
    threading.Thread(target=_end_with_supervisor, args=(channel,), daemon=True).start()
    _run(folder, job, origin, Reporter(channel))


def _run(folder: Path, job: Job, origin: dict[str, Any], reporter: Reporter) -> None:
    try:
        record, arrays = execute(job, origin, reporter, folder / records.CHECKPOINT)
    except Refusal as error:
        _leave(folder, job, origin, "skipped", _words(error))
    except Ended as error:  # as if this process had been: the checkpoint stays, and the fit goes on from it
        _leave(folder, job, origin, "killed", f"{_words(error)}; the next run starts it again")
        return
    except HgpbenchError as error:
        _leave(folder, job, origin, "failed", _words(error))
    except MemoryError as error:
        _log.exception("out of memory")
        _leave(folder, job, origin, "memory", f"out of memory: {_words(error)}".removesuffix(": "))
    except Exception as error:  # a model may raise anything: it becomes a row with its reason
        _log.exception("the run failed")
        _leave(folder, job, origin, "failed", f"{type(error).__name__}: {_words(error)}")
    else:
        _store(folder, job, origin, record, arrays)
    (folder / records.CHECKPOINT).unlink(missing_ok=True)


def _store(folder: Path, job: Job, origin: dict[str, Any], record: Record, arrays: Arrays) -> None:
    """Keep a result; where that fails, say why, and leave the checkpoint for another attempt."""
    try:
        records.write(folder, record, arrays)
    except Exception as error:
        _log.exception("the result could not be stored")
        why = error.strerror if isinstance(error, OSError) else None
        _leave(folder, job, origin, "failed", f"the result could not be stored: {why or _words(error)}")
        os._exit(EXIT_STORED_NOTHING)


def _leave(folder: Path, job: Job, origin: dict[str, Any], status: Status, reason: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # a model may have closed or replaced them
        sys.stdout.flush()
        sys.stderr.flush()
    record = Record(
        status=status,
        reason=reason,
        **job.described(),
        peak_memory=peak_memory(),
        provenance={**origin, "threads": job.threads},
        log_tail=records.log_tail(folder),
    )
    try:
        records.write(folder, record)
    except OSError:  # no room for a line either: the supervisor may find some, once we are gone
        _log.exception("the record could not be stored")
        os._exit(EXIT_STORED_NOTHING)


def _words(error: Exception) -> str:
    """The first line of an error's message, short and printable."""
    try:
        lines = str(error).splitlines()
    except Exception as another:
        return f"(its message cannot be told: {type(another).__name__})"
    line = lines[0] if lines else ""
    cut = line if len(line) <= LONGEST else f"{line[:LONGEST]} ... ({len(line):,} characters)"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def _end_with_supervisor(channel: socket.socket) -> None:
    """Block until the supervisor is gone, then end this process and all that it started."""
    with suppress(OSError):
        channel.recv(1)
    orphans.end_descendants(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)
