"""What DVSHGP takes on a cluster that is not at hand: its parts measured, added up, and held against fits.

    python benchmarks/scale.py parts                   measure the parts, into --parts FILE
    python benchmarks/scale.py predict                 10^7, 10^8 and 10^9 rows on 1 to 1,000 workers
    python benchmarks/scale.py check ROWS WORKERS      a fit that this machine can do, predicted and done

Measured are an expert's steps (place, bound, visit, settle, noise) by its rows, the two ends of a message and
of a byte, a contribution's way into the sums, the sharing out of rows by their number and that of experts,
and bytes: of questions, answers, states. ``check`` compares processor seconds of the command (with Dask's
scheduler) and of the workers, messages, bytes, and the command's memory: walls are what the network and the
machines make of them. The rows are those of ``electric`` where it has been fetched, otherwise drawn.
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _parts import Parts, measured
from threadpoolctl import threadpool_limits
from workers import draw, seconds_at, started

from hgpbench.cluster import Resident
from hgpbench.experts.ascent import lanes_for
from hgpbench.experts.remote import PIECE
from hgpbench.models import DVSHGP, Passes
from hgpbench.models.base import JUDGED_ROWS
from hgpbench.models.dvshgp import WORTH_WORKERS

SIZE, POINTS, PASSES = 500, 100, 10  # as DVSHGP has them for many rows
SIZES = (10**7, 10**8, 10**9)
WORKERS = (1, 4, 16, 100, 1_000)
NETWORK = 1.25e8  # bytes a second at the command: 1 Gbit/s
TRIP = 5e-4  # seconds there and back
SNAPSHOTS = 0.1  # of the time, at most
COPIES = 4.5  # of the rows that the command holds at once while it shares them out
BESIDE = 40.0  # bytes a row that stay there when the rows are in a file: order, labels, lambda, noise, target
PROCESS = 3e8  # bytes of a process with nothing in it


class Predicted(NamedTuple):
    """Of a whole fit: processor seconds, messages, bytes, and where the wall's seconds go."""

    command: float
    worker: float  # each
    messages: float
    out: float
    back: float
    command_bytes: float  # with the rows in arrays ...
    file_bytes: float  # ... and in a file
    worker_bytes: float
    wall: dict[str, float]


def predicted(
    parts: Parts,
    n: float,
    workers: int,
    passes: int,
    M: float | None = None,
    known: float | None = None,
    travels: bool = True,
) -> Predicted:
    """A fit of ``n`` rows; the seconds on the wall follow from the parts, unless they are ``known``.

    Rows travel to workers that do not see a file of this machine's.
    """
    M = n / parts.size if M is None else M
    mean, lanes = n / M, lanes_for(int(M))
    hands = min(workers, lanes)
    seconds = {name: line.at(mean) for name, line in parts.steps.items()}
    steps = passes * np.ceil(M / lanes)
    visits = passes * M
    start = parts.start_visits * seconds["visit"] + parts.start_bounds * seconds["bound"]
    once = M * (seconds["place"] + seconds["settle"] + seconds["noise"])
    row_bytes = 8.0 * (parts.inputs + 1) * n
    judged_here = JUDGED_ROWS / 10 * M * 2 * parts.points**2 < WORTH_WORKERS
    sent = row_bytes if travels else 0.0
    messages = steps * hands + parts.start_rounds * min(hands, 8) + 6 * hands + sent / PIECE
    tried = parts.start_states * parts.whole
    again = 0.0 if judged_here else sent + M * parts.state
    out = sent + tried + again + messages * parts.question
    back = tried + visits * parts.answer + M * (parts.state + parts.answer) + 8.0 * n
    sharing = parts.shares(n, M)
    telling = messages * parts.told + (out + back) * parts.byte + visits * parts.merge
    preparing = n * parts.prepare
    judging = M * parts.judge / (1 if judged_here else hands)
    wall = {
        "sharing out rows": sharing,
        "visits": visits * seconds["visit"] / hands,
        "stragglers": visits * seconds["visit"] / hands * (parts.waits(hands) - 1.0),
        "start and end": once / hands + start / min(hands, 8),
        "preparing rows": preparing,
        "judging": judging,
        "messages": telling + steps * TRIP,
        "network": (out + back) / NETWORK,
    }
    snapshot = M * parts.whole * (parts.byte + 1.0 / NETWORK)
    every = max(180.0, snapshot / SNAPSHOTS)
    wall["snapshots"] = (sum(wall.values()) - sharing) / every * snapshot
    lasts = sum(wall.values()) if known is None else known
    taken = (lasts - sharing) // every
    back += taken * M * parts.whole
    return Predicted(
        command=sharing
        + preparing
        + judging * judged_here
        + telling
        + taken * M * parts.whole * parts.byte
        + lasts * parts.idle_here,
        worker=(visits * seconds["visit"] + once + start + messages * parts.heard) / hands
        + judging * (not judged_here)
        + lasts * parts.idle_there,
        messages=messages,
        out=out,
        back=back,
        command_bytes=PROCESS + COPIES * row_bytes + M * parts.state,
        file_bytes=PROCESS + BESIDE * n + M * parts.state,
        worker_bytes=PROCESS + (row_bytes + M * parts.whole) / hands,
        wall=wall,
    )


