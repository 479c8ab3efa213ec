"""Plots in the situations that break plots: one seed, one model, many long labels, extreme scores."""

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from hgpbench import report
from hgpbench.report import noises
from hgpbench.report.collect import collect
from hgpbench.report.pictures import draw, save
from hgpbench.report.plots import PLOTS, style
from hgpbench.report.plots.distributions import calibration, chance
from hgpbench.report.plots.noise import density, noise
from hgpbench.report.plots.scores import SHOWN, Frame, Place, boxes, tradeoff
from hgpbench.report.plots.sweeps import sweeps
from hgpbench.report.styles import assign
from hgpbench.report.summary import Stat
from tests.report.conftest import DRAWN


def many(fake):
    return [
        fake(
            f"svshgp-natural-n_inducing={50 * i}-batch_size={i}",
            error=10.0 ** (-2 + 0.35 * i),
            mixture=i % 2 == 0,
            noise=0.05 * (i + 1) if i % 3 == 0 else None,
            seconds=10.0 ** (i / 3 - 2),
        )
        for i in range(12)
    ]


def swept(fake):
    """Long names of parameters, many values, and words."""
    sizes = (100, 200, 300, 400, 500)
    return [
        *(fake(f"vsgp:n_inducing={m}", 10 / m) for m in sizes),
        *(fake(f"dvshgp:n_inducing_f={m},n_inducing_g={m}", 10 / m, mixture=True) for m in sizes),
        *(
            fake(f"dvshgp-n0:expert_size={2 * m},n_inducing_f={m},n_inducing_g={m}", 0.1, seconds=m)
            for m in sizes
        ),
        *(fake(f"gpvc:kind={kind}", 0.1) for kind in ("common", "diagonal", "full")),
        *(fake(f"svshgp:batch_size={size}", 0.1) for size in (10, 15, 20, 25, 1000, 5000)),
    ]


SITUATIONS = {
    "one run": (lambda fake: [fake("solo", 0.3)], 1),
    "narrow times": (lambda fake: [fake(f"m{i}", 0.1 * i, seconds=0.02 * 2**i) for i in range(5)], 2),
    "usual": (lambda fake: [fake("mean", 1.0, noise=1.0), fake("vshgp", 0.05, mixture=True)], 4),
    "experts": (lambda fake: [fake(f"dvshgp-{k}", 0.05, mixture=True, experts=k) for k in (1, 5, 40)], 1),
    "many": (many, 2),
    "as in the paper": (
        lambda fake: [fake(f"model-{i}-paper", 0.03 * i, seconds=2.0**i) for i in range(16)],
        3,
    ),
}


def figures(experiment) -> dict[str, Figure]:
    styles = assign(experiment.labels)
    with style.context():
        drawn = {plot.name: plot.draw(experiment, styles) for plot in PLOTS}
        made = {name: figure for name, figure in drawn.items() if figure is not None}
        for figure in made.values():
            figure.draw_without_rendering()
    assert made.keys() >= DRAWN
    return made


@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_text_overlaps_another_or_leaves_the_figure(results, fake, situation: str) -> None:
    make, seeds = SITUATIONS[situation]
    results.experiment("demo", make(fake), seeds)
    for name, figure in figures(collect(results.root).experiments[0]).items():
        check_texts(name, figure)


def check_texts(name: str, figure: Figure) -> None:
    boxes = [(text.get_text(), text.get_window_extent()) for text in legible(figure)]
    outside = figure.bbox.padded(2)
    for text, box in boxes:
        inside = outside.contains(box.x0, box.y0) and outside.contains(box.x1, box.y1)
        assert inside, (name, text)
    for i, (text, box) in enumerate(boxes):
        clash = [other for other, place in boxes[i + 1 :] if box.padded(-1.5).overlaps(place.padded(-1.5))]
        assert not clash, (name, text, clash)


