"""What an experiment is on: a dataset by name, a table by its path, or several of them."""

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from hgpbench import config
from hgpbench.config import yamlfile
from hgpbench.config.experiment import check_all
from hgpbench.config.schema import DatasetConfig
from hgpbench.data.frames.choices import Choices
from hgpbench.errors import ConfigError
from tests.config.samples import Path, parse

START = "name: a\nmodels: {mean: }\n"


def several(text: str, quick: bool = False) -> tuple[config.Experiment, ...]:
    return check_all(yamlfile.parse(START + text, Path("mine.yaml")), quick)


def test_a_table_is_named_by_its_path_and_read_as_asked() -> None:
    experiment = parse(START + "dataset: {path: data/my table.csv, target: y, missing: flag, drop: [id]}\n")
    assert experiment.table is not None
    assert (experiment.table.path, experiment.table.target) == ("data/my table.csv", "y")
    choices = Choices(
        **{k: tuple(v) if isinstance(v, list) else v for k, v in experiment.table.reading.items()}
    )
    assert choices == Choices(missing="flag", drop=("id",))
    for text in ("mine.parquet", "./mine", "/x/y.h5"):
        plain = parse(f"{START}dataset: {text}\n")
        assert plain.table is not None
        assert (plain.table.path, plain.table.target, plain.dataset) == (text, None, "")


def test_the_words_for_reading_a_table_are_those_of_the_import() -> None:
    asked, known = DatasetConfig.model_fields, get_type_hints(Choices)
    own = {"name", "variant", "path", "target"}
    assert set(asked) - own == {field.name for field in fields(Choices)}
    reading = DatasetConfig(path="x").reading()
    assert Choices(**{k: tuple(v) if isinstance(v, list) else v for k, v in reading.items()}) == Choices()
    for name in ("missing", "rare"):
        assert get_args(asked[name].annotation) == get_args(known[name])
    assert set(get_args(get_args(known["date_order"])[0])) <= set(
        get_args(get_args(asked["date_order"].annotation)[0])
    )


def test_several_datasets_are_an_experiment_each() -> None:
    found = several("title: T\ndatasets: [toy, 'sarcos:subset', x/mine.csv, {path: b.csv, target: y}]\n")
    told = [(each.name, each.title, each.dataset, each.variant) for each in found]
    assert told == [
        ("a+toy", "T, toy", "toy", None),
        ("a+sarcos.subset", "T, sarcos.subset", "sarcos", "subset"),
        ("a+mine", "T, mine", "", None),
        ("a+b", "T, b", "", None),
    ]
    assert [each.place for each in found] == [("datasets", number) for number in range(4)]
    assert all(each.entries == found[0].entries for each in found)


def test_quick_may_have_other_datasets() -> None:
    text = "datasets: [toy, sinc2d]\nquick: {datasets: [toy, solar]}\n"
    assert [each.name for each in several(text, quick=True)] == ["a-quick+toy", "a-quick+solar"]
    [one] = several("datasets: [toy, sinc2d]\nquick: {dataset: toy}\n", quick=True)
    assert (one.name, one.dataset, one.place) == ("a-quick", "toy", ("quick", "dataset"))
    [same] = several("dataset: toy\nquick: {repeats: 1}\n", quick=True)
    assert (same.dataset, same.place) == ("toy", ("dataset",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.yaml:1: the file: should have dataset, or datasets"),
        ("dataset: toy\ndatasets: [toy, solar]\n", "mine.yaml:1: the file: should have dataset, or datasets"),
        ("datasets: toy\n", "mine.yaml:3: datasets: 'toy' is not allowed; allowed: a list"),
        ("datasets: [toy]\n", "mine.yaml:3: datasets: not allowed; allowed: a list"),
        ("datasets: [toy, toy]\n", "mine.yaml:3: datasets: toy occurs twice"),
        ("datasets: [x.csv, b/x.csv]\n", "mine.yaml:3: datasets: x occurs twice; of files of one name"),
        ("datasets:\n- toy\n- 7\n", "mine.yaml:5: datasets.1: 7 is not allowed; allowed: NAME"),
        ("datasets:\n- toy\n- {nme: x}\n", "datasets.1.nme: unknown key; did you mean 'name'?"),
        ("dataset: {path: x.csv, mising: drop}\n", "dataset.mising: unknown key; did you mean 'missing'?"),
        ("dataset: {path: x.csv, missing: no}\n", "dataset.missing: False is not allowed; allowed: error, drop"),
        ("dataset: {path: x.csv, name: x}\n", "dataset: should have name, or path and target: one of them"),
        ("dataset: {target: y}\n", "dataset: should have name, or path and target: one of them"),
        ("dataset: {name: toy, missing: drop}\n", "dataset: missing: is for a dataset with a path; leave it out"),
        ("dataset: {path: x.csv, variant: a}\n", "dataset: variant: is for a dataset with a name; leave it out"),
        ("dataset: {path: x.csv, delimiter: ab}\n", "dataset.delimiter: 'ab' is not allowed; allowed: one character"),
        ("dataset: {path: x.csv, inputs: a}\n", "dataset.inputs: 'a' is not allowed; allowed: a list of names"),
        ("dataset: toy\nquick: {dataset: toy, datasets: [toy, solar]}\n", "quick: should have dataset or datasets"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        several(text, quick="quick" in text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_one_experiment_is_needed_several_are_refused() -> None:
    with pytest.raises(ConfigError, match="has 2 datasets; only `hgpbench run` takes several"):
        parse(START + "datasets: [toy, solar]\n")
