"""How long the command line takes to answer: ``python benchmarks/startup.py``.

The interpreter's own start is measured in the same run, so that a slow or busy machine can be told from a
slow command.
"""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import typer'": ["-c", "import typer"],
    "hgpbench --help": ["-m", "hgpbench", "--help"],
    "hgpbench run --help": ["-m", "hgpbench", "run", "--help"],
    "hgpbench models": ["-m", "hgpbench", "models"],
}
REPEATS = 15


def seconds(words: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    for words in COMMANDS.values():
        seconds(words)  # byte code and disk cache
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):
        for name, words in COMMANDS.items():
            times[name].append(seconds(words))
    bare = min(times["python -c pass"])
    print(f"{'command':28}{'best [s]':>10}{'median [s]':>12}{'/ python':>10}")
    for name, found in times.items():
        print(f"{name:28}{min(found):10.3f}{statistics.median(found):12.3f}{min(found) / bare:10.1f}")


if __name__ == "__main__":
    main()
