"""How f weighs its rows once their noise is known: as little, or as much, as left-out rows ask for.

Where noise varies, the rows with less of it should count for more; where e^g stands for what f cannot follow
rather than for noise, weighing by it makes f worse. So powers of e^g are tried, f learned again with each.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hgpbench.columns import Array
from hgpbench.fitting.checkpoint import Arrays
from hgpbench.fitting.nearest import (
    AGAIN,
    FIRST_NEIGHBORS,
    NAMES,
    SURE,
    WORSE,
    Signal,
    Task,
    affordable,
    climbed,
    fittest,
)

POWERS = (0.0, 0.5, 1.0)
HELD = frozenset({"sigma2"})
WIDEST = 12.0  # of log scales about their mean: no row has all the weight
LARGEST = 100.0  # of that mean


def weighted(task: Task, h: Array, power: float) -> Task:
    """The task where residuals have the log scales ``h`` (n,), rows weighed by this power of them."""
    level = float(np.clip(h.mean(), -LARGEST, LARGEST))
    centred = np.clip(h - level, -WIDEST, WIDEST)
    w = np.exp(power * centred)
    return replace(task, w=w, c=np.exp(centred + level) / w)


def relearned(task: Task, found: Signal, max_iter: int) -> Signal:
    """f learned again under the noise of the task, from a small sample; its noise level stays.

    Left free that level would vanish where a few rows repeat others exactly: e^g has room for the rest. And
    where it is small, such rows would decide everything: they take no part.
    """
    again = task.recall(lambda: _relearned(task, found, max_iter))
    values = {name: again[name] for name in NAMES}
    return replace(found, values=values, evaluations=found.evaluations + int(again["evaluations"]))


def _relearned(task: Task, found: Signal, max_iter: int) -> Arrays:
    bound = task.bound(found.kernel, found.values, task.compared(affordable(AGAIN, found.K)), found.K)
    values, evaluations = climbed(bound, found.values, max_iter, HELD)
    return {**values, "evaluations": np.asarray(evaluations)}


def _judged(task: Task, found: Signal) -> tuple[Array, Array]:
    """Log densities of left-out rows, and their squared errors."""

    def judged() -> Arrays:
        density, squares = found.judged(task, task.judged)
        return {"density": density, "squares": squares}

    kept = task.recall(judged)
    return kept["density"], kept["squares"]


def chosen(
    task: Task, found: Signal, others: Sequence[Signal], h: Array, asked: float | None, max_iter: int
) -> tuple[float, Signal] | None:
    """The power by which left-out rows are surely predicted better, and f so learned; None leaves f alone.

    One that is ``asked`` for is taken. Then the ``others`` compete once more: rows that all count alike hide
    a smooth function behind those with the most noise, and a rougher kernel follows these. All of them look
    at few neighbours; more are a later question.
    """
    found = replace(found, K=min(found.K, FIRST_NEIGHBORS))
    plain, errors = _judged(weighted(task, h, 0.0), found)
    best: tuple[float, Signal] | None = None
    most, spent = 0.0, 0
    for power in POWERS if asked is None else (asked,):
        other = weighted(task, h, power)
        again = relearned(other, found, max_iter)
        spent += again.evaluations - found.evaluations
        density, squares = _judged(other, again)
        gain = density - plain
        sure = (
            gain.mean() > SURE * gain.std() / np.sqrt(len(gain)) and squares.mean() <= WORSE * errors.mean()
        )
        if asked is not None or (sure and gain.mean() > most):
            best, most = (power, again), float(gain.mean())
    if best is None:
        return None
    power, again = best
    task = weighted(task, h, power)
    # The noise level of a rival was never learned from all rows; much of it is the data's, not the kernel's.
    known = {name: again.values[name] for name in HELD}
    rivals = [
        relearned(task, replace(rival, K=again.K, values=rival.values | known), max_iter) for rival in others
    ]
    spent += sum(after.evaluations - rival.evaluations for after, rival in zip(rivals, others, strict=True))
    contenders = {rival.kernel: rival for rival in (again, *rivals)}
    if rivals:
        judged = {kernel: _judged(task, rival) for kernel, rival in contenders.items()}
        again = contenders[fittest(judged)]
    return power, replace(again, tried=found.tried, evaluations=found.evaluations + spent)


def improved(task: Task, found: Signal, weighed: Task, again: Signal) -> bool:
    """Whether left-out rows still are predicted better by f ``again`` in its task, after all that followed.

    ``found`` is the f that knows nothing of g, in a task where all rows count alike.
    """
    plain, errors = _judged(task, found)
    density, squares = _judged(weighed, again)
    return bool(density.mean() > plain.mean() and squares.mean() <= WORSE * errors.mean())
