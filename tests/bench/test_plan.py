"""Plans: what is checked before anything runs."""

from pathlib import Path

import pytest

from hgpbench import config, shipped
from hgpbench.bench import plan
from hgpbench.config import yamlfile
from hgpbench.errors import ConfigError
from hgpbench.paper import reproduce

TEXT = "name: x\ndataset: toy\nsplit: {train: 30, test: 20}\nmodels:\n  a: {model: gp, max_iter: 5}\n  b: {model: mean}\nsweep:\n  a: {n_restarts: [0, 1]}\n"


def experiment(text: str = TEXT) -> config.Experiment:
    return config.check(yamlfile.parse(text, Path("x.yaml")))


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    "name", [*reproduce.EXPERIMENTS, *reproduce.STAND_INS.values(), "electric-200k", "electric-rbcm"]
)
def test_the_parameters_of_the_papers_experiments_fit_their_models(name: str, quick: bool) -> None:
    loaded = config.load(name, quick)
    for entry in loaded.entries:
        assert plan.parameters(entry, loaded).items() >= entry.params.items()


@pytest.mark.parametrize("name", shipped.names("configs"))
def test_the_parameters_of_shipped_configs_fit_their_models(name: str) -> None:
    loaded = config.load(name)
    for entry in loaded.entries:
        assert plan.parameters(entry, loaded).items() >= entry.params.items()


def test_jobs_go_seed_by_seed_with_all_parameters() -> None:
    jobs = plan.make(experiment(), [3, 4], (), None)
    assert [(job.label, job.seed) for job in jobs] == [
        (label, seed) for seed in (3, 4) for label in ("a:n_restarts=0", "a:n_restarts=1", "b")
    ]
    assert jobs[0].params == {
        "max_iter": 5,
        "n_restarts": 0,
        "kernel": "se",
        "copies": None,
        "standardize": True,
    }
    assert len({job.identity for job in jobs}) == 6
    assert len({job.setting for job in jobs}) == 3


@pytest.mark.parametrize(
    ("only", "labels"),
    [
        (["a"], ["a:n_restarts=0", "a:n_restarts=1"]),
        (["a:n_restarts=1"], ["a:n_restarts=1"]),
        (["*=0", "b"], ["a:n_restarts=0", "b"]),
    ],
)
def test_only_takes_labels_bases_and_patterns(only: list[str], labels: list[str]) -> None:
    assert [job.label for job in plan.make(experiment(), [0], only, None)] == labels


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("model: gp", "model: gq", r"x\.yaml:5: models\.a: no model 'gq'; did you mean 'gp'\?"),
        ("max_iter: 5", "max_itr: 5", r"x\.yaml:5: models\.a\.max_itr: gp has no such parameter; did you mean 'max_iter'\?"),
        ("max_iter: 5", "max_iter: many", r"x\.yaml:5: models\.a\.max_iter: 'many' is not allowed; allowed: a valid integer"),
        ("max_iter: 5", "random_state: 5", r"x\.yaml:5: models\.a\.random_state: set by the run's seed"),
        ("n_restarts: [0, 1]", "n_restarts: [0, x]", r"x\.yaml:8: sweep\.a\.n_restarts: 'x' is not allowed"),
        ("dataset: toy", "dataset: toi", r"x\.yaml:2: dataset: toi: no such dataset; did you mean 'toy'\?"),
        ("train: 30", "train: 0.5", r"x\.yaml:3: split: toy: train is 0\.5"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_before_anything_runs(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan.make(experiment(TEXT.replace(old, new)), [0], (), None)


def test_settings_are_of_every_label_whatever_was_planned() -> None:
    some, every = (plan.make(experiment(), [0, 1], only, None) for only in (["b"], []))
    settings = plan.settings(experiment(), some)
    assert settings == plan.settings(experiment(), every) == {job.label: job.setting for job in every}
    assert list(settings) == ["a:n_restarts=0", "a:n_restarts=1", "b"]


def test_one_text_for_each_setting_of_an_optimizer() -> None:
    texts = ("natural", "natural(guard=true)", "natural(guard=false)", '"natural(n_passes=2, guard=False)"')
    jobs = [
        plan.make(
            experiment(
                TEXT.replace("model: gp, max_iter: 5", f"model: dvshgp, optimizer: {text}").partition(
                    "sweep"
                )[0]
            ),
            [0],
            ("a",),
            None,
        )[0]
        for text in texts
    ]
    told = ["natural", "natural", "natural(guard=false)", "natural(n_passes=2, guard=false)"]
    assert [job.params["optimizer"] for job in jobs] == told
    assert len({job.identity for job in jobs}) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("n_passes: 3", r"x\.yaml:5: models\.a\.n_passes: dvshgp has no such parameter any more: it is a setting of optimizer, as in 'natural\(n_passes=20\)'"),
        ("optimizer: naturl", r"x\.yaml:5: models\.a\.optimizer: optimizer='naturl' is not allowed: it must be one of 'natural'"),
        ("optimizer: paper(guard=false)", r"'guard=false' is no setting of paper; settings: max_iter"),
        ("optimizer: 3", r"x\.yaml:5: models\.a\.optimizer: 3 is not allowed; allowed: a valid string"),
    ],
)  # fmt: skip
def test_settings_of_an_optimizer_are_checked_before_anything_runs(given: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan.make(
            experiment(TEXT.replace("model: gp, max_iter: 5", f"model: dvshgp, {given}")), [0], (), None
        )
