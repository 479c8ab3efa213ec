"""Sweeps: what varies, what goes with it, and other plots that stay readable."""

import math
from dataclasses import replace

import pytest

from hgpbench.bench import record
from hgpbench.report.collect import Experiment, collect
from hgpbench.report.labels import MANY, Swept, base_of, parse
from hgpbench.report.plots import PLOTS, style
from hgpbench.report.plots.sweeps import SCORES, panels_of, sweeps
from hgpbench.report.styles import assign
from hgpbench.report.summary import Row, Stat


def row(label: str, score: float = 1.0, done: int = 2) -> Row:
    return Row(label, "model", done, 2, {name: Stat(score, 0.1, done) for name in SCORES})


def rows(base: str, *settings: str) -> list[Row]:
    return [row(f"{base}:{setting}") for setting in settings]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("vsgp:n_inducing=20", Swept("vsgp", {"n_inducing": "20"})),
        ("d.v-2:a_1=0.5,b=True", Swept("d.v-2", {"a_1": "0.5", "b": "True"})),
        ("m:shape=a+b,word=x,y", Swept("m", {"shape": "a+b", "word": "x,y"})),
        ("m:command=k=v", Swept("m", {"command": "k=v"})),
        ("plain", None),
        ("sarcos:subset", None),
    ],
)
def test_labels_are_taken_apart(label: str, expected: Swept | None) -> None:
    assert parse(label) == expected
    assert base_of(label) == (label if expected is None else expected.base)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["a=1", "a=2"], "a"),
        (["a=1,b=1", "a=2,b=2"], "a = b"),
        (["n=100,f=50,g=50", "n=350,f=175,g=175"], "n; f = g = 0.5 of it"),
        (["n=1,f=7,g=1", "n=2,f=9,g=2"], "n = g; f with it"),
        (["n=1,kind=x", "n=2,kind=y"], "n; kind with it"),
        (["n=3,a=1", "n=3,a=2"], "a"),
        (["n=3"], "n"),
        (["kind=x", "kind=y"], "kind"),
    ],
)
def test_parameters_that_go_together_are_named_together(settings: list[str], words: str) -> None:
    panels = panels_of(rows("base", *settings))
    assert list(panels) == [words]
    (line,) = panels[words]
    assert line.name == line.style == "base"
    assert len(line.points) == len(settings)


def test_combinations_have_a_curve_for_each_setting_of_the_others() -> None:
    panels = panels_of(rows("m", "a=1,b=x", "a=2,b=x", "a=1,b=y", "a=2,b=y"))
    assert [line.name for line in panels["a"]] == ["m, b=x", "m, b=y"]
    assert [[value for value, _ in line.points] for line in panels["a"]] == [["1", "2"], ["1", "2"]]
    assert panels["a"][1].style == "m:a=1,b=y"


def test_labels_that_sweep_the_same_share_a_panel_and_unfinished_ones_are_left_out() -> None:
    table = [*rows("vsgp", "m=1", "m=2"), row("plain"), *rows("fitc", "m=1"), row("fitc:m=2", done=0)]
    panels = panels_of(table)
    assert {name: [line.name for line in lines] for name, lines in panels.items()} == {"m": ["vsgp", "fitc"]}
    assert len(panels["m"][1].points) == 1
    assert panels_of([row("plain"), row("fitc:m=2", done=0)]) == {}


@pytest.fixture
def experiment(results, fake) -> Experiment:
    """Thirty swept labels beside two plain ones."""
    sizes = (5, 10, 20, 40, 80)
    fakes = [fake("mean", 1.0, noise=1.0), fake("gp", 0.1)]
    for base in ("vsgp", "fitc", "dpic", "gpvc"):
        fakes += [fake(f"{base}:n_inducing={m}", 1 / m, seconds=m / 10) for m in sizes]
    fakes += [fake(f"dvshgp:expert_size={n},n_inducing_f={n // 2}", 1 / n) for n in (100, 250, 500, 1000)]
    fakes += [fake(f"svshgp:optimizer={word}", 0.1) for word in ("adam", "ngd+adam")]
    fakes += [fake(f"svshgp2:batch_size={b},rate={r}", 0.1) for b in (10, 20) for r in (0.01, 0.1)]
    results.experiment("demo", fakes, seeds=2)
    return collect(results.root).experiments[0]


