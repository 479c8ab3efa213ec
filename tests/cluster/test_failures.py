"""What a cluster may do to runs: each ends in the right table or in one clear line."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench import record as records
from hgpbench.bench.record import Record
from tests.cluster.conftest import furnish, write
from tests.cluster.machines import PATIENCE, Machines, wait_until

Write = Callable[..., None]
PLAIN = 'a: {model: "troubles:Plain", pause: 1.0}\nb: {model: "troubles:Plain", shift: 1.0, pause: 0.5}'


def start(*words: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "hgpbench", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)


def hgpbench(*words: str) -> tuple[int, str, str]:
    done = start(*words)
    output, errors = done.communicate(timeout=PATIENCE)
    return done.returncode, output, errors


def stored(results: Path = Path("results")) -> dict[tuple[str, int], Record]:
    manifest = manifests.read(results / "mine")
    return {(e.label, e.seed): records.read(results / e.folder) for e in manifest.entries}


def attempts(results: Path = Path("results")) -> dict[str, str]:
    """The attempt of every run that is done."""
    found = {str(folder): records.find(folder) for folder in results.glob("runs/*/*/*/")}
    return {k: v.provenance["attempt"] for k, v in found.items() if v is not None and v.status == "done"}


def same_as(calm: Path, results: Path = Path("results")) -> None:
    """Predictions to the bit, of all runs."""
    expected, actual = manifests.read(calm / "mine"), manifests.read(results / "mine")
    assert expected == actual
    for entry in expected.entries:
        one, two = records.read_arrays(calm / entry.folder), records.read_arrays(results / entry.folder)
        np.testing.assert_array_equal(one.y, two.y)
        for name, values in one.prediction.arrays().items():
            np.testing.assert_array_equal(values, two.prediction.arrays()[name])


@pytest.fixture(scope="session")
def calm(network: Machines) -> Path:
    """What twelve runs give on one machine."""
    folder = network.hidden / "calm"
    folder.mkdir()
    furnish(folder)
    write(folder, PLAIN, "repeats: 6\n")
    command = start("run", "mine.yaml", "--jobs", "2", cwd=folder)
    _, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, errors
    return folder / "results"


@pytest.fixture
def twelve(experiment: Write, machines: Machines, calm: Path) -> Machines:
    """Three workers, and twelve runs to do."""
    experiment(PLAIN, "repeats: 6\n")
    machines.up("abc")
    return machines


def finished(count: int) -> None:
    """Wait until so many runs are done."""
    wait_until(lambda: len(attempts()) >= count, f"there are no {count} finished runs")


@pytest.mark.parametrize("victims", ["", "a", "ab"])
def test_lost_machines_cost_no_run(twelve: Machines, calm: Path, victims: str) -> None:
    command = start("run", "mine.yaml", "--cluster", twelve.address)
    finished(2)
    before = attempts()
    for victim in victims:
        twelve.known[victim].kill()
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (0, "12 done, 0 cached, 0 failed, 0 skipped\n"), errors
    assert before.items() <= attempts().items()
    assert errors.count("done ") == 12
    same_as(calm)


def test_a_lost_scheduler_is_one_line_and_the_rest_is_done_later(twelve: Machines, calm: Path) -> None:
    command = start("run", "mine.yaml", "--cluster", twelve.address)
    finished(2)
    twelve.known["scheduler"].kill()
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (2, ""), errors
    assert "is gone, or cannot be reached any more" in errors.splitlines()[-1]
    before = attempts()
    twelve.up("abc")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", twelve.address)
    assert code == 0, errors
    assert output == f"{12 - len(before)} done, {len(before)} cached, 0 failed, 0 skipped\n"
    assert before.items() <= attempts().items()
    same_as(calm)


def test_a_machine_that_is_cut_off_is_as_lost(twelve: Machines, calm: Path) -> None:
    if not twelve.apart:
        pytest.skip("needs network namespaces")
    command = start("run", "mine.yaml", "--cluster", twelve.address)
    finished(2)
    twelve.cut("a")
    finished(9)
    twelve.cut("a", off=False)  # what it did meanwhile is not taken
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (0, "12 done, 0 cached, 0 failed, 0 skipped\n"), errors
    assert errors.count("done ") == 12
    same_as(calm)


def test_a_machine_that_was_cut_off_before_is_left_aside(twelve: Machines, calm: Path) -> None:
    if not twelve.apart:
        pytest.skip("needs network namespaces")
    twelve.cut("a")
    assert len(twelve.workers()) == 3  # it is still listed
    command = start("run", "mine.yaml", "--cluster", twelve.address)
    finished(4)
    twelve.cut("a", off=False)  # it may come back, as itself or as a new one
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (0, "12 done, 0 cached, 0 failed, 0 skipped\n"), errors
    same_as(calm)


def test_a_slow_machine_is_waited_for(twelve: Machines, calm: Path) -> None:
    command = start("run", "mine.yaml", "--cluster", twelve.address)
    finished(2)
    twelve.known["a"].send(signal.SIGSTOP)
    finished(5)
    twelve.known["a"].send(signal.SIGCONT)
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (0, "12 done, 0 cached, 0 failed, 0 skipped\n"), errors
    same_as(calm)


def test_another_version_is_refused_in_one_line(
    experiment: Write, machines: Machines, tmp_path: Path
) -> None:
    experiment(PLAIN)
    machines.up("ab")
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import hgpbench\nhgpbench.__version__ = '9.9.9'\n")
    machines.worker("c", path=str(other))
    machines.await_workers("abc")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)
    assert (code, output) == (2, "")
    address = re.escape(machines.known["c"].address)
    assert re.fullmatch(
        rf"hgpbench: worker tcp://{address}:\d+ has hgpbench 9.9.9 and not 0.1.0; "
        r"install the same versions on both sides\n",
        errors,
    )
    assert not list(Path("results").glob("runs/*/*/*/record.json"))


def test_data_and_models_travel_to_machines_that_lack_them(
    experiment: Write, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))
    np.savetxt("own.csv", rows, delimiter=",", header="p,q,y", comments="")
    assert hgpbench("fetch", "--csv", "own.csv", "--target", "y", "--name", "own")[0] == 0
    experiment('a: {model: "troubles:Plain"}\nv: {model: vshgp, max_iter: 3}', "repeats: 3\n", "own")
    assert hgpbench("run", "mine.yaml", "--out", "calm")[0] == 0
    machines.up("ab")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)
    assert (code, output) == (0, "6 done, 0 cached, 0 failed, 0 skipped\n"), errors
    same_as(Path("calm"))
    if machines.apart:  # otherwise they see the folder of the command
        sent = list(machines.root.glob("*/**/hgpbench/data/*/own.h5"))
        assert 1 <= len(sent) <= 2  # once a worker


def test_a_full_disk_is_somebody_elses_run(experiment: Write, machines: Machines) -> None:
    if not machines.apart:
        pytest.skip("needs a small disk")
    rows = np.random.default_rng(0).normal(size=(100_000, 3))
    np.savetxt("own.csv", rows, delimiter=",", header="p,q,y", comments="", fmt="%.6g")
    assert hgpbench("fetch", "--csv", "own.csv", "--target", "y", "--name", "own")[0] == 0
    experiment(PLAIN, "repeats: 2\n", "own")
    machines.up("a")
    machines.worker("b", small="1m")
    machines.await_workers("ab")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)
    assert (code, output) == (0, "4 done, 0 cached, 0 failed, 0 skipped\n"), errors
    assert "No space left on device" in errors


def test_runs_that_no_worker_survives_are_rows(experiment: Write, machines: Machines) -> None:
    experiment('k: {model: "troubles:KillsEverybody"}\nb: {model: "troubles:Plain"}')
    machines.up("a")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)
    assert (code, output) == (3, "1 done, 0 cached, 1 failed, 0 skipped\n"), errors
    row = stored()["k", 0]
    assert row.status == "killed"
    assert str(row.reason).startswith("given up after 3 workers: worker tcp://")


def test_a_run_goes_on_elsewhere_from_its_checkpoint(experiment: Write, machines: Machines) -> None:
    experiment('c: {model: "troubles:Continues"}')
    machines.up("a")
    command = start("run", "mine.yaml", "--cluster", machines.address)
    wait_until(lambda: bool(list(Path("results").rglob("checkpoint.h5"))), "no checkpoint came back")
    machines.known["a"].kill()
    machines.worker("b")
    output, errors = command.communicate(timeout=PATIENCE)
    assert (command.returncode, output) == (0, "1 done, 0 cached, 0 failed, 0 skipped\n"), errors
    assert stored()["c", 0].fit["resumed_after"] == 89.5
    assert not list(Path("results").rglob("checkpoint.h5"))


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_runs_end_with_their_command(experiment: Write, machines: Machines, kind: signal.Signals) -> None:
    experiment('c: {model: "troubles:Continues"}\nb: {model: "troubles:Plain"}')
    machines.up("ab")
    command = start("run", "mine.yaml", "--cluster", machines.address)
    wait_until(lambda: bool(list(Path("results").rglob("checkpoint.h5"))), "no checkpoint came back")
    command.send_signal(kind)
    _, errors = command.communicate(timeout=PATIENCE)
    if kind != signal.SIGKILL:
        assert command.returncode == 130
        assert errors.splitlines()[-1].endswith("type the same command to continue")
        assert stored()["c", 0].status == "killed"

    def quiet() -> bool:
        names = [" ".join(p.cmdline()) for name in "ab" for p in machines.known[name].members()]
        return not any("forkserver" in name and "hgp-run" in name for name in names) and not fitting()

    def fitting() -> list[Path]:
        return list(machines.root.rglob("checkpoint.h5"))

    wait_until(quiet, "a run outlived its command")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)
    assert (code, output.split(", ")[2:]) == (0, ["0 failed", "0 skipped\n"]), errors
    assert stored()["c", 0].fit["resumed_after"] == 89.5


def test_tls_all_the_way(experiment: Write, machines: Machines, tmp_path: Path) -> None:
    keys = certificates(tmp_path)
    machines.tls = keys
    experiment(PLAIN)
    machines.up("ab")
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address, *keys)
    assert (code, output) == (0, "2 done, 0 cached, 0 failed, 0 skipped\n"), errors
    code, _, errors = hgpbench("run", "mine.yaml", "--cluster", machines.address)  # without the keys
    assert code == 2
    assert len(errors.splitlines()) == 1
    local = hgpbench("run", "mine.yaml", "--force", "--cluster", "local:2", *keys)
    assert local[:2] == (0, "2 done, 0 cached, 0 failed, 0 skipped\n"), local[2]


def certificates(folder: Path) -> list[str]:
    """The options of TLS, with files that serve every part."""
    from distributed import Security

    made = Security.temporary()
    texts = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, text in texts.items():
        (folder / f"{name}.pem").write_text(text)
    return [word for name in texts for word in (f"--tls-{name}", str(folder / f"{name}.pem"))]


def test_a_schedulers_file_is_as_good_as_its_address(experiment: Write, machines: Machines) -> None:
    experiment(PLAIN)
    machines.up("ab")
    code, output, errors = hgpbench("run", "mine.yaml", "--scheduler-file", str(machines.file))
    assert (code, output) == (0, "2 done, 0 cached, 0 failed, 0 skipped\n"), errors


def test_a_scheduler_that_is_not_there_is_one_line(experiment: Write) -> None:
    experiment(PLAIN)
    code, output, errors = hgpbench("run", "mine.yaml", "--cluster", "tcp://127.0.0.1:9")
    assert (code, output) == (2, "")
    assert errors.startswith("hgpbench: tcp://127.0.0.1:9: no scheduler of Dask answers")
    assert len(errors.splitlines()) == 1
