"""Several labels and several commands with one results folder: each run once, and nobody's plan lost."""

from collections.abc import Callable
from pathlib import Path

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from tests.bench.conftest import Command
from tests.bench.test_supervise import start, stored, wait_for_run

Write = Callable[..., Path]


def test_labels_with_the_same_setting_are_one_run(hgpbench: Command, experiment: Write) -> None:
    experiment('a: {model: "troubles:Plain", pause: 0.5}\nb: {model: "troubles:Plain", pause: 0.5}')
    done = hgpbench("run", "mine.yaml", "--jobs", "2")
    assert (done.returncode, done.stdout) == (0, "1 done, 1 cached, 0 failed, 0 skipped\n"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert stored()["a", 0] == stored()["b", 0]


def test_a_run_that_another_command_finished_meanwhile_is_not_run_again(
    experiment: Write, hgpbench: Command, workplace: Path
) -> None:
    experiment('w: {model: "troubles:Waits"}\na: {model: "troubles:Plain"}')
    first = start("run", "mine.yaml")  # has planned both, and waits in the first
    wait_for_run(first)
    assert hgpbench("run", "mine.yaml", "--only", "a").returncode == 0
    [folder] = workplace.glob("results/runs/*/troubles.Plain/[0-9a-f]*-seed0-*")
    before = records.read(folder)
    (workplace / "go").touch()
    output, errors = first.communicate(timeout=60)
    assert output == "1 done, 1 cached, 0 failed, 0 skipped\n", errors
    assert records.read(folder) == before


def test_two_forced_commands_replace_a_result_once(experiment: Write, hgpbench: Command) -> None:
    experiment('a: {model: "troubles:Plain", pause: 0.3}')
    assert hgpbench("run", "mine.yaml").returncode == 0
    folder = Path("results") / manifests.read(Path("results/mine")).entries[0].folder
    commands = [start("run", "mine.yaml", "--force") for _ in range(2)]
    for command in commands:
        command.communicate(timeout=60)
    assert records.read(folder).status == "done"
    assert len([path for path in folder.parent.iterdir() if path.is_dir()]) == 2