def test_curves_go_through_means_in_order_of_the_parameter(experiment: Experiment) -> None:
    styles = assign(experiment.labels)
    with style.context():
        figure = sweeps(experiment, styles)
    assert figure is not None
    columns = len(figure.axes) // 3  # both scores, and the time
    bottom = figure.axes[-columns:]
    assert [axes.get_xlabel().replace("\n", " ") for axes in bottom] == [
        "n_inducing",
        "expert_size; n_inducing_f = 0.5 of it",
        "optimizer",
        "batch_size",
    ]
    assert [axes.get_xscale() for axes in bottom] == ["log", "linear", "linear", "linear"]
    assert [text.get_text() for text in bottom[2].get_xticklabels()] == ["adam", "ngd+adam"]
    first = figure.axes[0].containers[0].lines[0]
    assert first.get_color() == styles["vsgp"].colour
    assert list(first.get_xdata()) == [5, 10, 20, 40, 80]
    scores = [
        [digest.scores["smse"] for digest in experiment.done(f"vsgp:n_inducing={m}").values()]
        for m in (5, 10, 20, 40, 80)
    ]
    assert list(first.get_ydata()) == pytest.approx([sum(each) / 2 for each in scores])
    bars = figure.axes[0].containers[0].lines[2][0].get_segments()
    assert math.isclose(bars[0][1][1] - bars[0][0][1], math.sqrt(2) * abs(scores[0][0] - scores[0][1]))


def test_bases_have_different_styles(experiment: Experiment) -> None:
    styles = assign(experiment.labels)
    bases = {base_of(label) for label in experiment.labels}
    assert len({styles[base] for base in bases}) == len(bases)


def test_other_plots_leave_out_the_variants_of_large_sweeps(experiment: Experiment) -> None:
    assert len(experiment.labels) > MANY
    styles = assign(experiment.labels)
    with style.context():
        made = {plot.name: plot.draw(experiment, styles) for plot in PLOTS}
    for name, figure in made.items():
        if figure is None or name == "sweeps":
            continue
        words = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
        words |= {axes.get_title() for axes in figure.axes}
        assert not [word for word in words if parse(word)], name
    assert made["tradeoff"] is not None
    swept = replace(experiment, runs=tuple(run for run in experiment.runs if parse(run.entry.label)))
    with style.context():
        assert [plot.name for plot in PLOTS if plot.draw(swept, styles) is not None] == ["sweeps"]


def test_small_sweeps_are_shown_label_by_label_as_well(results, fake) -> None:
    results.experiment("demo", [fake(f"svshgp:batch_size={b}", 0.1) for b in (1, 2, 3)], seeds=2)
    experiment = collect(results.root).experiments[0]
    with style.context():
        figure = next(plot for plot in PLOTS if plot.name == "tradeoff").draw(
            experiment, assign(experiment.labels)
        )
    assert figure is not None
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:3] == experiment.labels


def test_time_is_by_the_wall_clock_where_workers_are_swept_alone(results, fake) -> None:
    """Other work on the machine lengthens that clock; more workers change no other."""

    def words(label: str) -> str:
        timings = {"fit_wall": 2.0, "predict_wall": 1.0, "fit_cpu": 1.5, "predict_cpu": 0.5}
        results.experiment("demo", [fake(f"{label}={n}", 0.1) for n in (1, 2)], seeds=1)
        for n in (1, 2):
            folder = results.folder(f"{label}={n}", 0)
            record.write(folder, replace(record.read(folder), timings=timings))
        experiment = collect(results.root).experiments[0]
        with style.context():
            figure = sweeps(experiment, assign(experiment.labels))
        assert figure is not None
        return figure.axes[2].get_ylabel()

    assert words("dvshgp:n_jobs") == "fit and predict [s]"
    assert words("dvshgp:expert_size") == "fit and predict [processor s]"
