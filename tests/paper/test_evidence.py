"""Which runs a claim is judged by: labels, seeds, and what partial evidence can say."""

import math

import pytest

from hgpbench.paper.criteria import alike, every, lower, lowest, most, near_best, some, unsteady
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


def test_means_are_over_shared_seeds_and_figures_say_so(make) -> None:
    nan = math.nan
    experiment = make(
        "toy", {"vsgp": {"smse": (1.0, 2.0, 9.0)}, "fitc": {"smse": (3.0, 5.0, nan)}}, planned=("gp",)
    )
    sample = Evidence(experiment).sample(("vsgp", "fitc", "gp"), "smse")
    assert sample.seeds == (0, 1)
    assert sample.means == {"vsgp": 1.5, "fitc": 4.0}
    assert sample.missing == ["gp"]
    assert sample.figures(sample.means) == "vsgp 1.500, fitc 4.000 (n = 2); missing: gp"
    apart = make("toy", {"vsgp": {"smse": (1.0, nan)}, "fitc": {"smse": (nan, 1.0)}}, seeds=2)
    assert Evidence(apart).sample(("vsgp", "fitc"), "smse").means == {}


def test_a_criterion_counts_the_seeds_on_which_it_is_true(make) -> None:
    experiment = make("toy", {"vsgp": {"smse": (1.0, 2.0, 1.0)}, "fitc": {"smse": 1.5}})
    assert (
        lower("smse", ("vsgp",), ("fitc",)).check(Evidence(experiment)).figures.endswith("(n = 3; true on 2)")
    )


def test_one_rival_refutes_but_only_all_confirm(make) -> None:
    claim = lowest("smse", "dvshgp", ("dvshgp", "rbcm", "dpic"))
    ahead = make("toy", {"dvshgp": {"smse": 0.1}, "rbcm": {"smse": 0.2}}, planned=("dpic",))
    behind = make("toy", {"dvshgp": {"smse": 0.3}, "rbcm": {"smse": 0.2}}, planned=("dpic",))
    assert claim.check(Evidence(ahead)).outcome is None
    assert "missing: dpic" in claim.check(Evidence(ahead)).figures
    assert claim.check(Evidence(behind)).outcome is False


def test_nearness_waits_for_whoever_might_be_best(make) -> None:
    near = near_best("smse", ("vsgp",), ("vsgp", "rbcm", "dpic"), percent=10)
    some_done = {"vsgp": {"smse": 0.105}, "rbcm": {"smse": 0.1}}
    assert near.check(Evidence(make("toy", some_done))).outcome is None
    assert near.check(Evidence(make("toy", some_done | {"dpic": {"smse": 0.1}}))).outcome is True
    assert near.check(Evidence(make("toy", {"vsgp": {"smse": 0.2}, "rbcm": {"smse": 0.1}}))).outcome is False
    close = alike("smse", ("vsgp", "rbcm", "dpic"), percent=10)
    assert close.check(Evidence(make("toy", some_done))).outcome is None
    assert close.check(Evidence(make("toy", {"vsgp": {"smse": 0.2}, "rbcm": {"smse": 0.1}}))).outcome is False


def test_an_infinite_loss_is_worse_than_any(make) -> None:
    experiment = make("toy", {"ehsod": {"msll_gaussian": math.inf}, "vsgp": {"msll_gaussian": 0.0}})
    assert lower("msll_gaussian", ("vsgp",), ("ehsod",)).check(Evidence(experiment)).outcome is True


def test_unsteadiness_takes_several_seeds(make) -> None:
    claim = unsteady("smse", "ehsod", ("ehsod", "vsgp"), times=3, seeds=3)
    models = {"ehsod": {"smse": (0.0, 1.0, 0.0)}, "vsgp": {"smse": (0.1, 0.2, 0.1)}}
    assert claim.check(Evidence(make("toy", models))).outcome is True
    assert claim.check(Evidence(make("toy", models, seeds=2))).outcome is None
    models["ehsod"]["smse"] = (0.1, math.inf, 0.1)
    assert claim.check(Evidence(make("toy", models))).outcome is True


@pytest.mark.parametrize(
    ("rule", "outcomes", "wanted"),
    [
        (every, [True, True], True),
        (every, [True, None], None),
        (every, [False, None], False),
        (some, [None, True], True),
        (some, [False, None], None),
        (some, [False, False], False),
        (most, [True, True, None], True),
        (most, [True, None, None], None),
        (most, [True, False], False),
        (most, [True, False, None], None),
        (most, [False, False, None, None], False),
    ],
)
def test_open_answers_count_for_nothing(rule, outcomes, wanted) -> None:
    assert rule(outcomes) is wanted


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
