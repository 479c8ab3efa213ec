"""What becomes of an experiment file: labels, sweeps, the quick variant, the shipped ones."""

import pytest

from hgpbench import config, shipped
from hgpbench.errors import ConfigError
from tests.config.samples import GOOD, QUICK, parse


def test_a_whole_file_is_read() -> None:
    experiment = parse(GOOD)
    assert (experiment.name, experiment.dataset, experiment.variant) == ("demo", "sarcos", "subset")
    assert isinstance(experiment.split, config.SplitConfig)
    assert (experiment.split.train, experiment.split.test) == (500, 0.25)
    assert (experiment.limits.wall, experiment.limits.memory, experiment.limits.threads) == (5400, 16e9, 2)
    assert [entry.label for entry in experiment.entries] == [
        "mean",
        "linear",
        "fine:max_iter=10,tol=0.1",
        "fine:max_iter=10,tol=0.01",
        "fine:max_iter=20,tol=0.1",
        "fine:max_iter=20,tol=0.01",
        "coarse:max_iter=5",
        "coarse:max_iter=6,tol=1",
    ]
    swept = experiment.entries[3]
    assert (swept.base, swept.model, dict(swept.params)) == ("fine", "gp", {"max_iter": 10, "tol": 0.01})


def test_a_split_may_be_left_out_or_published() -> None:
    assert parse("{name: a, dataset: toy, models: {mean: }}").split is None
    assert parse("{name: a, dataset: toy, split: published, models: {mean: }}").split == "published"


def test_an_unknown_config_is_named_with_the_shipped_ones() -> None:
    with pytest.raises(ConfigError, match=r"no config 'smok'; did you mean 'smoke'\?"):
        config.load("smok")
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        config.load("nowhere.yaml")


@pytest.mark.parametrize("name", shipped.names("configs"))
def test_a_shipped_config_is_valid_and_points_to_the_schema(name: str) -> None:
    experiment = config.load(name)
    assert experiment.name == name
    first = experiment.path.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=./schema.json"


def test_quick_changes_what_it_names_and_nothing_else() -> None:
    full, quick = parse(QUICK), parse(QUICK, quick=True)
    assert (quick.name, quick.dataset, quick.variant, quick.repeats) == ("demo-quick", "sarcos", "subset", 2)
    assert quick.split == config.SplitConfig(train=300, test=100)
    told = [(entry.label, dict(entry.params)) for entry in quick.entries]
    assert told == [("mean", {}), ("fine:max_iter=3", {"max_iter": 3, "tol": 0.5})]
    assert (full.name, full.variant, full.repeats, len(full.entries)) == ("demo", None, 10, 4)
    assert full.limits == quick.limits


def test_no_quick_section_no_quick_variant() -> None:
    with pytest.raises(ConfigError, match=r"mine\.yaml: this experiment has no quick section"):
        parse(GOOD, quick=True)
