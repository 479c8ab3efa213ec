"""The printed numbers are the paper's, and ours stand beside them in the same units."""

import dataclasses
import math

import pytest
from pydantic import ValidationError

from hgpbench import shipped
from hgpbench.paper import published, values
from hgpbench.paper.published import Printout, Published, Setup, load

ELECTRIC = {  # the paper's table, column by column
    "dvshgp": (0.0020, -3.4456, 11.05),
    "svshgp": (0.0029, -3.1207, 7.44),
    "dpic": (0.0042, None, 47.22),
    "ehsod": (0.0103, -1.9453, 4.72),
    "svgp": (0.0028, -2.8489, 3.55),
    "rbcm": (0.0023, -3.0647, 3.97),
}


def printed(experiment: str, model: str) -> dict[str, float]:
    (found,) = [each.models for each in load().tables if each.experiment == experiment]
    return {quantity: float(text) for quantity, text in found[model].items()}


@pytest.mark.parametrize("model", ELECTRIC)
def test_the_electric_table_is_the_papers(model: str) -> None:
    wanted = dict(zip(("smse", "msll", "hours"), ELECTRIC[model], strict=True))
    assert printed("electric", model) == {name: value for name, value in wanted.items() if value is not None}


def test_the_other_numbers_are_the_papers() -> None:
    assert printed("sarcos", "dvshgp-u5") == {"smse": 0.0099, "msll": -2.3034, "seconds": 350}
    assert printed("sinc2d", "vsgp") == {"noise_var": 0.0309}
    assert printed("sinc2d", "fitc") == {"noise_var": 0.0030}
    assert printed("electric-cores", "dvshgp:n_jobs=8") == {"speedup": 3.5}
    assert all(each.experiment in load().experiments for each in load().tables)


def test_every_experiment_has_a_config() -> None:
    names = [
        name
        for base, setup in load().experiments.items()
        for name in (*(setup.series or [base]), *setup.parts)
    ]
    assert set(names) <= set(shipped.names("configs"))


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (Setup, {"dataset": "toy", "train": "500"}),
        (Setup, {"dataset": "toy", "train": 0}),
        (Setup, {"dataset": "toy", "train": 5, "tests": 5}),
        (Printout, {"experiment": "e", "place": "", "about": "a", "models": {"m": {"smse": "1"}}}),
        (Printout, {"experiment": "e", "place": "p", "about": "a", "models": {"m": {"smse": 0.1}}}),
        (Printout, {"experiment": "e", "place": "p", "about": "a", "models": {"m": {"smse": "about 1"}}}),
        (Printout, {"experiment": "e", "place": "p", "about": "a", "models": {"m": {"rmse": "1"}}}),
        (Printout, {"experiment": "e", "place": "p", "about": "a", "models": {"m": {}}}),
        (Published, {"experiments": {}}),
    ],
)
def test_a_slip_in_the_file_is_refused(model, body) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(body)


def test_counterparts_go_by_name_and_data(make) -> None:
    assert published.counterpart(make("sarcos-subset-quick", {})) == "sarcos"
    assert published.counterpart(make("protein-sweeps", {})) == "protein-sweeps"
    assert published.counterpart(make("toy", {}, dataset={"name": "mine"})) is None


def test_departures_tell_quick_variants_parts_and_sizes(make) -> None:
    done = {"rbcm": {}}
    assert published.departures(make("sarcos", done)) == []
    assert published.departures(make("sarcos", done, dataset={"variant": "merged"})) == []
    part = make("sarcos-subset-quick", done, dataset={"variant": "subset"}, n_train=3000)
    assert [each.words for each in published.departures(part)] == [
        "quick variant",
        "dataset sarcos:subset",
        "3,000 training rows where the paper has 40,000",
    ]


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"by": "*"}, "rows of the same inputs on one side"),
        ({"by": "OSM_ID"}, "rows of the same OSM_ID on one side"),
        ({"blocks": 40, "gap": 20}, "tested on whole ones of 40 pieces of the file"),
    ],
)
def test_a_split_that_keeps_rows_together_is_told(make, split, words) -> None:
    experiment = make("protein-distinct", {"rbcm": {}})
    manifest = dataclasses.replace(experiment.manifest, split=experiment.manifest.split | split)
    (departure,) = published.departures(dataclasses.replace(experiment, manifest=manifest))
    assert (departure.tag, departure.words) == ("split apart", words)


def test_ours_published_and_difference(make) -> None:
    models = {
        "dvshgp": {"smse": (0.001, 0.003), "msll_gaussian": -3.0, "msll": -9.0, "total_seconds": 3600.0},
        "dvshgp-paper": {"smse": 0.004},
        "linear": {"smse": 0.0015},
    }
    found = {
        (each.label, each.quantity): each
        for each in values.comparisons(make("electric", models, seeds=2, planned=("rbcm",)))
    }
    assert {label for label, _ in found} == {"dvshgp", "dvshgp-paper", "rbcm"}
    smse = found["dvshgp", "smse"]
    assert (smse.ours.mean, smse.ours.n, smse.printed) == (pytest.approx(0.002), 2, "0.0020")
    assert smse.difference == pytest.approx(0, abs=1e-12)
    assert found["dvshgp", "msll"].ours.mean == -3.0  # of the normal density, not of the mixture
    assert found["dvshgp", "hours"].ours.mean == pytest.approx(1.0)
    assert found["dvshgp-paper", "smse"].difference == pytest.approx(0.002)
    assert math.isnan(found["rbcm", "smse"].difference)


def tabled(experiment):
    return values.table(experiment, values.comparisons(experiment))


def test_the_table_shows_difference_place_and_departure(make) -> None:
    table = tabled(make("electric", {"dvshgp": {"smse": 0.003}}, n_train=200_000))
    assert table is not None
    assert "200,000 training rows where the paper has 2,000,000" in table.caption
    rows = [[cell.text for cell in row] for row in table.rows]
    assert ["dvshgp", "SMSE", "0.003000 ± 0", "0.0020", "+0.0010 (+50 %)", "VI-C, table"] in rows
    assert tabled(make("protein", {"dvshgp": {}})) is None
    linear = make("electric", {"linear": {}})
    assert values.notes(linear, values.comparisons(linear)) == []


def test_noise_variances_and_speed_ups(make) -> None:
    (found,) = values.comparisons(make("sinc2d", {"fitc": {"noise_var": 0.002}}))
    assert found.difference == pytest.approx(-0.001)
    cores = {f"dvshgp:n_jobs={n}": {"total_seconds": 80.0 / n} for n in (1, 8)}
    (found,) = values.comparisons(make("electric-cores", cores))
    assert found.ours.mean == pytest.approx(8)
    (found,) = values.comparisons(make("electric-cores", {"dvshgp:n_jobs=8": {}}))
    assert found.ours.n == 0
