"""Which runs a claim is judged by: labels, seeds, and what partial evidence can say."""

import math
import re

import pytest

from hgpbench.paper.criteria import alike, lower, lowest, most, near_best, some, unsteady
from hgpbench.paper.evidence import Evidence, listed, paper_label, quantities


@pytest.mark.parametrize(
    ("labels", "names", "wanted"),
    [
        (["dvshgp", "dvshgp-paper"], ["dvshgp"], ["dvshgp-paper"]),
        (["dvshgp", "rbcm"], ["dvshgp", "rbcm"], ["dvshgp", "rbcm"]),
        # a variant is set against its model under the same settings
        (["dvshgp", "dvshgp-paper", "dvshgp-u5"], ["dvshgp-u5", "dvshgp"], ["dvshgp-u5", "dvshgp"]),
        (["dvshgp-paper", "dvshgp-paper-u5"], ["dvshgp-u5", "dvshgp"], ["dvshgp-paper-u5", "dvshgp-paper"]),
        (["dvshgp", "dvshgp-paper"], ["dvshgp", "dvshgp-random"], ["dvshgp-paper", "dvshgp-random"]),
        (["ehsod-guess", "dvshgp"], ["ehsod", "dvshgp"], ["ehsod-guess", "dvshgp"]),
        (["dvshgp-paper:n_jobs=1"], ["dvshgp:n_jobs=1"], ["dvshgp-paper:n_jobs=1"]),
    ],
)
def test_labels_of_the_papers_settings(make, labels, names, wanted) -> None:
    experiment = make("toy", {label: {} for label in labels})
    assert list(Evidence(experiment).labels(names).values()) == wanted
    assert list(Evidence(experiment, ours=True).labels(names).values()) == names


def test_paper_labels() -> None:
    assert [paper_label(name) for name in ("gpvc", "dvshgp-u5", "dvshgp-n0:a=1")] == [
        "gpvc-guess",
        "dvshgp-paper-u5",
        "dvshgp-paper-n0:a=1",
    ]


def test_means_are_over_shared_seeds(make) -> None:
    nan = math.nan
    experiment = make(
        "toy", {"vsgp": {"smse": (1.0, 2.0, 9.0)}, "fitc": {"smse": (3.0, 5.0, nan)}}, planned=("gp",)
    )
    sample = Evidence(experiment).sample(("vsgp", "fitc", "gp"), "smse")
    assert sample.seeds == (0, 1)
    assert sample.means == {"vsgp": 1.5, "fitc": 4.0}
    assert sample.missing == ["gp"]
    apart = make("toy", {"vsgp": {"smse": (1.0, nan)}, "fitc": {"smse": (nan, 1.0)}}, seeds=2)
    assert Evidence(apart).sample(("vsgp", "fitc"), "smse").means == {}


def test_a_small_model_stands_for_the_papers_where_that_was_not_run(make) -> None:
    evidence = Evidence(make("electric", {"svshgp-500": {}, "svgp": {}, "svgp-500": {}}, planned=("svshgp",)))
    assert evidence.labels(("svshgp", "svgp")) == {"svshgp": "svshgp-500", "svgp": "svgp"}
    assert evidence.smaller(("svshgp", "svgp")) == ["svshgp-500"]


def answer_of(criterion, experiment):
    return criterion.check(Evidence(experiment)).answer


def test_a_difference_within_chance_is_undecided_and_says_what_would_decide(make) -> None:
    claim = lower("smse", ("vsgp",), ("fitc",))
    noise = (0.05, -0.06, 0.04)
    near = make("toy", {"vsgp": {"smse": tuple(1 + e for e in noise)}, "fitc": {"smse": 1.03}}, fresh=True)
    found = claim.check(Evidence(near))
    assert found.answer == "open"
    assert re.search(r"about \d+ seeds like these would decide", found.needs)
    assert re.search(r"vsgp − fitc 0?-?0\.\d+ \[-", found.figures)
    far = make("toy", {"vsgp": {"smse": tuple(1 + e for e in noise)}, "fitc": {"smse": 2.0}}, fresh=True)
    assert claim.check(Evidence(far)).answer == "yes"
    assert answer_of(lower("smse", ("fitc",), ("vsgp",)), far) == "no"


def test_one_seed_decides_nothing(make) -> None:
    found = lower("smse", ("vsgp",), ("fitc",)).check(
        Evidence(make("toy", {"vsgp": {"smse": 0.1}, "fitc": {"smse": 0.9}}, seeds=1))
    )
    assert (found.answer, found.needs) == ("open", "a single seed says nothing of chance; two are the least")


def test_shared_training_rows_widen_the_interval(make) -> None:
    models = {"vsgp": {"smse": (0.95, 0.97, 0.93)}, "fitc": {"smse": 1.04}}
    claim = lower("smse", ("vsgp",), ("fitc",))
    assert answer_of(claim, make("toy", models, fresh=True)) == "yes"
    resampled = make(
        "toy", models, n_train=100
    )  # as many test rows: the variance is four times that of fresh ones
    assert Evidence(resampled).extra == 1.0
    assert answer_of(claim, resampled) == "open"


