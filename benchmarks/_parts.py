"""The parts of a fit of DVSHGP on a cluster, measured one by one: what ``scale.py`` adds up."""

import json
import pickle
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.metrics import pairwise_distances_argmin
from workers import Array, draw, seconds_at, started

from hgpbench.cluster import Cluster
from hgpbench.experts import desk
from hgpbench.experts.ascent import lanes_for
from hgpbench.experts.contribution import Contribution, stack
from hgpbench.experts.desk import Call, Desk
from hgpbench.experts.expert import Step, shared_layout
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Serial
from hgpbench.experts.rows import Partition, Rows, partition
from hgpbench.experts.voices import Kept
from hgpbench.models import DVSHGP, Passes
from hgpbench.models.base import JUDGED_ROWS

IDLE = 20.0  # seconds to look at what idles
SETTLING = 3  # evaluations of a bound when an expert is settled
STEPS = ("place", "bound", "visit", "settle", "noise")


class Line(NamedTuple):
    """Seconds of something with so many rows: a + b n."""

    a: float
    b: float

    def at(self, n: float) -> float:
        return self.a + self.b * n

    @classmethod
    def through(cls, sizes: Array, seconds: Array) -> "Line":
        (a, b), _ = nnls(np.column_stack([np.ones(len(sizes)), sizes]), seconds)
        return cls(float(a), float(b))


@dataclass(frozen=True)
class Parts:
    """What was measured; seconds are the processor's."""

    size: int  # rows of an expert, on average ...
    points: int  # ... and its inducing points of f, and of g
    inputs: int
    steps: dict[str, Line]  # by the rows of an expert
    start_bounds: int  # of experts, to choose first values ...
    start_visits: int  # ... likewise ...
    start_rounds: int  # ... in so many questions ...
    start_states: int  # ... with so many whole states fetched, and put back
    prepare: float  # seconds of the command for a row, beside sharing it out
    judge: float  # seconds for an expert, when the command looks what the fit explains
    idle_here: float  # seconds of the command, with Dask's scheduler, in a second without work ...
    idle_there: float  # ... and of a worker
    told: float  # seconds of the command for a message and its answer ...
    heard: float  # ... and of the worker
    byte: float  # seconds of the command for a byte
    merge: float  # seconds for a contribution
    question: int  # bytes of a step's
    answer: int  # bytes of a contribution in it
    state: float  # bytes of an expert's, when all is over ...
    whole: float  # ... and in a snapshot
    sharing: tuple[float, float, float]  # seconds by n, n M and M^2
    sizes: list[float]  # of experts, over their mean

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Parts":
        told = json.loads(path.read_text())
        return cls(**told | {"steps": {name: Line(*line) for name, line in told["steps"].items()}})

    def told_apart(self) -> str:
        """One part a line."""
        lines = [
            f"{name:<12}{value}" for name, value in asdict(self).items() if name not in ("steps", "sizes")
        ]
        return "\n".join(
            [*lines, *(f"{name:<12}{1e3 * line.at(self.size):.2f} ms" for name, line in self.steps.items())]
        )

    def shares(self, n: float, M: float) -> float:
        """Seconds in which rows are shared out."""
        return float(np.dot(self.sharing, (n, n * M, M * M)))

    def waits(self, hands: int) -> float:
        """How much longer than the mean the slowest worker's part of a step takes."""
        rng, sizes = np.random.default_rng(0), np.array(self.sizes)
        cost = np.array([self.steps["visit"].at(self.size * size) for size in sizes])
        lanes = lanes_for(10**6)
        drawn = rng.choice(cost, (2_000, lanes))
        loads = np.stack([drawn[:, worker::hands].sum(axis=1) for worker in range(hands)], axis=1)
        return float(loads.max(axis=1).mean() / loads.mean())


