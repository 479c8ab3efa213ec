"""A small random problem: a table of its own, an experiment with every kind of model, and its calm results."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.torture.command import Place
from tests.torture.rounds import Round

CONFIG, SERIAL, NAME = "mine.yaml", "serial.yaml", "mine"
CALM, RESULTS = "calm", "results"  # results folders: of an undisturbed run, and of the others


@dataclass(frozen=True)
class Problem:
    """An experiment, ready to be run in a place."""

    place: Place
    labels: tuple[str, ...]
    seeds: int

    @property
    def runs(self) -> int:
        return len(self.labels) * self.seeds

    @property
    def calm(self) -> Path:
        return self.place.work / CALM

    @property
    def results(self) -> Path:
        return self.place.work / RESULTS


def draw(around: Round) -> Problem | None:
    """Write the problem, import its table and run it undisturbed; None where even that went wrong."""
    place, chance = Place(around.folder), around.chance
    shutil.copy(Path(__file__).with_name("hasty.py"), place.work)
    rows = chance.randint(110, 200)
    _write_table(place.work / "table.csv", rows, inputs=chance.randint(1, 3), seed=chance.randrange(2**31))
    models, seeds = _models(chance), chance.randint(8, 12)
    text = f"name: {NAME}\ndataset: drawn\nsplit: {{train: {rows - 30}, test: 30}}\nrepeats: {seeds}\n"
    text += "limits: {threads: 1}\nmodels:\n" + "".join(f"  {each}\n" for each in models)
    (place.work / CONFIG).write_text(text)
    (place.work / SERIAL).write_text(text.replace("n_jobs: 2", "n_jobs: 1"))  # which changes no bit
    problem = Problem(place, tuple(each.partition(":")[0] for each in models), seeds)
    fetch = place.run("fetch", "--csv", "table.csv", "--target", "y", "--name", "drawn")
    calm = place.run("run", SERIAL, "--out", CALM, "--jobs", "2")
    for command in (fetch, calm):
        if not around.expect(command.code == 0, f"undisturbed, {command}: {command.complained[-2000:]}"):
            return None
    around.counts["commands"] += 2
    around.note("the undisturbed run is done")
    return problem


def _models(chance: random.Random) -> list[str]:
    """Lines of a config: each model with a few small settings, at random."""

    def some(low: int, high: int) -> int:
        return chance.randint(low, high)

    passes, guard = some(3, 7), chance.choice(["true", "false"])
    points = f"n_inducing_f: {some(4, 9)}, n_inducing_g: {some(4, 9)}"
    tolerance = chance.choice(["", ", tol: 0.01", ", holdout: 0.1"])
    return [
        f'experts: {{model: "hasty:Experts", n_experts: {some(4, 6)}, {points}, n_jobs: 2, '
        f'optimizer: "natural(n_passes={passes}, guard={guard})"}}',
        f'batches: {{model: "hasty:Batches", {points}, batch_size: {some(15, 40)}, max_iter: {some(15, 35)}{tolerance}}}',
        f'plain: {{model: "hasty:Plain", n_inducing: {some(4, 9)}, batch_size: {some(15, 40)}, max_iter: {some(15, 35)}}}',
        f"rbcm: {{n_experts: {some(2, 4)}, max_iter: {some(5, 15)}, n_jobs: {chance.choice([1, 1, 2])}}}",
        f"vsgp: {{n_inducing: {some(5, 12)}, max_iter: {some(5, 15)}}}",
    ]


def _write_table(path: Path, rows: int, inputs: int, seed: int) -> None:
    """Noise that grows along the first input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, inputs))
    y = np.sin(2 * X).sum(axis=1) + np.exp(0.5 * X[:, 0] - 1) * rng.standard_normal(rows)
    header = ",".join([*(f"x{number}" for number in range(inputs)), "y"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=header, comments="", fmt="%.17g")
