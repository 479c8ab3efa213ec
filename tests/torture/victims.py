"""Who can be killed: the processes of a command by what they are, and the blow itself."""

import random
from contextlib import suppress

import psutil

Members = dict[str, list[psutil.Process]]
# How often each kind is chosen where it is there; "command" and "everything" end the command as well.
WEIGHTS = {"run": 6.0, "worker": 8.0, "server": 0.5, "tracker": 0.2, "command": 0.2, "everything": 0.1}
FINAL = {"command", "everything"}


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
    there = {kind: found for kind, found in members(command).items() if found}
    if not there:
        return "", 0
    kind = chance.choices(list(there), [WEIGHTS[each] for each in there])[0]
    if kind != "everything":
        return kind, int(kill(chance.choice(there[kind])))
    hit = [process for each in there if each != "everything" for process in there[each]]
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
