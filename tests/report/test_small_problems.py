"""Pictures of problems with one input: what is drawn where, and in whose colour."""

from dataclasses import replace
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.bench import record
from hgpbench.report.collect import Experiment, collect
from hgpbench.report.plots import stored, style
from hgpbench.report.plots.one_input import one_input
from hgpbench.report.plots.variational import variational
from hgpbench.report.styles import assign


@pytest.fixture
def experiment(results, fake) -> Experiment:
    results.experiment("demo", [fake("vhgp", 0.1), fake("dvshgp", 0.1, experts=5)], seeds=2)
    return collect(results.root).experiments[0]


def drawn(plot, experiment: Experiment) -> Figure:
    with style.context():
        figure = plot(experiment, assign(experiment.labels))
        assert figure is not None
        figure.draw_without_rendering()
    return figure


def titled(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.findobj(Axes) if axes.get_title() == title)


def groups(axes: Axes, size: int) -> list[np.ndarray]:
    """Coordinates of the scattered points, of collections with more than ``size`` of them."""
    scattered = [c for c in axes.collections if isinstance(c, mpl.collections.PathCollection)]
    return [np.asarray(c.get_offsets()) for c in scattered if len(c.get_offsets()) > size]


def test_training_points_are_coloured_by_expert_and_never_in_the_colour_of_the_curve(experiment) -> None:
    axes = titled(drawn(one_input, experiment), "dvshgp")
    found = [c for c in axes.collections if len(c.get_offsets()) > 50]
    assert len(found) == 5
    colours = [mpl.colors.to_hex(c.get_facecolor()[0]) for c in found]
    assert len(set(colours)) == 5
    assert assign(experiment.labels)["dvshgp"].colour.lower() not in colours
    reaches = sorted((c.get_offsets()[:, 0].min(), c.get_offsets()[:, 0].max()) for c in found)
    assert all(right < left for (_, right), (left, _) in pairwise(reaches))
    assert len(groups(titled(drawn(one_input, experiment), "vhgp"), 50)) == 1


def test_inducing_points_of_f_hang_above_f_and_those_of_g_stand_below_g(experiment) -> None:
    figure = drawn(one_input, experiment)
    above = next(c for c in titled(figure, "vhgp").collections if len(c.get_offsets()) == 12)
    assert above.get_offsets()[:, 1].min() > 0.9
    strokes = [c for axes in figure.axes for c in axes.collections if len(c.get_offsets()) == 8]
    assert len(strokes) == 2  # a row of lower panels: one for each label
    assert all(c.get_offsets()[:, 1].max() < 0.1 and c.axes.get_ylabel() != "height" for c in strokes)


def test_curves_are_drawn_on_the_grid_where_there_is_one(results, fake) -> None:
    results.experiment("demo", [fake("vhgp", 0.1)], seeds=1)
    folder = results.folder("vhgp", 0)
    told, arrays = record.read(folder), record.read_arrays(folder)
    x = np.linspace(-3, 3, 77)
    values = {"grid": x, "grid_mean": np.cos(x), "grid_var": np.full(77, 0.5), "grid_noise_var": np.exp(x)}
    record.write(folder, told, replace(arrays, extras=arrays.extras | values))
    figure = drawn(one_input, collect(results.root).experiments[0])
    upper, lower = figure.axes
    (mean,) = (line for line in upper.lines if line.get_color() != "black")
    assert_allclose(mean.get_xydata(), np.column_stack([x, np.cos(x)]))
    (noise,) = (line for line in lower.lines if line.get_color() != "black")
    assert_allclose(noise.get_xydata(), np.column_stack([x, x]))
    assert len(upper.lines[0].get_xdata()) == 400  # the truth is known at test rows


def test_baselines_are_left_out_where_others_are_there(results, fake) -> None:
    results.experiment("demo", [fake("mean", 1.0), fake("linear", 1.0)], seeds=1)
    only = drawn(one_input, collect(results.root).experiments[0])
    assert [axes.get_title() for axes in only.axes if axes.get_title()] == ["mean", "linear"]
    results.experiment("demo", [fake("mean", 1.0), fake("gp", 0.1)], seeds=1)
    both = drawn(one_input, collect(results.root).experiments[0])
    assert [axes.get_title() for axes in both.axes if axes.get_title()] == ["gp"]


def test_axes_have_the_names_of_the_columns(experiment) -> None:
    figure = drawn(one_input, experiment)
    names = {text for axes in figure.findobj(Axes) if (text := axes.get_xlabel())}
    assert names == {"distance"}
    assert titled(figure, "vhgp").get_ylabel() == "height"


def test_records_without_names_have_plain_ones(experiment) -> None:
    arrays = record.read_arrays(experiment.runs[0].folder)
    extras = {name: values for name, values in arrays.extras.items() if name != "input_names"}
    assert stored.input_names(replace(arrays, extras=extras)) == ["input"]
    two = {"X_test": np.zeros((4, 2))}
    assert stored.input_names(replace(arrays, extras=two)) == ["input 1", "input 2"]


def test_experts_are_numbered_along_the_input(experiment) -> None:
    arrays = record.read_arrays(experiment.of("dvshgp")[0].folder)
    order = np.argsort(arrays.extras["X_train"][:, 0])
    assert_array_equal(np.unique(stored.ranked_experts(arrays)[order]), np.arange(5))
    assert np.all(np.diff(stored.ranked_experts(arrays)[order]) >= 0)
    alone = arrays.extras | {"expert": np.full(1000, 3)}
    assert stored.ranked_experts(replace(arrays, extras=alone)) is None


def test_variational_parameters_are_compared_with_those_of_a_model_on_all_points(experiment) -> None:
    figure = drawn(variational, experiment)
    lam = {
        label: record.read_arrays(experiment.of(label)[0].folder).extras["variational"]
        for label in experiment.labels
    }
    for label, parts in (("vhgp", 1), ("dvshgp", 5)):
        found = groups(titled(figure, label), 50)
        assert len(found) == parts
        assert_allclose(np.sort(np.concatenate(found)[:, 1]), np.sort(lam[label]))
    beside = next(axes for axes in figure.axes if axes.get_xlabel() == "λ of vhgp" and axes.get_visible())
    assert_allclose(groups(beside, 50)[0], np.column_stack([lam["vhgp"], lam["dvshgp"]]))
    assert beside.get_title() == "rank correlation 1.00"  # both were drawn by the same seed


def test_other_training_rows_are_not_compared(results, fake) -> None:
    results.plan("demo", [results.entry("vhgp", 0), results.entry("dvshgp", 1)])
    results.finish(fake("vhgp"), 0)
    results.finish(fake("dvshgp", experts=3), 1)
    figure = drawn(variational, collect(results.root).experiments[0])
    assert [axes.get_title() for axes in figure.axes] == ["vhgp", "dvshgp"]