def measured(size: int, points: int) -> Parts:
    """All parts, on this machine."""
    X, y, _ = draw(200_000)
    sharing, shares = _sharing(X, len(X) // size)
    rows = shares.gather(X, y)
    steps, answers, (state, whole) = _steps(rows, points)
    (told, heard, byte, question), (here, there) = _messages(rows.n_inputs)
    asked = _questions(X, y)
    start = time.process_time()
    for _ in range(200):
        stack(answers)
    merge = (time.process_time() - start) / 200 / len(answers)
    return Parts(
        size=size,
        points=points,
        inputs=rows.n_inputs,
        steps=steps,
        start_bounds=asked["bound"],
        start_visits=asked["visit"],
        start_rounds=asked["rounds"],
        start_states=asked["state"],
        prepare=_prepare(X, y, sharing),
        judge=_judge(X, y, size, points),
        idle_here=here,
        idle_there=there,
        told=told,
        heard=heard,
        byte=byte,
        merge=merge,
        question=question,
        answer=len(pickle.dumps(answers, protocol=5)) // len(answers),
        state=state,
        whole=whole,
        sharing=sharing,
        sizes=(shares.sizes / shares.sizes.mean()).tolist(),
    )


def _sharing(X: Array, M: int) -> tuple[tuple[float, float, float], Partition]:
    """What sharing out rows costs by n, n M (each looks for its centre) and M^2; and one that was done."""
    few, centres = X[:20_000], X[-2_000:]
    start = time.process_time()
    pairwise_distances_argmin(few, centres)
    look = (time.process_time() - start) / len(few) / len(centres)
    table, seconds = [], []
    for n, m in [(50_000, 100), (100_000, 200), (100_000, 800), (len(X), M)]:
        start = time.process_time()
        shares = partition("balanced", X[:n], m, np.random.default_rng(0))
        seconds.append(max(0.0, time.process_time() - start - n * m * look))
        table.append((n, m * m))
    scale = np.max(table, axis=0)
    found, _ = nnls(np.array(table) / scale, np.array(seconds))
    by_n, by_square = (found / scale).tolist()
    return (by_n, look, by_square), shares


def _steps(rows: Rows, points: int) -> tuple[dict[str, Line], list[Contribution], tuple[float, float]]:
    """Each step's seconds by the rows of an expert; contributions of visits; bytes of a state, and whole."""
    sizes = rows.sizes
    chosen = np.argsort(sizes)[np.linspace(0, len(sizes) - 1, 12).astype(int)].tolist()
    owner, d = Owner(rows), rows.n_inputs
    values = {"s2_kf": np.ones(()), "ell_f": np.full(d, 2.0), "s2_kg": np.ones(()), "ell_g": np.full(d, 4.0)}
    flat = shared_layout(d).pack(values | {"mu0": np.array(-3.0)})
    spent: dict[str, list[list[float]]] = {name: [] for name in STEPS}
    answers: list[Contribution] = []
    for number in chosen:
        tasks: dict[str, Any] = {
            "place": lambda number=number: owner.place([number], points, points, 0, False),
            "visit": lambda number=number: answers.extend(owner.visit([number], flat, Step(0.02, 0.7))),
            "bound": lambda number=number: owner.bound([number], flat),
            "settle": lambda number=number: owner.settle([number], flat, SETTLING),
            "noise": lambda number=number: owner.noise([number], flat),
        }
        for name, task in tasks.items():
            times = []
            for _ in range(1 if name == "place" else 3):
                start = time.process_time()
                task()
                times.append(time.process_time() - start)
            spent[name].append(times)
    counts = sizes[chosen].astype(float)
    lines = {n: Line.through(counts, np.median(times, axis=1)) for n, times in spent.items()}
    bytes_of = [float(np.mean([s.nbytes for s in owner.state(chosen, whole)])) for whole in (False, True)]
    return lines, answers, (bytes_of[0], bytes_of[1])


def _prepare(X: Array, y: Array, sharing: tuple[float, float, float]) -> float:
    """Seconds a row of a fit with few experts that learn next to nothing, without sharing rows out."""
    n, M = len(X), 20
    model = DVSHGP(M, n_inducing_f=1, n_inducing_g=1, optimizer=Passes(1, guard=False), n_jobs=1)
    start = time.process_time()
    model.set_params(random_state=0).fit(X, y)
    spent = time.process_time() - start
    return max(0.0, spent - float(np.dot(sharing, (n, n * M, M * M)))) / n


def _judge(X: Array, y: Array, size: int, points: int) -> float:
    """Seconds an expert of the first prediction for 500 rows: its posterior is made, where it is in reach."""
    M = 20
    model = DVSHGP(
        M,
        n_inducing_f=points,
        n_inducing_g=points,
        optimizer=Passes(1, guard=False),
        n_jobs=1,
        random_state=0,
    )
    model.fit(X[: M * size], y[: M * size])
    model._experts = replace(model._experts, kept=Kept())  # what the fit has looked at is kept otherwise
    start = time.process_time()
    model.predict_dist(X[: M * size : M * size // JUDGED_ROWS])
    return (time.process_time() - start) / len(model.expert_sizes_)


def _messages(d: int) -> tuple[tuple[float, float, float, int], tuple[float, float]]:
    """Seconds of a message at both ends, of a byte here; bytes of a step's question; shares of idling."""
    flat = np.zeros(2 * d + 3)
    question = desk.message(Desk.ask, Call(Owner.visit, [0], [flat, Step(0.02, 0.7)], {}))
    small, rounds = desk.message(Desk.replay, []), 300
    few = 10
    with started(1) as client:
        cluster = Cluster(client, "measured", owned=False)
        address = next(iter(cluster.workers()))
        resident = cluster.install(address, Desk)
        resident.answer(resident.tell(small))
        start, there = time.process_time(), seconds_at(client)
        for _ in range(rounds):
            resident.answer(resident.tell(small))
        told = (time.process_time() - start) / rounds
        heard = (seconds_at(client) - there) / rounds
        rows = [(np.zeros((20_000, d)), np.zeros(20_000))]
        start = time.process_time()
        for _ in range(few):
            large = desk.message(Desk.hold, [0], rows)
            resident.answer(resident.tell(large))
        byte = ((time.process_time() - start) / few - told) / len(large)
        resident.leave()
        began, start, there = time.perf_counter(), time.process_time(), seconds_at(client)
        time.sleep(IDLE)
        passed = time.perf_counter() - began
        idle = (time.process_time() - start) / passed, (seconds_at(client) - there) / passed
    return (told, heard, byte, len(question)), idle


def _questions(X: Array, y: Array) -> Counter[str]:
    """How many bounds and visits of experts first values take, in how many questions; whatever the rows."""
    asked, plain, small = Counter[str](), Serial.ask, 10_000

    def ask(self: Serial[Any], question: Any, numbers: Any, *details: Any, **named: Any) -> list[Any]:
        asked[question.__name__] += len(numbers)
        asked["rounds"] += 1
        return plain(self, question, numbers, *details, **named)

    Serial.ask = ask
    try:
        model = DVSHGP(
            20, n_inducing_f=8, n_inducing_g=8, optimizer=Passes(1, guard=False), n_jobs=1, random_state=0
        )
        model.fit(X[:small], y[:small])
    finally:
        Serial.ask = plain
    M = len(model.expert_sizes_)
    asked["visit"] -= M
    asked["state"] -= M
    asked["rounds"] -= -(-M // lanes_for(M)) + 4  # its steps; place, settle, state, noise
    return asked