def test_no_text_of_a_sweep_overlaps_another(results, fake) -> None:
    results.experiment("demo", swept(fake), seeds=2)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = sweeps(experiment, assign(experiment.labels))
        figure.draw_without_rendering()
    check_texts("sweeps", figure)


def legible(figure: Figure) -> list[Text]:
    """Visible texts: titles, axis labels, legends, and tick labels inside their axis."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    found += [legend.get_title() for legend in figure.legends]
    for part in (figure._supxlabel, figure._supylabel):
        if part is not None:
            found.append(part)
    for axes in figure.findobj(mpl.axes.Axes):
        if not axes.get_visible():
            continue
        found += [axes.title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            ticks = [tick for tick in ticks if low <= tick.get_loc() <= high]
            found += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    return [text for text in dict.fromkeys(found) if text.get_text().strip()]


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1e-3, 1e3], "log"),
        ([-3.0, 900.0], "symlog"),
        ([0.005, 0.06], "log"),
        ([-3.0, 0.5], "linear"),
        ([0.2, 1.1], "linear"),
        ([], "linear"),
    ],
)
def test_axes_are_logarithmic_where_values_span_magnitudes(values: list[float], scale: str) -> None:
    axes = Figure().subplots()
    style.widen(axes.yaxis, [*values, float("inf")])
    assert axes.get_yscale() == scale


@pytest.mark.parametrize(
    ("values", "expected"),
    [([-30.0, 300.0], ["−10", "−1", "0", "1", "10", "100"]), ([0.02, 0.3], ["0.02", "0.05", "0.1", "0.2"])],
)
def test_ticks_are_plain_numbers_also_below_nought(values: list[float], expected: list[str]) -> None:
    """Markup is left as it is written, so that powers of ten would be read as their source."""
    with style.context():
        figure = Figure()
        axes = figure.subplots()
        axes.set_ylim(values)
        style.widen(axes.yaxis, values)
        figure.draw_without_rendering()
    low, high = values
    ticks = axes.yaxis.get_major_ticks()
    assert [tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high] == expected


def test_scores_over_a_magnitude_are_spread_and_the_frame_stays_near_them(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.02), fake("rbcm", 0.03), fake("svgp", 2.0)], seeds=2)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = tradeoff(experiment, assign(experiment.labels))
        assert figure is not None
        figure.draw_without_rendering()
    axes = figure.axes[0]
    means = [experiment.done(label)[0].scores["smse"] for label in experiment.labels]
    assert axes.get_yscale() == "log"
    assert min(means) / 2 < axes.get_ylim()[0] < min(means) < max(means) < axes.get_ylim()[1] < 2 * max(means)


def test_the_frame_shows_that_means_are_apart_by_less_than_chance() -> None:
    """Two means that differ by a hundredth of their deviations are no difference to fill a picture with."""
    near = [Place(1.0, Stat(0.090, 0.02, 3)), Place(2.0, Stat(0.0902, 0.022, 3))]
    low, high = Frame.around(near).scores
    assert low < 0.07 < 0.11 < high
    one_wild = [*(Place(1.0, Stat(0.1 * k, 0.01, 3)) for k in range(1, 4)), Place(1.0, Stat(0.2, 9.0, 3))]
    assert Frame.around(one_wild).scores[1] < 0.5


def test_many_curves_of_calibration_are_drawn_by_family(results, fake) -> None:
    """In one panel twenty curves are a bundle; each curve and the band of chance are drawn once a family."""
    few = [fake(label, 0.1) for label in ("mean", "gp", "vsgp", "vshgp")]
    results.experiment("few", few, seeds=1)
    results.experiment("many", [*few, *(fake(f"vshgp-{k}", 0.1) for k in range(10))], seeds=1)
    drawn = {}
    for experiment in collect(results.root).experiments:
        with style.context():
            figure = calibration(experiment, assign(experiment.labels))
            assert figure is not None
            figure.draw_without_rendering()
        check_texts(experiment.name, figure)
        curves = [sum(len(line.get_xdata()) > 2 for line in axes.lines) for axes in figure.axes]
        drawn[experiment.name] = dict(zip((axes.get_title() for axes in figure.axes), curves, strict=True))
    assert drawn["few"] == {"": 4}  # both panels have all
    assert drawn["many"] == {"no Gaussian process": 1, "constant noise": 2, "varying noise": 11}


def test_chance_is_widest_in_the_middle_and_shrinks_with_rows() -> None:
    """A share of one half of 400 rows has a deviation of 2.5 points."""
    assert chance(np.array([0.0, 50.0, 100.0]), 400) == pytest.approx([0.0, 1.96 * 2.5, 0.0])
    assert chance(np.array([50.0]), 1600) == pytest.approx([1.96 * 1.25])


def test_scores_that_are_not_finite_are_left_out_of_plots_only(results, fake) -> None:
    results.experiment("demo", [fake("good", 0.1), fake("bad", 0.1)], seeds=3)
    experiment = collect(results.root).experiments[0]
    runs = [
        replace(run, digest=replace(run.digest, scores=run.digest.scores | {"msll": float("inf")}))
        if run.entry.label == "bad"
        else run
        for run in experiment.runs
    ]
    figures(replace(experiment, runs=tuple(runs)))


def scores_of(experiment, scores: dict[str, tuple[float, float]]):
    """The experiment with other SMSE and MSLL of some labels."""
    runs = [
        replace(
            run, digest=replace(run.digest, scores=run.digest.scores | dict(zip(SHOWN, found, strict=True)))
        )
        if (found := scores.get(run.entry.label))
        else run
        for run in experiment.runs
    ]
    return replace(experiment, runs=tuple(runs))


@pytest.mark.parametrize(
    ("scores", "left_out"),
    [
        ({"a": (1.01, -0.01), "b": (0.2, -0.9), "c": (0.18, -1.1)}, ["a"]),
        ({"a": (1.01, -0.3), "b": (0.2, -0.9), "c": (1.4, 2.0)}, []),
        ({"a": (1.0, 0.0), "b": (1.0, 0.0), "c": (0.99, 0.01)}, []),
        ({"a": (1.0, 0.0), "b": (0.2, -0.9), "c": (1.0, 0.0)}, ["a", "c"]),
    ],
)
def test_labels_that_learned_nothing_do_not_squeeze_the_others(results, fake, scores, left_out) -> None:
    results.experiment("demo", [fake("a"), fake("b"), fake("c")], seeds=2)
    experiment = scores_of(collect(results.root).experiments[0], scores)
    for plot in (tradeoff, boxes):
        with style.context():
            figure = plot(experiment, assign(experiment.labels))
        assert figure is not None
        shown = [smse for label, (smse, _) in scores.items() if label not in left_out]
        low, high = figure.axes[0].get_ylim() if plot is tradeoff else figure.axes[0].get_xlim()
        assert low <= min(shown) <= max(shown) <= high
        note = figure.legends[0].get_title().get_text() if figure.legends else ""
        if plot is boxes:
            assert note.partition(": ")[2] == ", ".join(left_out)
            assert (low <= 1.0 <= high) == any(smse > 0.9 for smse in shown)
        else:
            assert [label for label in scores if f"{label} SMSE" in note.replace("\n", " ")] == left_out
            hollow = [line for line in figure.axes[0].lines if line.get_color() == "white"]
            assert len(hollow) == len(left_out)
            assert all(line.get_ydata()[0] == high for line in hollow)


def test_models_that_compete_fill_the_frame_and_baselines_stand_at_its_edge(results, fake) -> None:
    results.experiment(
        "demo",
        [fake("linear", 0.9, seconds=1e-3), fake("vsgp", 0.2, seconds=50), fake("dvshgp", 0.1, seconds=90)],
        seeds=3,
    )
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = tradeoff(experiment, assign(experiment.labels))
    assert figure is not None
    axes, (low, high) = figure.axes[0], figure.axes[0].get_xlim()
    assert low > 10
    assert high < 400
    assert axes.get_xlabel() == "time of fit and prediction by the wall clock [s]"  # none other was taken
    assert "linear SMSE" in figure.legends[0].get_title().get_text()
    (edge,) = (line for line in axes.lines if line.get_color() == "white")
    assert edge.get_xdata()[0] == pytest.approx(low)
    scores = [each.scores["smse"] for each in experiment.done("vsgp").values()]
    bars = [line for line in axes.lines if len(line.get_ydata()) == 2]
    assert len(bars) == 2
    reach = float(np.std(scores, ddof=1))
    assert list(bars[0].get_ydata()) == pytest.approx([np.mean(scores) - reach, np.mean(scores) + reach])


def test_times_are_those_of_the_processor_where_they_were_taken(results, fake) -> None:
    results.plan("demo", [results.entry(label, 0) for label in ("vsgp", "dvshgp")])
    for label, seconds in (("vsgp", 3.0), ("dvshgp", 7.0)):
        timings = {"fit_wall": 99.0, "predict_wall": 1.0, "fit_cpu": seconds, "predict_cpu": 0.5}
        results.finish(fake(label, 0.1), 0, timings=timings)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = tradeoff(experiment, assign(experiment.labels))
    assert figure is not None
    assert figure.axes[0].get_xlabel() == "processor time of fit and prediction [s]"
    marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert marks == pytest.approx([3.5, 7.5])


def noise_of(results, fakes, seeds: int = 2):
    results.experiment("demo", fakes, seeds)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = noise(experiment, assign(experiment.labels))
        assert figure is not None
        figure.draw_without_rendering()
    return figure.axes[0], [text.get_text() for text in figure.legends[0].get_texts()]


def test_constant_noise_is_a_line_in_the_row_of_its_label(results, fake) -> None:
    axes, words = noise_of(results, [fake("vsgp", 0.1, noise=0.1), fake("vshgp", 0.1, mixture=True)])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["vshgp", "vsgp"]  # from below
    (line,) = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(line.get_xdata()) == pytest.approx([np.log(0.1)] * 2)
    assert line.get_ydata()[0] == 1.0  # the upper row
    (curve,) = (line for line in axes.lines if len(line.get_xdata()) > 2)
    assert curve.get_ydata().min() >= 0.0
    constant = "noise that is constant (deviation within 5 %), shaded over seeds"
    assert words == ["truth", "noise that varies over test points", constant]


def test_noise_that_hardly_varies_is_a_line_too(results, fake) -> None:
    """Its density would be a spike, cut off, that flattens every other."""
    results.experiment("demo", [fake("near", 0.1), fake("far", 0.1)], seeds=2)
    experiment = collect(results.root).experiments[0]
    rows = {}
    for label, reach in (("near", 0.04), ("far", 0.2)):
        told = tuple(np.linspace(-2 - reach, -2 + reach, 401).tolist())
        digests = [replace(run.digest, log_noise=told) for run in experiment.of(label) if run.digest]
        rows[label] = noises.constants(digests)
    assert rows == {"near": [-2.0, -2.0], "far": None}
    assert noises.constants([]) is None


def test_constant_noise_far_off_is_named_at_the_edge(results, fake) -> None:
    axes, _ = noise_of(results, [fake("rbcm", 0.1, noise=1e-9), fake("vshgp", 0.1, mixture=True)])
    assert axes.get_xlim()[0] > -10
    assert [text.get_text() for text in axes.texts] == [f"{np.log(1e-9):.1f}"]
    assert not [line for line in axes.lines if len(line.get_xdata()) == 2]


def test_variance_of_f_is_shown_where_it_took_the_place_of_constant_noise(results, fake) -> None:
    axes, words = noise_of(results, [fake("fitc", 1.0, noise=1e-3), fake("vsgp", 0.1, noise=0.1)])
    assert words[-1] == "variance of f, where it has taken the noise's place"
    (curve,) = (line for line in axes.lines if len(line.get_xdata()) > 2)
    assert curve.get_linestyle() == "--"
    peak = curve.get_xdata()[np.argmax(curve.get_ydata())]
    assert peak == pytest.approx(np.log(0.501), abs=0.1)


def test_a_label_looks_the_same_in_every_experiment(results, fake) -> None:
    results.experiment("first", [fake("a"), fake("b", 0.3)], seeds=1)
    results.experiment("second", [fake("b", 0.3)], seeds=1)
    styles = assign(label for e in collect(results.root).experiments for label in e.labels)
    second = collect(results.root / "second").experiments[0]
    with style.context():
        drawn = PLOTS[0].draw(second, styles)
    assert drawn is not None
    colours = {line.get_color() for line in drawn.axes[0].lines}
    assert colours == {styles["b"].colour}


def test_nothing_to_draw_draws_nothing(results) -> None:
    results.plan("demo", [results.entry("a", 0)])
    assert draw(collect(results.root).experiments) == {"demo": []}


def test_files_are_repeatable_and_settings_are_left_alone(results, fake, tmp_path) -> None:
    results.experiment("demo", [fake("a", 0.1), fake("b", 0.2, mixture=True)], seeds=2)
    experiments = collect(results.root).experiments
    before = dict(mpl.rcParams)
    first, second = draw(experiments), draw(experiments)
    assert first == second
    assert dict(mpl.rcParams) == before
    shown, written = save(first, tmp_path)
    assert {path.stem for path in written} == {f"demo-{name}" for name in DRAWN}
    assert len(written) == 2 * len(DRAWN)
    assert all(path.stat().st_size > 1000 for path in written)
    for _, address in shown["demo"]:
        assert (tmp_path / address).read_bytes().startswith(b"\x89PNG")


def test_no_plot_goes_through_pyplots_global_state() -> None:
    sources = list(Path(report.__file__).parent.rglob("*.py"))
    assert len(sources) > 10
    assert not [path for path in sources if "pyplot" in path.read_text(encoding="utf-8")]


def test_densities_have_one_area_and_peak_where_the_sample_is_dense() -> None:
    sample = np.random.default_rng(0).normal(2.0, 0.5, 2000)
    grid = np.linspace(-1, 5, 601)
    heights = density(sample, grid)
    assert np.sum(heights) * 0.01 == pytest.approx(1.0, abs=1e-3)
    assert grid[heights.argmax()] == pytest.approx(2.0, abs=0.15)
    constant = density(np.full(50, 3.0), grid)
    assert np.sum(constant) * 0.01 == pytest.approx(1.0, abs=1e-3)


def test_small_panels_are_not_taller_than_a_screen(results, fake) -> None:
    labels = [f"vsgp-{i}" for i in range(16)]
    results.experiment("demo", [fake(label, 0.02 * i) for i, label in enumerate(labels)], seeds=1)
    for name, figure in figures(collect(results.root).experiments[0]).items():
        assert figure.get_figheight() <= 8.2, name  # legend and all, at 90 points an inch


def test_baselines_in_one_corner_of_the_tradeoff_stand_beside_each_other(results, fake) -> None:
    baselines = [fake(name, 1.0, noise=1.0, seconds=0.01) for name in ("mean", "linear", "hetlinear")]
    results.experiment("demo", [*baselines, fake("gp", 0.3), fake("vshgp", 0.1, seconds=9.0)], seeds=2)
    (experiment,) = collect(results.root).experiments
    with style.context():
        figure = tradeoff(experiment, assign(experiment.labels))
        assert figure is not None
        figure.canvas.draw()
    for axes in figure.axes:
        hollow = [line for line in axes.lines if line.get_color() == "white"]
        places = [line.get_transform().transform(line.get_xydata())[0] for line in hollow]
        assert len(places) == 3
        assert min(math.dist(one, other) for one, other in combinations(places, 2)) > 10
