"""How verdicts are told: settings, variants, counts, and the choice of the fullest experiment."""

from hgpbench.paper import verdicts
from hgpbench.paper.verdicts import counts, judge

FITC = "sinc2d/fitc-noise"
SMALL, LARGE = ({"fitc": {"noise_var": value}, "vsgp": {"noise_var": 0.03}} for value in (0.003, 0.02))


def judge_all(experiments):
    return verdicts.judge_all(experiments, [judge(each) for each in experiments])


def table(experiment):
    return verdicts.table(experiment, judge(experiment))


def of(found, name: str):
    return next(each for each in found if each.claim.id == name)


def test_the_papers_settings_decide_and_ours_are_told_besides(make) -> None:
    models = {
        "ehsod": {"msll_gaussian": -1.0},
        "ehsod-guess": {"msll_gaussian": -0.5},
        "vsgp": {"msll_gaussian": -0.8},
        "rbcm": {"msll_gaussian": -0.8},
    }
    found = of(judge(make("sinc2d", models)), "sinc2d/ehsod-msll")
    assert (found.ruling, found.ours) == ("does not hold", "holds")
    assert "ehsod-guess -0.5000" in found.figures
    del models["ehsod-guess"]
    found = of(judge(make("sinc2d", models)), "sinc2d/ehsod-msll")
    assert (found.ruling, found.ours) == ("holds", None)


def test_a_variant_with_the_papers_settings_alone_has_no_second_verdict(make) -> None:
    models = {label: {"msll_gaussian": -1.0} for label in ("dvshgp", "dvshgp-paper", "dvshgp-random")}
    assert of(judge(make("toy", models)), "toy/disjoint-experts").ours is None


def test_a_verdict_of_a_variant_says_so(make) -> None:
    assert of(judge(make("sinc2d", SMALL)), FITC).said == "holds"
    assert of(judge(make("sinc2d-quick", SMALL, n_train=500)), FITC).said == "holds (quick)"
    assert of(judge(make("sinc2d", LARGE, n_train=500)), FITC).said == "does not hold (other sizes)"
    assert of(judge(make("sinc2d-quick", {}, planned=("fitc",))), FITC).said == "not run"
    done = {"dvshgp": {"noise_spread": 0.01, "smse": 0.1}}
    part = make("sarcos-subset-quick", done, dataset={"variant": "subset"})
    assert of(judge(part), "sarcos/constant-noise").said == "holds (quick, subset)"


def test_the_fullest_experiment_that_decides_is_taken(make) -> None:
    quick, full = make("sinc2d-quick", SMALL, n_train=500), make("sinc2d", LARGE)
    for order in ([quick, full], [full, quick]):
        assert of(judge_all(order), FITC).said == "does not hold"
    empty = make("sinc2d", {}, planned=("fitc", "vsgp"))
    assert of(judge_all([empty, quick]), FITC).said == "holds (quick)"
    assert of(judge_all([]), FITC).said == "not run"


def test_a_survey_names_the_variants_that_it_used(make) -> None:
    models = {"svshgp": {"smse": 0.3, "msll_gaussian": -1.0}, "vsgp": {"smse": 0.2, "msll_gaussian": -0.5}}
    found = of(judge_all([make("protein-quick", models)]), "general/svshgp-trades")
    assert found.said == "holds (protein-quick)"
    assert "protein-quick yes" in found.figures
    assert "sarcos not run" in found.figures


def test_each_claim_is_counted_once(make) -> None:
    found = judge_all([make("sinc2d", SMALL), make("sinc2d-quick", LARGE, n_train=500)])
    assert len(found) == len(verdicts.CLAIMS)
    # of equal scores, besides, neither is below the other: FITC's MSLL and mean; and three are mathematics
    assert counts(found) == f"4 hold, 2 do not hold, 0 undecided, {len(found) - 6} not run"
    some = [of(judge(make("sinc2d-quick", each)), FITC) for each in (SMALL, LARGE)]
    assert counts(some[:1]).startswith(
        "1 hold, 0 do not hold, 0 undecided, 0 not run; 1 of the verdicts is of runs unlike"
    )
    assert counts(some).startswith(
        "1 hold, 1 do not hold, 0 undecided, 0 not run; 2 of the verdicts are of runs"
    )


def test_tables(make) -> None:
    quick = table(make("sinc2d-quick", SMALL, n_train=500))
    assert quick is not None
    assert quick.is_prose
    assert "quick variant; 500 training rows where the paper has 10,000" in quick.caption
    assert quick.headings == ("verdict", "what the paper says", "counts as true if", "figures")
    assert ["holds (quick)" for row in quick.rows if row[0].text == "holds (quick)"] == ["holds (quick)"]
    assert table(make("toy", {}, dataset={"name": "mine"})) is None
    with_paper = {label: {"msll_gaussian": -1.0} for label in ("ehsod", "ehsod-guess", "vsgp", "rbcm")}
    assert "our settings" in table(make("sinc2d", with_paper)).headings
    every = verdicts.summary_table(judge_all([make("sinc2d", SMALL)]))
    assert len(every.rows) == len(verdicts.CLAIMS)
    assert every.headings == ("verdict", "claim", "what the paper says", "place")