def check(parts: Parts, n: int, workers: int, passes: int) -> None:
    """A fit as it was predicted, and as it was."""
    X, y, _ = draw(n)
    model = DVSHGP(
        n // parts.size,
        n_inducing_f=parts.points,
        n_inducing_g=parts.points,
        optimizer=Passes(passes, guard=False),
        random_state=0,
    )
    counted = Counter[str]()
    with started(workers) as client, _counting(counted):
        model.set_params(cluster=client)
        DVSHGP(40, n_inducing_f=4, n_inducing_g=4, cluster=client, random_state=0).fit(X[:400], y[:400])
        counted.clear()
        start, there = time.process_time(), seconds_at(client)
        began, before = time.perf_counter(), _peak()
        model.fit(X, y)
        wall, here = time.perf_counter() - began, time.process_time() - start
        spent = seconds_at(client) - there
        grown = _peak() - before
    M = len(model.expert_sizes_)
    told = predicted(parts, n, workers, passes, M, wall, travels=8 * (X.shape[1] + 1) * n <= PIECE)
    print(f"{n:,} rows, {M} experts, {passes} passes, {workers} workers; wall {wall:.0f} s")
    lines = {
        "command, cpu s": (told.command, here),
        "a worker, cpu s": (told.worker, spent / workers),
        "messages": (told.messages, counted["messages"]),
        "MB out": (told.out / 1e6, counted["out"] / 1e6),
        "MB back": (told.back / 1e6, counted["back"] / 1e6),
        "command, MB more": ((told.command_bytes - PROCESS) / 1e6, grown / 1e6),
    }
    print(f"{'':<18}{'predicted':>11}{'measured':>11}{'error':>8}")
    for name, (expected, found) in lines.items():
        error = f"{expected / found - 1.0:+.0%}" if found else ""
        print(f"{name:<18}{expected:>11.1f}{found:>11.1f}{error:>8}", flush=True)


@contextmanager
def _counting(counted: Counter[str]) -> Iterator[None]:
    """Count messages and bytes to workers and back."""
    tell, answer = Resident.tell, Resident.answer

    def telling(self: Resident, message: bytes) -> Any:
        counted["messages"] += 1
        counted["out"] += len(message)
        return tell(self, message)

    def answering(self: Resident, pending: Any) -> bytes:
        found = answer(self, pending)
        counted["back"] += len(found)
        return found

    Resident.tell, Resident.answer = telling, answering
    try:
        yield
    finally:
        Resident.tell, Resident.answer = tell, answer


def _peak() -> int:
    """Most bytes that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def predict(parts: Parts, passes: int) -> None:
    """The table of the docs."""
    print("| rows | workers | sharing out | the rest | most of the rest | command | a worker |")
    print("|---:|---:|---:|---:|---|---:|---:|")
    for n in SIZES:
        for workers in WORKERS:
            told = predicted(parts, n, workers, passes)
            sharing = told.wall.pop("sharing out rows")
            rest = sum(told.wall.values())
            most = sorted(told.wall, key=lambda name: -told.wall[name])[:2]
            shares = ", ".join(f"{name} {told.wall[name] / rest:.0%}" for name in most)
            print(
                f"| {n:,} | {workers:,} | {_span(sharing)} | {_span(rest)} | {shares} "
                f"| {told.file_bytes / 1e9:.1f} GB | {told.worker_bytes / 1e9:.1f} GB |"
            )


def _span(seconds: float) -> str:
    """In words of two digits or so."""
    for size, name in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {name}" if seconds >= 10 * size else f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("parts", "predict", "check"))
    parser.add_argument("numbers", nargs="*", type=int, metavar="ROWS WORKERS")
    parser.add_argument("--passes", type=int, default=PASSES, help="over the experts")
    parser.add_argument("--size", type=int, default=SIZE, help="rows of an expert")
    parser.add_argument("--points", type=int, default=POINTS, help="of f and of g, in an expert")
    parser.add_argument("--parts", type=Path, help="where the parts are kept once they are measured")
    asked = parser.parse_args()
    with threadpool_limits(1):
        if asked.parts is not None and asked.parts.is_file() and asked.what != "parts":
            parts = Parts.read(asked.parts)
        else:
            parts = measured(asked.size, asked.points)
            if asked.parts is not None:
                parts.write(asked.parts)
        if asked.what == "check":
            rows, workers = asked.numbers
            check(parts, rows, workers, asked.passes)
        elif asked.what == "predict":
            predict(parts, asked.passes)
        else:
            print(parts.told_apart())


if __name__ == "__main__":
    main()
