"""Maps of problems with two inputs: the truth first, one scale for all, cells only where there is a grid."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.bench import record
from hgpbench.prediction import Prediction
from hgpbench.report.collect import collect
from hgpbench.report.plots import style
from hgpbench.report.plots.maps import maps, regular_grid
from hgpbench.report.styles import assign

SIDE = 9


def grid_points() -> np.ndarray:
    x, y = np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(-4, 4, SIDE + 2))
    return np.random.default_rng(0).permutation(np.column_stack([x.ravel(), y.ravel()]))


def truth(X: np.ndarray) -> np.ndarray:
    return 0.01 * np.exp(2 * X[:, 0])


def noise_of(label: str, X: np.ndarray) -> np.ndarray:
    """What a pretended model says: the truth, its mean, or nonsense at one point."""
    values = truth(X) if label == "good" else np.full(len(X), truth(X).mean())
    if label == "absurd":
        values[3] = 1e30
    return values


def figure_of(results, X: np.ndarray, labels: tuple[str, ...], with_truth: bool = True) -> Figure:
    results.plan("demo", [results.entry(label, 0) for label in labels])
    rng = np.random.default_rng(1)
    y = rng.standard_normal(len(X))
    for label in labels:
        noise = noise_of(label, X)
        extras = {"X_test": X, "input_names": np.array([b"east", b"north"])}
        if with_truth:
            extras |= {"truth_noise_var": truth(X), "truth_mean": np.zeros(len(X))}
        arrays = record.Arrays(
            np.arange(len(X)), y, Prediction.gaussian(np.zeros(len(X)), np.zeros(len(X)), noise), None, extras
        )
        done = results.record(label, 0, n_inputs=2, n_train=10, n_test=len(X), train_mean=0.0, train_var=1.0)
        record.write(results.folder(label, 0), done, arrays)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = maps(experiment, assign(labels))
        assert figure is not None
        figure.draw_without_rendering()
    return figure


def test_the_truth_stands_first_and_all_share_one_scale(results) -> None:
    X = grid_points()
    figure = figure_of(results, X, ("good", "flat", "absurd"))
    shown = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in shown] == ["exact noise variance", "good", "flat", "absurd"]
    meshes = [next(c for c in axes.collections if isinstance(c, QuadMesh)) for axes in shown]
    assert len({(mesh.norm.vmin, mesh.norm.vmax) for mesh in meshes}) == 1
    low, high = meshes[0].norm.vmin, meshes[0].norm.vmax
    assert low == pytest.approx(0.01, rel=0.05)
    assert truth(X).max() * 0.9 < high < 100 * truth(X).max()  # one absurd value does not stretch it
    assert_array_equal(meshes[0].get_array(), meshes[1].get_array())
    assert np.ptp(meshes[2].get_array()) == 0
    assert figure.get_supxlabel() == "east"
    assert figure.get_supylabel() == "north"
    assert figure.axes[-1].get_ylabel() == "variance of height"


def test_scattered_points_are_drawn_where_they_are(results) -> None:
    X = np.random.default_rng(2).uniform(size=(50, 2))
    figure = figure_of(results, X, ("good",), with_truth=False)
    shown = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in shown] == ["good"]
    (dots,) = (c for c in shown[0].collections if isinstance(c, PathCollection))
    assert_allclose(dots.get_offsets(), X)
    assert_allclose(dots.get_array(), truth(X))


def test_a_grid_is_found_in_any_order() -> None:
    X = grid_points()
    found = regular_grid(X, X[:, 0] + 10 * X[:, 1])
    assert found is not None
    first, second, table = found
    assert_allclose(table, first + 10 * second[:, None])
    assert table.shape == (SIDE + 2, SIDE)


@pytest.mark.parametrize("spoil", [lambda X: X[1:], lambda X: np.vstack([X[1:], X[1]]), lambda X: X[:1]])
def test_what_is_no_whole_grid_is_none(spoil) -> None:
    X = spoil(grid_points())
    assert regular_grid(X, np.ones(len(X))) is None


def test_problems_of_one_input_have_no_map(results, fake) -> None:
    results.experiment("demo", [fake("a")], seeds=1)
    experiment = collect(results.root).experiments[0]
    assert maps(experiment, assign(experiment.labels)) is None
