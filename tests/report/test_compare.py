"""Paired tests against scipy, closed forms and known examples."""

import math

import numpy as np
import pytest
from scipy import stats

from hgpbench.report.collect import collect
from hgpbench.report.compare import compare, holm, method, paired_p, sampling, sentences
from hgpbench.report.document import section


def test_without_correction_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=10), rng.normal(0.5, 1.0, size=10)
    assert paired_p(a - b, extra=0.0) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)


def test_correction_is_nadeau_and_bengios() -> None:
    differences = np.array([0.3, 0.1, 0.4, 0.2, 0.25])
    extra = 200 / 800
    t = differences.mean() / math.sqrt((1 / 5 + extra) * differences.var(ddof=1))
    assert paired_p(differences, extra) == pytest.approx(2 * (1 - stats.t.cdf(t, 4)), rel=1e-9)


def test_corrected_test_keeps_its_level_where_the_plain_one_does_not() -> None:
    """Random splits of one sample: two predictors that are equally good in truth must rarely be told apart."""
    rng = np.random.default_rng(7)
    rejected = {0.0: 0, 0.25: 0}
    for _ in range(400):
        data = rng.standard_normal(100)  # loss difference of each row, zero in expectation
        differences = [data[rng.permutation(100)[:20]].mean() for _ in range(10)]
        for extra in rejected:
            rejected[extra] += paired_p(differences, extra) <= 0.05
    assert rejected[0.25] / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert rejected[0.0] / 400 > 2 * rejected[0.25] / 400


def test_degenerate_differences() -> None:
    assert paired_p([0.0, 0.0, 0.0], 0.1) == 1.0
    assert paired_p([0.5, 0.5, 0.5], 0.1) == 0.0
    assert math.isnan(paired_p([0.1, 0.2], 0.1))
    assert math.isnan(paired_p([0.1, 0.2, math.inf], 0.1))
    assert math.isnan(paired_p([0.1, 0.2, 0.4], math.nan))


def test_holm_on_a_known_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.fixture
def three(results, fake):
    fakes = [fake("gp", 0.02), fake("linear", 0.9), fake("twin", 0.02)]
    results.experiment("demo", fakes, seeds=5)
    return collect(results.root).experiments[0]


def test_findings_name_the_better_model_and_the_ties(three) -> None:
    said = sentences(three, "smse")
    assert any(s.startswith("gp has a lower SMSE than linear (difference 0.") for s in said)
    assert any(s.startswith("twin has a lower SMSE than linear") for s in said)
    assert "SMSE: no difference was found between gp and twin." in said
    told = method(three)
    assert told is not None
    assert "Nadeau-Bengio" in told
    assert "3 pairs" in told


def test_direction_of_a_difference(three) -> None:
    pair = next(p for p in compare(three, "msll") if (p.first, p.second) == ("gp", "linear"))
    assert pair.difference < 0
    assert pair.seeds == 5
    assert pair.p <= pair.p_holm <= 0.05


def test_only_shared_seeds_are_compared(results, fake) -> None:
    results.plan("demo", [results.entry(label, seed) for label in ("a", "b") for seed in range(6)])
    for seed in range(5):
        results.finish(fake("a"), seed)
        results.finish(fake("b", 0.5), seed + 1)
    (pair,) = compare(collect(results.root).experiments[0], "smse")
    assert pair.seeds == 4


def test_few_seeds_test_nothing_and_say_so(results, fake) -> None:
    results.experiment("demo", [fake("a"), fake("b", 0.5)], seeds=2)
    experiment = collect(results.root).experiments[0]
    assert "nothing can be tested with fewer than 3 seeds" in sentences(experiment, "smse")[0]
    assert method(experiment) is None


def test_fresh_draws_need_no_correction(results, fake) -> None:
    results.experiment("split", [fake("a", 0.2), fake("b", 0.21)], seeds=4)
    corrected = compare(collect(results.root).experiments[0], "smse")[0].p
    results.dataset["synthetic"] = True
    results.experiment("fresh", [fake("a", 0.2), fake("b", 0.21)], seeds=4)
    fresh = collect(results.root / "fresh").experiments[0]
    assert compare(fresh, "smse")[0].p < corrected
    assert "fresh draws" in str(method(fresh))


def test_one_split_for_all_seeds_is_not_tested(results, fake) -> None:
    results.split.update(train="all", test="train")
    results.experiment("demo", [fake("a"), fake("b", 0.5)], seeds=4)
    experiment = collect(results.root).experiments[0]
    assert sampling(experiment.finished[0]) == "fixed"
    assert compare(experiment, "smse") == []
    assert "same training and test rows" in sentences(experiment, "smse")[0]


def test_many_models_are_said_by_the_best_alone(results, fake) -> None:
    results.experiment("demo", [fake(f"m{i}", 0.1 * i) for i in range(8)], seeds=3)
    said = sentences(collect(results.root).experiments[0], "smse")
    assert said[-1] == "SMSE: the 21 pairs without m0 are told by the csv and json formats."
    assert all("m0" in sentence for sentence in said)


def test_what_could_not_be_tested_is_said_once_for_each_model(results, fake) -> None:
    results.experiment("demo", [fake("a", 0.1), fake("b", 0.2), fake("c", 0.3), fake("late", 0.4)], seeds=3)
    results.stop("late", 2, "failed", "why")
    (experiment,) = collect(results.root).experiments
    [told] = [line for line in sentences(experiment, "smse") if "could not" in line]
    assert told.endswith("that is not finite): late and a, b and c.")


def test_what_holds_of_every_score_is_said_once(results, fake) -> None:
    results.experiment("demo", [fake("a"), fake("b", 0.5)], seeds=2)
    (experiment,) = collect(results.root).experiments
    (told,) = section(experiment).findings
    assert (
        told
        == "SMSE, MSLL, interval score: nothing can be tested with fewer than 3 seeds shared by two models."
    )