def test_nearness_needs_the_interval_inside_its_margin(make) -> None:
    models = {"vsgp": {"smse": (1.0, 1.02, 0.98)}, "rbcm": {"smse": 1.0}}
    assert answer_of(alike("smse", ("vsgp", "rbcm"), by=0.1), make("toy", models, fresh=True)) == "yes"
    assert answer_of(alike("smse", ("vsgp", "rbcm"), by=0.04), make("toy", models, fresh=True)) == "open"
    models["rbcm"]["smse"] = 1.5
    assert answer_of(alike("smse", ("vsgp", "rbcm"), by=0.1), make("toy", models, fresh=True)) == "no"


def test_one_rival_refutes_but_only_all_confirm(make) -> None:
    claim = lowest("smse", "dvshgp", ("dvshgp", "rbcm", "dpic"))
    ahead = make("toy", {"dvshgp": {"smse": 0.1}, "rbcm": {"smse": 0.2}}, planned=("dpic",))
    behind = make("toy", {"dvshgp": {"smse": 0.3}, "rbcm": {"smse": 0.2}}, planned=("dpic",))
    assert answer_of(claim, ahead) == "absent"
    assert "missing: dpic" in claim.check(Evidence(ahead)).figures
    assert answer_of(claim, behind) == "no"


def test_nearness_waits_for_whoever_might_be_best(make) -> None:
    near = near_best("smse", ("vsgp",), ("vsgp", "rbcm", "dpic"), percent=10)
    some_done = {"vsgp": {"smse": 0.105}, "rbcm": {"smse": 0.1}}
    assert answer_of(near, make("toy", some_done)) == "absent"
    assert answer_of(near, make("toy", some_done | {"dpic": {"smse": 0.1}})) == "yes"
    assert answer_of(near, make("toy", {"vsgp": {"smse": 0.2}, "rbcm": {"smse": 0.1}})) == "no"
    close = alike("smse", ("vsgp", "rbcm", "dpic"), percent=10)
    assert answer_of(close, make("toy", some_done)) == "absent"
    assert answer_of(close, make("toy", {"vsgp": {"smse": 0.2}, "rbcm": {"smse": 0.1}})) == "no"


def test_an_infinite_loss_is_worse_than_any(make) -> None:
    experiment = make("toy", {"ehsod": {"msll_gaussian": math.inf}, "vsgp": {"msll_gaussian": 0.0}})
    assert answer_of(lower("msll_gaussian", ("vsgp",), ("ehsod",)), experiment) == "yes"


def test_unsteadiness_takes_several_seeds(make) -> None:
    claim = unsteady("smse", "ehsod", ("ehsod", "vsgp"), times=3)
    models = {"ehsod": {"smse": (0.0, 9.0, 0.0)}, "vsgp": {"smse": (0.1, 0.11, 0.1)}}
    assert answer_of(claim, make("toy", models)) == "yes"
    assert answer_of(claim, make("toy", models, seeds=1)) == "open"
    models["ehsod"]["smse"] = (0.1, 0.14, 0.1)
    assert answer_of(claim, make("toy", models)) == "open"
    models["ehsod"]["smse"] = (0.1, math.inf, 0.1)
    assert answer_of(claim, make("toy", models)) == "yes"


@pytest.mark.parametrize(
    ("rule", "answers", "wanted"),
    [
        (some, ["absent", "yes"], "yes"),
        (some, ["no", "absent", "open"], "absent"),
        (some, ["no", "open"], "open"),
        (some, ["no", "no"], "no"),
        (most, ["yes", "yes", "absent"], "yes"),
        (most, ["yes", "absent", "absent"], "absent"),
        (most, ["yes", "open", "open"], "open"),
        (most, ["yes", "no"], "no"),
        (most, ["yes", "no", "open"], "open"),
        (most, ["no", "no", "absent", "absent"], "no"),
    ],
)
def test_open_answers_count_for_nothing(rule, answers, wanted) -> None:
    assert rule(answers) == wanted


def test_sweeps_are_ordered_by_value_and_keep_to_one_setting(make) -> None:
    labels = [
        "ehsod:subset_size=3000",
        "ehsod:subset_size=500",
        "ehsod:kind=VC",
        "ehsod",
        "vsgp:n_inducing=5",
    ]
    assert Evidence(make("protein-sweeps", {label: {} for label in labels})).sweep("ehsod") == {
        500.0: "ehsod:subset_size=500",
        3000.0: "ehsod:subset_size=3000",
    }
    both = make("protein-sweeps", {"gpvc:n_basis=1": {}, "gpvc-guess:n_basis=2": {}})
    assert Evidence(both).sweep("gpvc") == {2.0: "gpvc:n_basis=2"}
    assert Evidence(both, ours=True).sweep("gpvc") == {1.0: "gpvc:n_basis=1"}


def test_words() -> None:
    assert listed(["dpic", "ehsod", "vsgp"]) == "dPIC, EHSoD and VSGP"
    assert listed(["rbcm"]) == "RBCM"


def test_a_run_without_a_digest_has_no_quantities(make) -> None:
    assert quantities(make("toy", {}, planned=("vsgp",)).runs[0]) == {}
