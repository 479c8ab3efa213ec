"""Sentences appear where they are true, with the right figures, and nowhere else."""

import pytest

from hgpbench.paper.beyond import sentences

TABLE_WORDS = "The paper's own numbers contradict its words (SVSHGP comes next to DVSHGP in SMSE)"


def said(experiment, part: str) -> list[str]:
    return [sentence for sentence in sentences(experiment) if part in sentence]


@pytest.mark.parametrize(("smse", "is_said"), [(0.0015, True), (0.0021, False)])
def test_a_linear_model_below_the_papers_table(make, smse: float, is_said: bool) -> None:
    experiment = make("electric", {"linear": {"smse": smse}}, n_train=200_000)
    found = said(experiment, "below every one that the paper prints")
    assert bool(found) == is_said
    if is_said:
        assert found[0].startswith(
            "Linear regression (linear) has SMSE 0.001500 (n = 3; 200,000 training rows where"
        )
        assert found[0].endswith("the lowest there is 0.002000, of DVSHGP.")


def test_a_linear_mean_function_below_the_papers_table(make) -> None:
    experiment = make("electric", {"dvshgp-linear": {"msll_gaussian": -4.0}})
    assert said(experiment, "A linear mean function (dvshgp-linear) has MSLL -4.000")


@pytest.mark.parametrize(("smse", "is_said"), [(0.3, True), (0.5, False)])
def test_models_that_a_simple_one_beats(make, smse: float, is_said: bool) -> None:
    models = {"linear": {"smse": smse}, "gpvc-guess": {"smse": 0.4}, "other": {"smse": 9.0}}
    found = said(make("protein", models), "has a lower SMSE than")
    assert found == (
        ["Linear regression (linear) has a lower SMSE than gpvc-guess (0.3000 against 0.4000)."]
        if is_said
        else []
    )


def test_the_paper_contradicts_itself_only_where_it_does(make) -> None:
    assert len(said(make("electric", {"rbcm": {}}), "contradict")) == 1
    (found,) = said(make("electric", {"rbcm": {}}), TABLE_WORDS)
    assert "rbcm 0.002300" in found
    assert said(make("sinc2d", {"vsgp": {}, "fitc": {}}), "contradict") == []


def test_the_floor_of_a_known_truth(make) -> None:
    facts = {"truth_smse": 0.17, "truth_msll": -1.2}
    models = {"gp": {"msll_gaussian": -1.0, **facts}, "dvshgp": {"msll_gaussian": -1.15, **facts}}
    (found,) = said(make("sinc2d", models), "The true function")
    assert "SMSE 0.1700 and MSLL -1.200" in found
    assert "dvshgp, 0.050 above (n = 3)" in found
    assert said(make("protein", {"gp": {}}), "The true function") == []


def test_our_settings_against_the_papers(make) -> None:
    models = {
        "dvshgp": {"smse": 0.1, "processor_seconds": 1.0},
        "dvshgp-paper": {"smse": 0.2, "processor_seconds": 4.0},
    }
    (found,) = said(make("protein", models), "With our settings")
    assert "dvshgp has SMSE 0.1000 (paper's 0.2000)" in found
    assert "in 0.25 times the processor time (n = 3)" in found
    assert said(make("protein", {"dvshgp": {}}, planned=("dvshgp-paper",)), "With our settings") == []


@pytest.mark.parametrize(("msll", "side"), [(-0.6, "0.10 below"), (-0.4, "0.10 above"), (-0.501, None)])
def test_the_exact_density(make, msll: float, side: str | None) -> None:
    models = {"vshgp": {"msll_gaussian": -0.5, "msll": msll}, "gp": {"msll_gaussian": -0.2, "msll": -0.2}}
    found = said(make("toy", models), "By its exact density, a mixture, vshgp has an MSLL")
    assert [side in sentence for sentence in found] == ([True] if side else [])


def test_nothing_is_said_of_other_experiments(make) -> None:
    models = {"linear": {"smse": 0.1}, "gpvc": {"smse": 0.5}}
    assert sentences(make("protein", models, dataset={"name": "mine"})) == []
