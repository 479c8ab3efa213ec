"""One command after another on a results folder, killed at random moments, each process of it."""

import random
import signal
import time

from tests.torture import promises, victims
from tests.torture.command import Started
from tests.torture.problem import CONFIG, Problem, draw
from tests.torture.rounds import Round

COMMANDS = 8  # most of a round, before the last one
BLOWS = (20, 100)  # least and most of one command
PAUSES = (0.02, 0.1, 0.3, 0.6)  # seconds between two of them, on average; one of these for a command
ENDED = {0, 3}  # all done, or some killed


def perform(around: Round) -> None:
    """Kill commands and their processes until all is done or patience is out, then compare."""
    problem = draw(around)
    if problem is None:
        return
    commands: list[Started] = []
    before: promises.Finished = {}
    for number in range(COMMANDS):
        if not around.has_time() or len(before) == problem.runs:
            break
        command, ending = disturbed(around, problem, ("--jobs", str(around.chance.randint(1, 3))))
        commands.append(command)
        after = f"command {number + 1}, {ending}"
        before = promises.check_nothing_lost(around, before, problem.results, after)
        promises.check_rows(around, problem.results, after)
        if around.chance.random() < 0.15:
            _report(around, problem)
    promises.finish(around, problem, commands, before)


def disturbed(around: Round, problem: Problem, options: tuple[str, ...]) -> tuple[Started, str]:
    """A command that is struck again and again; and how it came to its end."""
    chance = around.chance
    command = problem.place.start("run", CONFIG, *options)
    around.note(f"started {command.process.pid}: {' '.join(command.words)}")
    ending = "ended by itself"
    time.sleep(chance.uniform(0.0, 1.0))
    if chance.random() < 0.85:  # else it is struck while it loads and plans
        wait_for_runs([command])
    pause = chance.choice(PAUSES)
    for _ in range(chance.randint(*BLOWS)):
        time.sleep(chance.expovariate(1 / pause))
        kind = strike(around, command, chance)
        if kind in victims.FINAL:
            ending = f"{kind} killed"
        if kind in victims.FINAL or command.code is not None:
            break
    if command.code is None and ending == "ended by itself" and chance.random() < 0.3:
        ending = end(around, command, chance)
    command.wait()
    around.note(f"{command.process.pid} {ending} with {command.code}: {command.said.strip()}")
    check_ending(around, command, ending)
    if chance.random() < 0.5:  # else the next command meets what is just dying
        alive = problem.place.outlived()
        around.expect(not alive, f"{command}, {ending}, was outlived by {', '.join(map(str, alive))}")
    return command, ending


def strike(around: Round, command: Started, chance: random.Random) -> str:
    """One blow, counted by whom it hit."""
    kind, hit = victims.strike(command.process.pid, chance)
    if hit:
        around.note(f"killed {kind} of {command.process.pid}")
        around.counts["SIGKILLs"] += hit
        around.counts[f"kills of {kind}"] += 1
    return kind if hit else ""


def end(around: Round, command: Started, chance: random.Random) -> str:
    """Kill a command, or interrupt it as a terminal or a system that shuts down does."""
    kind = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    command.process.send_signal(kind)
    if kind == signal.SIGKILL:
        around.counts["SIGKILLs"] += 1
        around.counts["kills of command"] += 1
        return "command killed"
    around.counts["interrupts"] += 1
    return "interrupted"


def check_ending(around: Round, command: Started, ending: str) -> None:
    """Exit codes: that of the signal, 130, or one that the last line agrees with."""
    allowed: set[int | None] = {*ENDED}
    if ending.endswith("killed"):
        allowed |= {-signal.SIGKILL}
    if ending == "interrupted":
        allowed |= {130}
    promises.check_words(around, command, allowed)


def wait_for_runs(commands: list[Started]) -> None:
    """Until one of them has a run under way, or none will."""
    while any(command.code is None for command in commands):
        if any(victims.members(command.process.pid)["run"] for command in commands):
            return
        time.sleep(0.02)


def _report(around: Round, problem: Problem) -> None:
    """A report on a half-finished folder, killed or not, has no traceback and shows what there is."""
    command = problem.place.start("report", problem.results.name, "--out", "report")
    if around.chance.random() < 0.5:
        time.sleep(around.chance.uniform(0.5, 4.0))
        if command.code is None:
            command.process.kill()
            around.counts["SIGKILLs"] += 1
            around.counts["kills of report"] += 1
    code = command.wait()
    around.counts["commands"] += 1
    text = command.said + command.complained
    around.expect("Traceback" not in text, f"{command}: a traceback: {text[-2000:]}")
    around.expect(code in {0, 2, -signal.SIGKILL}, f"{command}: {text[-2000:]}")
