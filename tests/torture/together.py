"""Two or three commands on one results folder at once, with kills among them."""

import time

from hgpbench.bench import manifest as manifests
from tests.torture import kills, promises, victims
from tests.torture.command import Started
from tests.torture.problem import CONFIG, NAME, Problem, draw
from tests.torture.rounds import Round

BLOWS = 80  # most of a crowd


def perform(around: Round) -> None:
    """Start them within a moment, strike some, let the others end; once more, then compare."""
    problem = draw(around)
    if problem is None:
        return
    commands: list[Started] = []
    before: promises.Finished = {}
    for number in (1, 2):
        if not around.has_time() or len(before) == problem.runs:
            break
        commands += _at_once(around, problem, around.chance.choice([2, 3]))
        before = promises.check_nothing_lost(around, before, problem.results, f"crowd {number}")
        promises.check_rows(around, problem.results, f"crowd {number}")
        _check_manifest(around, problem, commands)
    promises.finish(around, problem, commands, before)


def _at_once(around: Round, problem: Problem, number: int) -> list[Started]:
    """So many commands, each with all of the plan or with a part of it."""
    chance, started = around.chance, []
    for _ in range(number):
        started.append(problem.place.start("run", CONFIG, *_part(around, problem)))
        time.sleep(chance.choice([0.0, 0.0, chance.uniform(0.0, 1.0)]))
    around.counts[f"rounds with {number} commands"] += 1
    endings = dict.fromkeys(map(id, started), "")
    if chance.random() < 0.7:  # else they are struck while they load and plan
        kills.wait_for_runs(started)
    pause = chance.choice(kills.PAUSES)
    for _ in range(chance.choice([0, *(chance.randint(1, BLOWS) for _ in range(3))])):
        time.sleep(chance.expovariate(1 / pause))
        alive = [command for command in started if command.code is None and not endings[id(command)]]
        if not alive:
            break
        struck = chance.choice(alive)
        kind = kills.strike(around, struck, chance)
        if kind in victims.FINAL:
            endings[id(struck)] = f"{kind} killed"
    for command in started:
        command.wait()
        kills.check_ending(around, command, endings[id(command)] or "ended by itself")
    return started


def _part(around: Round, problem: Problem) -> tuple[str, ...]:
    """Options that choose some of the runs, or none that leave out any."""
    chance = around.chance
    jobs = ("--jobs", str(chance.randint(1, 2)))
    kind = chance.choice(["all", "all", "labels", "seeds"])
    if kind == "labels":
        chosen = chance.sample(problem.labels, chance.randint(1, len(problem.labels)))
        return (*jobs, *(word for label in chosen for word in ("--only", label)))
    if kind == "seeds":
        return (*jobs, "--seeds", f"0-{chance.randint(0, problem.seeds - 1)}")
    return jobs


def _check_manifest(around: Round, problem: Problem, commands: list[Started]) -> None:
    """Every run that a command told of is in the manifest, whoever wrote it last."""
    if not (problem.results / NAME / manifests.MANIFEST).exists():
        return  # all were killed before they had planned
    entries = manifests.read(problem.results / NAME).entries
    listed = {f"{entry.label} seed {entry.seed}" for entry in entries}
    told = {run for command in commands for run, _ in promises.DONE.findall(command.complained)}
    around.expect(told <= listed, f"not in the manifest: {', '.join(sorted(told - listed))}")
