"""The rounds of a comparison: each is an experiment like any other, its file kept beside its results."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from hgpbench import config, files
from hgpbench.bench import effort, halving
from hgpbench.bench import record as records
from hgpbench.bench.campaign import Options, prepare
from hgpbench.bench.entrants import BASELINES, entrants, unsuited
from hgpbench.bench.halving import CHOOSING_SEED, Params, Plan, Result
from hgpbench.bench.standings import processor_seconds, standings, troubles
from hgpbench.cluster import Cluster
from hgpbench.commands import campaigns
from hgpbench.commands.endings import say
from hgpbench.config import yamlfile
from hgpbench.errors import FitError
from hgpbench.units import show_seconds

LEAST_SECONDS = 20.0  # of processor time that a run may take, whatever the budget
PATIENCE = 60  # times its processor time may a run take: a bound for one that waits for ever, on any load
FEWER = 3  # times fewer rows for a model that took too long
DEARER = 1.5  # times as long as planned may a further round take, and still leave enough
AGAIN = 0.5  # of the budget, at least, for another last round where the leader took too long for one


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
    budget: float  # seconds, with all processors at work
    results: Path
    parallel: int
    command: str
    place: ForkServerContext | Cluster
    repeats: int | None = None
    spent: float = 0.0  # seconds of processor time
    cut: list[str] = field(default_factory=list)  # sentences: who or what was left out, and why
    chosen: list[str] = field(default_factory=list)  # sentences: how the rounds before the last ended
    # Who may be the best with all rows and took no part, and a budget for all that may be.
    enough: tuple[tuple[str, ...], float] = ((), 0.0)

    @property
    def left(self) -> float:
        """Seconds of processor time that the budget still has."""
        return max(0.0, self.budget * self.parallel - self.spent)

    def run(self) -> None:
        """All rounds, and the last one, which the report is on."""
        full, test = halving.sizes(self.rows)
        repeats = self.repeats or halving.seeds(full)
        rows = halving.first(full, self._guess, halving.FIRST_SHARE * self.left)
        ranked = self._guessed(rows)
        self.cut += [f"{label}, not made for {rows:,} rows" for label in unsuited(rows, self.models)]
        if rows == full:  # nobody is cut by a guess: whether all seeds are affordable, the first will tell
            self._last(self._final(ranked, full, 1, self.left), ranked, full, test, repeats)
            return
        ranked = self._round(rows, min(test, 2_000), ranked, [each.label for each in ranked])
        while (rows := rows * halving.GROWTH) * 2 <= full:
            further = self._further(ranked, rows, full, repeats)
            if further is None:
                break
            ranked = self._round(rows, min(test, 2_000), ranked, further)
        self._last(self._final(ranked, full, repeats, self.left), ranked, full, test, repeats)

    def _guess(self, rows: int) -> float:
        """What a look at all entrants with so many rows should take."""
        return sum(each.seconds for each in self._guessed(rows))

    def _guessed(self, rows: int) -> list[Result]:
        """The entrants by what they should cost, before anything is known of their scores."""
        given = entrants(rows, self.models)
        guesses = {label: effort.seconds(label, params, rows, self.inputs) for label, params in given.items()}
        found = [Result(label, 0.0, guesses[label] or 1.0, rows, params) for label, params in given.items()]
        return sorted(found, key=lambda each: (each.label not in BASELINES, each.seconds))

    def _final(self, ranked: Sequence[Result], full: int, repeats: int, left: float) -> Plan:
        """The best last round in so much time."""
        params = partial(entrants, asked=self.models)
        return halving.final(ranked, full, repeats, left, self.inputs, params, self.parallel)

    def _further(self, ranked: Sequence[Result], rows: int, full: int, repeats: int) -> list[str] | None:
        """Whom a further round with so many rows would be among; None where it is not worth its time."""
        given = entrants(rows, self.models)
        going = halving.contenders(ranked, given, self.left)
        allowed = halving.FIRST_SHARE * self.left
        planned = halving.fitting(going, rows, 1, allowed, self.inputs, given, 0, self.parallel)
        after = [each for each in going if each.label in planned.labels]
        now = self._final(ranked, full, repeats, self.left)
        then = self._final(after, full, repeats, self.left - DEARER * planned.seconds)
        if not halving.worthwhile(now, then):
            return None
        self.cut += planned.cut
        for label in [each.label for each in ranked if each not in going]:
            behind = f"behind on {ranked[0].rows:,} rows"
            self.cut.append(f"{label}, {behind if label in given else f'not made for {rows:,} rows'}")
        return list(planned.labels)

    def _round(self, rows: int, test: int, ranked: Sequence[Result], labels: Sequence[str]) -> list[Result]:
        """One of the earlier rounds; gives those that were in it, the best first.

        Whoever takes too long gets another chance with fewer rows.
        """
        given, before = entrants(rows, self.models), {each.label: each for each in ranked}
        say(f"{', '.join(labels)}: {rows:,} rows, to choose from", err=True)
        expected = [
            before[label].seconds * before[label].growth(rows, self.inputs, given) for label in labels
        ]
        limit = max(LEAST_SECONDS, self.left / 4, halving.SLACK_OF_GUESSES * max(expected))
        results, late = self._scored(rows, test, labels, limit)
        if late and rows // FEWER >= halving.FEWEST_ROWS:
            able = [label for label in late if label in entrants(rows // FEWER, self.models)]
            again, _ = self._scored(rows // FEWER, test, able, limit)
            results += [each.taking(limit, rows, self.inputs, given) for each in again]
        found = sorted((each.after(before.get(each.label)) for each in results), key=lambda each: each.msll)
        self.chosen.append(_told(found, rows))
        say(self.chosen[-1], err=True)
        return found

    def _scored(
        self, rows: int, test: int, labels: Sequence[str], limit: float
    ) -> tuple[list[Result], list[str]]:
        """The scores of models with one seed, and who took too long; others without a score are cut."""
        if not labels:
            return [], []
        given, name = entrants(rows, self.models), f"{self.name}-{rows}"
        self._perform(name, {label: given[label] for label in labels}, rows, test, (CHOOSING_SEED,), limit)
        return self._standings(name, given, labels, rows, CHOOSING_SEED)

    def _standings(
        self, name: str, given: Mapping[str, Params], labels: Sequence[str], rows: int, seed: int
    ) -> tuple[list[Result], list[str]]:
        """The scores of an experiment, and who took too long; whoever has no score is told."""
        results = standings(self.results, name, given, labels, rows, seed)
        done = {each.label for each in results}
        missing = troubles(self.results, name, [label for label in labels if label not in done], seed)
        self.cut += [f"{label} with {rows:,} rows ({each.reason})" for label, each in missing.items()]
        return results, [label for label, each in missing.items() if each.is_late]

    def _last(self, plan: Plan, ranked: Sequence[Result], full: int, test: int, repeats: int) -> None:
        """The seeds of the report: a first one, and the others for those that there is time for."""
        if not plan.labels:
            raise FitError(f"no model could be fitted: {'; '.join(self.cut)}")
        limit = max(LEAST_SECONDS, plan.limit(self.left))
        results, late = self._first_seed(plan, test, repeats, limit)
        if self._has_lost_its_leader(plan, ranked, late):
            given = entrants(plan.rows, self.models)
            ranked = [
                each.taking(limit, plan.rows, self.inputs, given) if each.label in late else each
                for each in ranked
            ]
            left = max(self.left, AGAIN * self.budget * self.parallel)
            plan = self._final(ranked, full, repeats, left)
            limit = max(LEAST_SECONDS, plan.limit(left))
            results, _ = self._first_seed(plan, test, repeats, limit)
        self.cut += plan.cut
        sized = entrants(full, self.models)
        leaders, seconds = halving.enough(ranked, full, repeats, self.inputs, sized, self.parallel)
        done = [each.label for each in results]
        self.enough = tuple(label for label in leaders if label not in done), seconds
        labels, cut = halving.affordable(results, repeats - 1, self.left)
        self.cut += cut
        given = entrants(plan.rows, self.models)
        further = {label: given[label] for label in labels}
        if further:
            self._perform(self.name, further, plan.rows, test, range(1, repeats), limit)

    def _first_seed(
        self, plan: Plan, test: int, repeats: int, limit: float
    ) -> tuple[list[Result], list[str]]:
        """The scores of all that were planned with the first seed, and who took too long."""
        seconds = max(1.0, repeats * plan.seconds / plan.repeats / self.parallel)
        say(
            f"{len(plan.labels)} models, {repeats} seeds, {plan.rows:,} training and {test:,} test rows: "
            f"about {show_seconds(seconds)}, longer where the machine has other work",
            err=True,
        )
        given = entrants(plan.rows, self.models)
        chosen = {label: given[label] for label in plan.labels}
        self._perform(self.name, chosen, plan.rows, test, (0,), limit)
        return self._standings(self.name, given, plan.labels, plan.rows, 0)

    def _has_lost_its_leader(self, plan: Plan, ranked: Sequence[Result], late: Sequence[str]) -> bool:
        """Whether the model that should have been the best took too long."""
        return any(each.label in late and each.expected(plan.rows) <= plan.hope for each in ranked)

    def _perform(
        self,
        name: str,
        models: Mapping[str, Mapping[str, Any]],
        rows: int,
        test: int,
        seeds: Sequence[int],
        limit: float,
    ) -> None:
        """Run an experiment whose file is written beside its results."""
        body = {
            "name": name,
            "title": self.title,
            "dataset": self.dataset,
            "split": {"train": rows, "test": test, **self.split},
            "repeats": max(3, self.repeats or halving.seeds(rows)),
            "limits": {
                "cpu": f"{math.ceil(limit)}s",
                "wall": f"{math.ceil(PATIENCE * limit)}s",
                "threads": 1,
            },
            "models": dict(models),
        }
        path = self.results / name / f"{name}.yaml"
        experiment = config.check(yamlfile.parse(_yaml(body), path))
        options = Options(
            results=self.results,
            seeds=tuple(seeds),
            parallel=self.parallel,
            retry_failed=True,  # a longer budget may have the time that an earlier comparison had not
            command=self.command,
        )
        prepared = prepare(experiment, options)
        files.write_text(path, _yaml(body))
        campaigns.perform([prepared], self.place)
        self._account([self.results / job.folder for job in prepared.due])

    def _account(self, folders: Sequence[Path]) -> None:
        """Take what runs took from the budget; the longest holds up the others, however many there are."""
        ended = [record for record in map(records.find, folders) if record is not None]
        took = [processor_seconds(record) + halving.OVERHEAD for record in ended]
        self.spent += max(sum(took), self.parallel * max(took, default=0.0))


def _told(found: Sequence[Result], rows: int) -> str:
    """How a round ended, the best first."""
    each = (
        f"{one.label} {one.msll:.2f}{f' ({one.rows:,} rows)' if one.rows < rows else ''}"
        for one in found
        if one.label not in BASELINES
    )
    return f"{rows:,} rows, seed {CHOOSING_SEED}, MSLL: {', '.join(each)}"


def _yaml(body: Mapping[str, Any]) -> str:
    """An experiment file to read and to run again; JSON's flow is YAML's, too."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in body.items() if key != "models"]
    models = [f"  {label}: {json.dumps(params)}" for label, params in body["models"].items()]
    return "\n".join(["# Written by `hgpbench compare`.", *lines, "models:", *models]) + "\n"
