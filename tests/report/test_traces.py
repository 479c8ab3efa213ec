"""Convergence: running means of stochastic bounds, and final bounds to compare with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.bench import record
from hgpbench.report.collect import Experiment, collect
from hgpbench.report.plots import style
from hgpbench.report.plots.traces import Trace, smoothed, thinned, traces
from hgpbench.report.styles import assign

STEPS = 1000


def rising(steps: np.ndarray) -> np.ndarray:
    return -1000 * np.exp(-steps / 30) - 500


def stochastic_rows(seed: int = 0) -> np.ndarray:
    """Estimates of a rising bound, and the bound itself at the end."""
    steps = np.arange(STEPS + 1.0)
    noise = 60 * np.random.default_rng(seed).standard_normal(STEPS + 1)
    noise[-1] = 0
    return np.column_stack([steps, steps / 100, rising(steps) + noise])


@pytest.fixture
def experiment(results, fake) -> Experiment:
    """A label with a batch size, whose trace is noisy, between two without."""
    results.experiment("demo", [fake("vshgp"), fake("svshgp"), fake("vhgp")], seeds=2)
    for seed in (0, 1):
        folder = results.folder("svshgp", seed)
        told, arrays = record.read(folder), record.read_arrays(folder)
        noisy = record.Arrays(arrays.index, arrays.y, arrays.prediction, stochastic_rows(seed), arrays.extras)
        record.write(folder, record.Record(**(vars(told) | {"params": {"batch_size": 50}})), noisy)
    return collect(results.root).experiments[0]


def test_running_means_are_near_the_truth_also_where_it_rises() -> None:
    rows = stochastic_rows()
    steps = rows[:, 0]
    error = smoothed(rows[:-1, 2]) - rising(steps[:-1])
    assert np.abs(error[60:]).max() < 40  # noise of 60 over at least 31 values
    assert np.abs(error[300:]).mean() < 10
    exact = smoothed(rising(steps)) - rising(steps)
    assert np.abs(exact).max() < 25
    assert_allclose(smoothed(np.full(7, 3.0)), 3.0)
    assert smoothed(np.array([5.0])).tolist() == [5.0]


def test_the_last_bound_is_no_estimate() -> None:
    rows = stochastic_rows()
    trace = Trace.of(rows, by_batches=True)
    assert_array_equal(trace.last, rows[-1])
    assert trace.estimates is not None
    assert_array_equal(trace.estimates, rows[:-1])
    assert trace.curve[-1, 2] != rows[-1, 2]
    plain = Trace.of(rows, by_batches=False)
    assert_array_equal(plain.curve, rows)
    assert plain.estimates is None


def test_thinning_keeps_both_ends() -> None:
    rows = np.arange(30_000.0).reshape(10_000, 3)
    kept = thinned(rows, 400)
    assert_array_equal(kept[[0, -1]], rows[[0, -1]])
    assert 300 < len(kept) <= 400
    steps = kept[:, 0] / 3
    assert np.all(np.diff(steps)[steps[:-1] < 20] == 1)  # the beginning, where a logarithmic axis is wide
    assert np.diff(steps).max() < 100
    assert_array_equal(thinned(rows, 10_000), rows)


def test_final_bounds_of_other_labels_go_on_to_the_end_of_the_longest(experiment: Experiment) -> None:
    with style.context():
        figure = traces(experiment, assign(experiment.labels))
    assert figure is not None
    assert figure.axes[0].get_title() == "the bound of VSHGP"
    for axes, column in zip(figure.axes, (1, 0), strict=True):
        level = [line for line in axes.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_ydata()) == 0]
        assert len(level) == 2
        for line, label in zip(level, ("vshgp", "vhgp"), strict=True):
            own = np.array(experiment.done(label)[0].trace)
            assert_allclose(line.get_xdata(), [own[-1, column], stochastic_rows()[-1, column]])
            assert line.get_ydata()[0] == own[-1, 2]
        assert [len(c.get_offsets()) for c in axes.collections] == [STEPS]
        low, high = axes.get_ylim()
        assert low < -500 < high  # where the noisy one ended, though single estimates lie far below
        assert low > -700
    words = [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]
    assert words[0] == ["vshgp", "svshgp", "vhgp"]
    assert words[1][-1] == "final bound, continued"


def test_a_bound_stands_beside_its_own_kind_only(results, fake) -> None:
    labels = ("vshgp", "dvshgp", "vsgp", "vshgp-raw", "vhgp", "dvshgp-paper", "mine")
    results.experiment("demo", [fake(label) for label in labels], seeds=1)
    folder = results.folder("vshgp-raw", 0)
    told = vars(record.read(folder)) | {"params": {"standardize": False}}
    record.write(folder, record.Record(**told), record.read_arrays(folder))
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = traces(experiment, assign(experiment.labels))
    assert figure is not None
    curves = {
        axes.get_title(): sum(len(line.get_xdata()) > 1 for line in axes.lines)
        for axes in figure.axes
        if axes.get_visible()
    }
    assert curves == {
        "the bound of VSHGP": 2,
        "dvshgp": 1,
        "vsgp": 1,
        "vshgp-raw": 1,
        "dvshgp-paper": 1,
        "mine": 1,
    }


def test_without_mini_batches_nothing_goes_on(results, fake) -> None:
    results.experiment("demo", [fake("vshgp"), fake("vhgp")], seeds=1)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = traces(experiment, assign(experiment.labels))
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["vshgp", "vhgp"]
    assert len(figure.legends) == 1
    assert all(len(line.get_xdata()) in (1, 39) for axes in figure.axes for line in axes.lines)


def test_a_legend_says_only_what_the_panels_do_not(results, fake, experiment) -> None:
    """A name over a panel with one curve needs none; dashes are explained where some are drawn."""
    results.experiment("alone", [fake("gp"), fake("dvshgp")], seeds=1)
    by_name = {each.name: each for each in collect(results.root).experiments}
    drawn = {}
    for name, told in by_name.items():
        with style.context():
            figure = traces(told, assign(told.labels))
        assert figure is not None
        drawn[name] = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert drawn["alone"] == []
    assert {"vshgp", "svshgp", "final bound, continued"} <= set(drawn["demo"])
