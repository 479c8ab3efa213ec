"""Which experiments of the paper run with the data at hand."""

from pathlib import Path

import numpy as np
import pytest

from hgpbench import config, shipped
from hgpbench.data import store
from hgpbench.data.split import Split
from hgpbench.errors import ConfigError
from hgpbench.paper import reproduce


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HGPBENCH_DATA", str(tmp_path))
    return tmp_path


def put(folder: Path, name: str, variant: str | None = None) -> None:
    table = store.Table(np.random.default_rng(0).standard_normal((40, 2)), np.arange(40.0), ("a", "b"), "y")
    file = f"{name}.{variant}.h5" if variant else f"{name}.h5"
    about = store.About(name, variant, "", "", "", "", "here", "", Split(30, 10))
    store.write(folder / file, table, about)


def test_without_data_the_synthetic_experiments_remain(folder: Path) -> None:
    choice = reproduce.choose((), quick=False)
    drawn = [
        "toy",
        "toy-lambda",
        "toy-convergence",
        "toy-rows-500",
        "toy-rows-2000",
        "toy-rows-8000",
        "sinc2d",
    ]
    assert [e.name for e in choice.experiments] == drawn
    assert [line.split()[0] for line in choice.missing] == [
        name for name in reproduce.EXPERIMENTS if config.load(name).dataset not in {"toy", "sinc2d"}
    ]
    assert all("hgpbench fetch" in line for line in choice.missing)


def test_a_part_of_the_data_is_run_under_its_own_name(folder: Path) -> None:
    put(folder, "sarcos", "subset")
    choice = reproduce.choose(("sarcos",), quick=True)
    (experiment,) = choice.experiments
    assert (experiment.name, experiment.variant) == ("sarcos-subset-quick", "subset")
    (line,) = choice.replaced
    assert line == "sarcos: the full dataset is not here; sarcos-subset-quick runs on sarcos:subset instead"


def test_the_full_data_come_first(folder: Path) -> None:
    put(folder, "sarcos")
    put(folder, "sarcos", "subset")
    choice = reproduce.choose(("sarcos",), quick=False)
    assert [e.name for e in choice.experiments] == ["sarcos"]
    assert not choice.replaced


def test_a_named_experiment_must_be_able_to_run(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"electric: .*hgpbench fetch electric"):
        reproduce.choose(("toy", "electric"), quick=False)


def test_an_unknown_experiment_is_named_with_the_nearest(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"'toi' is not an experiment of the paper; did you mean 'toy'\?"):
        reproduce.choose(("toi",), quick=False)


def test_every_experiment_is_shipped_with_a_quick_variant() -> None:
    names = [*reproduce.EXPERIMENTS, *reproduce.STAND_INS.values()]
    assert set(names) <= set(shipped.names("configs"))
    assert all(config.load(name, quick=True).name == f"{name}-quick" for name in names)
