"""The picture of a committee: which expert's inducing inputs are which, and what it needs to be drawn."""

from dataclasses import replace

import numpy as np
import pytest

from hgpbench.bench import record
from hgpbench.bench.record import Arrays
from hgpbench.prediction import Prediction
from hgpbench.report.collect import collect
from hgpbench.report.pictures import draw, styles_of
from hgpbench.report.plots.experts import experts, inducing_by_expert


def arrays(numbers, points) -> Arrays:
    """Training rows from left to right, the number of the expert of each, and inducing inputs."""
    x = np.linspace(0.0, 1.0, len(numbers))
    extras = {"X_train": x[:, None], "expert": np.array(numbers), "inducing_f": np.array(points)[:, None]}
    return Arrays(np.arange(2), np.zeros(2), Prediction.gaussian(np.zeros(2), np.ones(2), 1.0), None, extras)


def test_points_go_to_the_expert_that_has_them() -> None:
    # The second expert's rows are the left ones: it comes first along the input, with the points stored second.
    found = inducing_by_expert(arrays([1, 1, 0, 0], [0.8, 0.9, 0.1, 0.2]), "inducing_f")
    assert {rank: points.tolist() for rank, points in found.items()} == {0: [0.1, 0.2], 1: [0.8, 0.9]}


@pytest.mark.parametrize(("numbers", "points"), [([0, 0, 0], [0.1]), ([0, 1, 1], [0.1, 0.2, 0.3])])
def test_points_that_cannot_be_told_apart_are_left_out(numbers, points) -> None:
    assert inducing_by_expert(arrays(numbers, points), "inducing_f") == {}
    assert inducing_by_expert(arrays(numbers, points), "inducing_g") == {}


def test_a_committee_has_three_panels_and_one_model_alone_none(results, fake) -> None:
    results.experiment("one", [fake("vshgp", mixture=True)], seeds=1)
    results.experiment(
        "demo", [fake("dvshgp", mixture=True, experts=5), fake("dvshgp-paper", experts=4)], seeds=1
    )
    demo, one = collect(results.root).experiments
    drawn = experts(demo, styles_of([demo]))
    assert drawn is not None
    titles = [axes.get_title() for axes in drawn.axes]
    assert titles == [
        "(a) dvshgp-paper: data, experts, y",
        "(b) f and its 95 % interval",
        "(c) g and its 95 % interval",
    ]
    assert experts(one, styles_of([one])) is None


def test_a_long_series_has_the_whole_width(results, fake) -> None:
    """A third of the width shows a sinc, but no series of many cycles."""
    results.experiment("demo", [fake("dvshgp", mixture=True, experts=5)], seeds=1)
    folder = results.folder("dvshgp", 0)
    kept, told = record.read_arrays(folder), record.read(folder)
    many = replace(kept.prediction, mean=np.sin(30 * kept.extras["X_test"][:, 0]))
    panels = []
    for prediction in (kept.prediction, many):
        record.write(folder, told, replace(kept, prediction=prediction))
        demo = collect(results.root).experiments
        drawn = experts(demo[0], styles_of(demo))
        assert drawn is not None
        panels.append([(axes.get_subplotspec().rowspan.start, axes.get_xlabel()) for axes in drawn.axes])
    assert panels == [[(0, "distance")] * 3, [(0, ""), (1, ""), (2, "distance")]]


def test_a_heading_stands_over_what_was_asked_for(results, fake) -> None:
    results.experiment("demo", [fake("dvshgp", mixture=True, experts=5)], seeds=1)
    experiments = collect(results.root).experiments
    (plain,) = draw(experiments, kinds={"demo": ("traces",)})["demo"]
    (headed,) = draw(experiments, kinds={"demo": ("traces",)}, headings={"demo": "a tenth of the rows"})[
        "demo"
    ]
    assert plain.name == headed.name == "traces"
    assert b"a tenth of the rows" in headed.svg or len(headed.svg) > len(plain.svg)
    assert draw(experiments, kinds={}) == {"demo": []}
