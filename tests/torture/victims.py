"""Who can be killed: the processes of a command by what they are, and the blow itself."""

import random
import time
from contextlib import suppress

import psutil

Members = dict[str, list[psutil.Process]]
# How often each kind is chosen; "command" and "everything" end the command as well.
WEIGHTS = {"run": 12.0, "worker": 12.0, "server": 0.5, "tracker": 0.3, "command": 0.5, "everything": 0.3}
FINAL = {"command", "everything"}
WAIT = {"run": 2.0, "worker": 0.7}  # seconds for the next one where there is none


def members(command: int) -> Members:
    """The living processes of a command: itself, what serves it, its runs and the workers of their experts."""
    found: Members = {kind: [] for kind in WEIGHTS}
    with suppress(psutil.Error):  # whatever ends while we look is not there
        root = psutil.Process(command)
        if not is_alive(root):
            return found
        found["command"] = found["everything"] = [root]
        for child in root.children():
            words = " ".join(child.cmdline())
            if "resource_tracker" in words:
                found["tracker"].append(child)
            elif "forkserver" in words:
                found["server"].append(child)
                found["run"] += [run for run in child.children() if is_alive(run)]
        for run in found["run"]:
            found["worker"] += [worker for worker in run.children(recursive=True) if is_alive(worker)]
    return found


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def strike(command: int, chance: random.Random) -> tuple[str, int]:
    """Kill one process of a command, or all at once; its kind, and how many processes were hit."""
    kind = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    there = members(command)
    end = time.monotonic() + WAIT.get(kind, 0.0)
    while not there[kind] and there["command"] and time.monotonic() < end:
        time.sleep(0.02)
        there = members(command)
    if kind == "worker" and not there["worker"]:
        kind = "run"
    if not there[kind]:
        return "", 0
    if kind != "everything":
        return kind, int(kill(chance.choice(there[kind])))
    hit = [process for each in WEIGHTS if each != "everything" for process in there[each]]
    chance.shuffle(hit)
    return kind, sum(kill(process) for process in hit)


def kill(process: psutil.Process) -> bool:
    """SIGKILL; False where it had ended already."""
    if not is_alive(process):
        return False
    try:
        process.kill()
    except psutil.Error:
        return False
    return True
