"""Who goes on from one round of a comparison to the next, on how many rows, and what is said of the others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hgpbench.bench import effort, halving, overlap
from hgpbench.bench.entrants import BASELINES, ENTRANTS, SIZES, entrants, unsuited
from hgpbench.bench.estimators import SHIPPED
from hgpbench.bench.halving import Plan, Result


def results(*scores: float, seconds: float = 1.0, rows: int = 1_500) -> list[Result]:
    names = ("vsgp", "forest", "hetlinear", "ehsod", "dvshgp", "svshgp", "gp", "lightgbm")
    found = [Result(names[place], score, seconds, rows, {}) for place, score in enumerate(scores)]
    return [*found, Result("mean", 0.0, 0.0, rows, {}), Result("linear", -0.1, 0.0, rows, {})]


def test_every_entrant_is_a_model_that_can_be_made_at_its_size() -> None:
    for n in (40, 300, 1_500, 40_000, 2_000_000):
        for name, params in entrants(n).items():
            assert SHIPPED[name](**params) is not None
    assert set(BASELINES) <= entrants(40).keys()
    assert set(SIZES) <= set(ENTRANTS)
    assert entrants(2_000_000).keys() == entrants(200_000).keys()
    assert list(entrants(100, ("gp", "forest"))) == ["gp", "forest"]
    assert {"gp", "vshgp"} <= set(unsuited(40_000))
    assert unsuited(40_000, ("gp",)) == []


def test_the_better_half_goes_on_and_the_baselines_and_the_cheap_always() -> None:
    ranked = sorted(results(*-np.arange(1.0, 9.0), seconds=3.0), key=lambda each: each.msll)
    kept = halving.contenders(ranked, entrants(1_500), 100.0)
    assert [each.label for each in kept] == [
        *("lightgbm", "gp", "svshgp", "dvshgp", "ehsod", "hetlinear", "linear", "mean")
    ]
    assert len(halving.contenders(ranked, entrants(1_500), 1_000.0)) == len(ranked)
    assert "gp" not in [each.label for each in halving.contenders(ranked, entrants(7_500), 100.0)]


def test_a_plan_takes_all_rows_where_there_is_time() -> None:
    plan = halving.final(results(-0.5, -0.4, -0.3), 3_000, 3, 1e6, 4, entrants)
    assert plan.rows == 3_000
    assert {"vsgp", "forest", "hetlinear", "mean", "linear"} == set(plan.labels)
    assert plan.cut == ()
    assert plan.hope == pytest.approx(-0.5 * (1 + halving.GAIN * np.log(2)))


def test_a_leader_is_left_out_only_where_rows_are_worth_more_than_it_leads_by() -> None:
    ahead = Result("dvshgp", -0.9, 8.0, 1_500, {"n_experts": 4})
    for lead, has_it in ((0.01, False), (3.0, True)):
        others = [replace(each, msll=-0.9 + lead) for each in results(0.0, 0.0, 0.0, seconds=0.05)[:3]]
        plan = halving.final([ahead, *others], 60_000, 3, 60.0, 4, entrants)
        assert ("dvshgp" in plan.labels) is has_it
        assert (plan.rows < 60_000) is has_it
        assert plan.seconds <= 60.0


def test_what_more_rows_have_brought_counts() -> None:
    few, many = (Result("vsgp", msll, 1.0, rows, {}) for msll, rows in ((-0.3, 1_500), (-0.5, 7_500)))
    grown = many.after(few)
    assert grown.expected(37_500) == pytest.approx(-0.7)
    assert many.after(None).gain is few.after(many).gain is None
    assert replace(many, msll=-0.2).after(few).gain == 0.0
    assert replace(many, msll=np.inf).after(few).gain is None
    assert many.expected(7_000) == many.msll
    assert replace(many, label="linear").expected(90_000) == many.msll
    assert replace(many, msll=0.2).expected(90_000) == 0.2


def test_where_the_time_is_over_the_best_two_still_run() -> None:
    ranked = sorted(results(-0.5, -0.9, -0.7), key=lambda each: each.msll)
    plan = halving.final(ranked, 100_000, 3, 0.0, 4, entrants)
    assert plan.rows == 1_500
    assert set(plan.labels) == {"mean", "linear", "forest", "hetlinear"}
    assert plan.hope == -0.9


def test_a_round_is_held_where_it_decides_something_and_takes_nothing() -> None:
    now = Plan(9_000, ("a", "b", "mean"), late=("c, some 10 s",), hope=-0.5)
    assert halving.worthwhile(now, now)
    assert not halving.worthwhile(now, replace(now, hope=-0.4))
    assert not halving.worthwhile(now, replace(now, labels=("a", "mean")))
    assert not halving.worthwhile(replace(now, late=()), now)
    assert halving.worthwhile(replace(now, late=(), behind=("c, behind",)), now)


def test_a_first_look_takes_a_share_of_the_time() -> None:
    def cost(rows: int) -> float:
        return rows / 10

    assert halving.first(240, cost, 1.0) == 240
    assert halving.first(2_400, cost, 1e3) == 2_400
    assert halving.first(36_584, cost, 1e3) == 1_500
    assert halving.first(36_584, cost, 80.0) == 750
    assert halving.first(36_584, cost, 0.0) == 375


def test_where_the_time_is_over_quick_ones_run_beside_the_best() -> None:
    ranked = sorted(results(-0.9, -0.8, -0.7, -0.6), key=lambda each: each.msll)
    slow = [Result("vsgp", -0.9, 90.0, 1_500, {}), *ranked[1:]]
    plan = halving.final(slow, 40_000, 3, 0.0, 4, entrants)
    assert set(plan.labels) == {"mean", "linear", "vsgp", "forest", "hetlinear", "ehsod"}
    assert plan.limit(0.0) >= 2 * 90.0  # for the best, though the time is over
    assert plan.limit(1e6) > 5e5


def test_further_seeds_go_to_the_best_and_to_those_that_there_is_time_for() -> None:
    first = [
        Result("best", -0.9, 2.0, 240, {}),
        Result("slow", -0.8, 40.0, 240, {}),
        Result("third", -0.7, 0.3, 240, {}),
        Result("fourth", -0.6, 1.5, 240, {}),
        Result("fifth", -0.5, 1.0, 240, {}),
        Result("mean", 0.0, 0.1, 240, {}),
    ]
    kept, cut = halving.affordable(first, 9, 0.0)
    assert kept == ["best", "third", "fourth", "mean"]  # as long again as the best takes
    assert cut[0] == "slow, 40 s a run: number 2 by its first seed"
    assert len(cut) == 2
    assert halving.affordable(first, 9, 1e4) == ([each.label for each in first], ())
    two = [first[1], first[3], Result("slowest", -0.7, 90.0, 240, {})]
    assert halving.affordable([first[3], first[1]], 9, 0.0)[0] == ["slow", "fourth"]
    assert halving.affordable([Result("a", -1.0, 1.0, 9, {}), *two[2:]], 9, 0.0)[0] == ["a", "slowest"]


def test_whoever_is_too_slow_or_behind_is_named() -> None:
    scores = (-0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2)
    ranked = sorted(results(*scores, seconds=20.0), key=lambda each: each.msll)
    slow = [Result("ehsod", -1.0, 1e5, 1_500, {}), *[each for each in ranked if each.label != "ehsod"]]
    plan = halving.fitting(slow, 6_000, 3, 1e4, 4, entrants(6_000))
    assert "ehsod" not in plan.labels
    assert plan.late == ("ehsod, days for 3 runs with 6,000 rows",)
    assert plan.behind == ()
    assert plan.unfit == ("gp, not made for 6,000 rows",)
    many = [each for each in ranked if each.label != "gp"]  # seven, and the baselines
    assert halving.fitting(many, 3_000, 3, 1e5, 4, entrants(3_000)).behind == ()  # hardly any of so much time
    assert halving.fitting(many, 3_000, 3, 3e3, 4, entrants(3_000)).behind == (
        "lightgbm, behind on 1,500 rows",
    )


def test_a_run_that_is_longer_than_the_time_does_not_fit_on_however_many_processors() -> None:
    one = [Result("forest", -0.9, 100.0, 1_500, {}), Result("hetlinear", -0.1, 0.0, 1_500, {})]
    assert "forest" in halving.fitting(one, 1_500, 3, 1_600.0, 4, entrants(1_500), parallel=4).labels
    assert "forest" not in halving.fitting(one, 1_500, 3, 1_600.0, 4, entrants(1_500), parallel=16).labels


def test_a_budget_that_would_be_enough_is_reckoned() -> None:
    two = [Result("forest", -0.9, 10.0, 1_500, {}), Result("nngp", -0.95, 100.0, 1_500, {}, gain=0.0)]
    labels, seconds = halving.enough(two, 36_000, 3, 9, entrants(36_000), 1)
    assert labels == ("forest",)
    assert halving.fitting(two, 36_000, 3, halving.SHARE * seconds, 9, entrants(36_000)).labels[0] == "forest"
    assert halving.enough(two[:0], 36_000, 3, 9, entrants(36_000), 1) == ((), 0.0)
    tied = [two[0], replace(two[1], msll=-1.6)]
    both, more = halving.enough(tied, 36_000, 3, 9, entrants(36_000), 1)
    assert both == ("forest", "nngp")
    assert more > seconds


def test_tables_are_split_into_training_and_test_rows() -> None:
    for rows in (60, 824, 45_730, 2_000_000):
        train, test = halving.sizes(rows)
        assert train + test == rows
        assert 10 <= test <= 10_000
        assert halving.seeds(train) >= 3


@pytest.mark.parametrize("name", sorted(effort.EFFORT))
def test_more_rows_cost_more(name: str) -> None:
    params = {"n_experts": 4}
    few, many = (effort.seconds(name, params, n, 5) for n in (500, 50_000))
    assert few is not None
    assert many is not None
    assert 0 < few <= many
    assert effort.ratio(name, (params, 500), (params, 50_000), 5) >= 1.0


def test_every_model_that_ships_has_an_effort() -> None:
    assert set(SHIPPED) <= set(effort.EFFORT) | {"nngp", "nnhgp"}
    assert effort.seconds("nothing", {}, 10, 2) is None
    assert set(effort.MEMORY) <= set(effort.EFFORT)
    assert effort.memory("nothing", {}, 10, 2, 2) is None


@pytest.mark.parametrize(
    ("name", "params", "rows", "inputs", "megabytes"),
    [
        ("gp", {}, 1_500, 9, 268),
        ("vsgp", {"n_inducing": 300}, 10_000, 2, 267),
        ("ehsod", {"subset_size": 2_000}, 10_000, 2, 275),
        ("dvshgp", {"n_inducing_f": 100, "n_inducing_g": 100}, 10_000, 2, 223),
        ("svshgp", {"n_inducing_f": 300, "batch_size": 1_000}, 10_000, 2, 300),
        ("sklearn-gpr", {}, 10_000, 2, 602),
        ("mean", {}, 10_000, 2, 193),
    ],
)
def test_memory_is_about_what_was_measured(
    name: str, params: dict[str, Any], rows: int, inputs: int, megabytes: float
) -> None:
    found = effort.memory(name, params, rows, 2_000, inputs)
    assert found is not None
    assert megabytes / 1.5 < found / 1e6 < 1.5 * megabytes


def test_copies_are_rows_with_their_target() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    assert overlap.copies(X, np.array([5.0, 5.0, 6.0, 5.0])) == 1
    assert overlap.copies(X[:0], np.empty(0)) == 0
