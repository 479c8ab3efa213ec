"""The rounds of a comparison: each is an experiment like any other, its file kept beside its results."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from hgpbench import config, files
from hgpbench.bench import effort, halving
from hgpbench.bench.campaign import Options, prepare
from hgpbench.bench.entrants import BASELINES, entrants
from hgpbench.bench.halving import Result
from hgpbench.bench.standings import reasons_of, standings
from hgpbench.cluster import Cluster
from hgpbench.commands import campaigns
from hgpbench.commands.endings import say
from hgpbench.config import yamlfile
from hgpbench.units import show_seconds

LEAST_SECONDS = 20.0  # that a run may take, whatever the budget


@dataclass
class Contest:
    """A table, the time for it, and what has been found out so far."""

    name: str
    title: str
    dataset: str
    rows: int  # that a split can use
    inputs: int
    split: Mapping[str, str]  # what a split says besides counts
    models: tuple[str, ...]
    budget: float
    results: Path
    parallel: int
    command: str
    place: ForkServerContext | Cluster
    repeats: int | None = None
    started: float = field(default_factory=time.monotonic)
    cut: list[str] = field(default_factory=list)
    trained: int = 0  # rows of the last round

    @property
    def left(self) -> float:
        """Seconds of processor time that the budget still has."""
        return max(0.0, self.budget - (time.monotonic() - self.started)) * self.parallel

    def run(self) -> None:
        """All rounds, and the last one, which the report is on."""
        full, test = halving.sizes(self.rows)
        earlier = halving.rounds(full)
        ranked = self._guessed(earlier[0] if earlier else full)
        for number, rows in enumerate(earlier):
            share = self.left / (len(earlier) - number + 1)
            if number and not self._has_room(rows, ranked, share):
                break
            ranked = self._round(rows, min(test, 2_000), ranked, share, guessed=number == 0)
        repeats = self.repeats or halving.seeds(full)
        plan = halving.final(
            ranked, full, repeats, self.left, self.inputs, lambda n: entrants(n, self.models)
        )
        self.cut += plan.cut
        self.trained = plan.rows
        say(
            f"{len(plan.labels)} models, {repeats} seeds, {plan.rows:,} training and {test:,} test rows: "
            f"about {show_seconds(max(1.0, plan.seconds / self.parallel))}",
            err=True,
        )
        self._last(plan.rows, test, list(plan.labels), repeats, plan.wall(self.left, repeats))

    def _guessed(self, rows: int) -> list[Result]:
        """The entrants by what they should cost, before anything is known of their scores."""
        given = entrants(rows, self.models)
        guesses = {label: effort.seconds(label, params, rows, self.inputs) for label, params in given.items()}
        found = [Result(label, 0.0, guesses[label] or 1.0, rows, params) for label, params in given.items()]
        return sorted(found, key=lambda each: (each.label not in BASELINES, each.seconds))

    def _has_room(self, rows: int, ranked: Sequence[Result], seconds: float) -> bool:
        """Whether a round leaves the leaders their chance: else it would choose by time and not by scores."""
        given = entrants(rows, self.models)
        repeats = len(halving.CHOOSING_SEEDS)
        labels, _, _ = halving.fitting(ranked, rows, repeats, seconds, self.inputs, given)
        return all(label in labels for label in halving.leaders(ranked, given))

    def _round(
        self, rows: int, test: int, ranked: Sequence[Result], seconds: float, guessed: bool
    ) -> list[Result]:
        """One of the earlier rounds; gives those that go on, the best first. Nobody is cut by a guess."""
        given, seeds = entrants(rows, self.models), halving.CHOOSING_SEEDS
        allowed = math.inf if guessed else seconds
        labels, _, cut = halving.fitting(ranked, rows, len(seeds), allowed, self.inputs, given)
        say(f"{', '.join(labels)}: {rows:,} rows, to choose from", err=True)
        name, wall = f"{self.name}-{rows}", max(LEAST_SECONDS, seconds / 4)
        going = labels
        for seed in seeds:  # whoever takes too long does so once
            self._perform(name, {label: given[label] for label in going}, rows, test, (seed,), wall)
            done = {each.label for each in standings(self.results, name, given, going, rows)}
            self.cut += self._unfinished(name, [label for label in going if label not in done], rows)
            going = [label for label in going if label in done]
        results = standings(self.results, name, given, going, rows)
        kept = halving.survivors(results)
        names = {each.label for each in kept}
        self.cut += cut
        self.cut += [f"{each.label}, behind on {rows:,} rows" for each in results if each.label not in names]
        return kept

    def _last(self, rows: int, test: int, labels: list[str], repeats: int, wall: float) -> None:
        """The seeds of the report, one after the other: who takes too long with the first does not go on."""
        given = entrants(rows, self.models)
        for seed in range(repeats):
            chosen = {label: given[label] for label in labels}
            self._perform(self.name, chosen, rows, test, (seed,), max(LEAST_SECONDS, wall))
            if seed == 0:
                results = {
                    each.label: each for each in standings(self.results, self.name, given, labels, rows)
                }
                gone = [label for label in labels if label not in results]
                self.cut += self._unfinished(self.name, gone, rows)
                labels, cut = halving.affordable(list(results.values()), repeats - 1, self.left)
                self.cut += cut

    def _unfinished(self, name: str, labels: Sequence[str], rows: int) -> list[str]:
        reasons = reasons_of(self.results, name, labels)
        return [f"{label} with {rows:,} rows ({reasons[label]})" for label in labels]

    def _perform(
        self,
        name: str,
        models: Mapping[str, Mapping[str, Any]],
        rows: int,
        test: int,
        seeds: Sequence[int],
        wall: float,
    ) -> None:
        """Run an experiment whose file is written beside its results."""
        body = {
            "name": name,
            "title": self.title,
            "dataset": self.dataset,
            "split": {"train": rows, "test": test, **self.split},
            "repeats": max(3, self.repeats or halving.seeds(rows)),
            "limits": {"wall": f"{math.ceil(wall)}s", "threads": 1},
            "models": dict(models),
        }
        path = self.results / name / f"{name}.yaml"
        experiment = config.check(yamlfile.parse(_yaml(body), path))
        options = Options(
            results=self.results, seeds=tuple(seeds), parallel=self.parallel, command=self.command
        )
        prepared = prepare(experiment, options)
        files.write_text(path, _yaml(body))
        campaigns.perform([prepared], self.place)


def _yaml(body: Mapping[str, Any]) -> str:
    """An experiment file to read and to run again; JSON's flow is YAML's, too."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in body.items() if key != "models"]
    models = [f"  {label}: {json.dumps(params)}" for label, params in body["models"].items()]
    return "\n".join(["# Written by `hgpbench compare`.", *lines, "models:", *models]) + "\n"
