"""Who goes on from one round of a comparison to the next, on how many rows, and what is said of the others."""

import numpy as np
import pytest

from hgpbench.bench import effort, halving, overlap
from hgpbench.bench.entrants import BASELINES, ENTRANTS, SIZES, entrants
from hgpbench.bench.estimators import SHIPPED
from hgpbench.bench.halving import Result


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


def test_the_better_half_goes_on_and_the_baselines_always() -> None:
    kept = halving.survivors(results(*-np.arange(1.0, 9.0)), least=2)
    assert [each.label for each in kept] == ["lightgbm", "gp", "svshgp", "dvshgp", "linear", "mean"]


def test_a_plan_takes_all_rows_where_there_is_time() -> None:
    plan = halving.final(results(-0.5, -0.4, -0.3), 3_000, 3, 1e6, 4, entrants)
    assert plan.rows == 3_000
    assert {"vsgp", "forest", "hetlinear", "mean", "linear"} == set(plan.labels)
    assert plan.cut == ()


def test_with_less_time_it_takes_fewer_rows_and_says_so() -> None:
    plan = halving.final(results(-0.5, -0.4, -0.3, seconds=5.0), 100_000, 3, 600.0, 4, entrants)
    assert 1_500 <= plan.rows < 100_000
    assert {"vsgp", "forest", "hetlinear"} <= set(plan.labels)
    assert plan.seconds <= 600.0


def test_where_the_time_is_over_the_best_two_still_run() -> None:
    ranked = sorted(results(-0.5, -0.9, -0.7), key=lambda each: each.msll)
    plan = halving.final(ranked, 100_000, 3, 0.0, 4, entrants)
    assert plan.rows == 1_500
    assert set(plan.labels) == {"mean", "linear", "forest", "hetlinear"}


def test_leaders_that_have_no_time_end_the_choosing() -> None:
    ranked = sorted(results(-0.9, -0.8, -0.7, -0.6), key=lambda each: each.msll)
    slow = [Result("vsgp", -0.9, 1e5, 1_500, {}), *ranked[1:]]
    assert halving.leaders(slow, entrants(7_500)) == ["vsgp", "forest", "hetlinear"]
    chosen, _, _ = halving.fitting(slow, 7_500, 2, 500.0, 4, entrants(7_500))
    assert "vsgp" not in chosen
    plan = halving.final(slow, 40_000, 3, 500.0, 4, entrants)
    assert plan.rows == 1_500
    assert {"vsgp", "forest"} <= set(plan.labels)  # the best two, whatever they take


def test_where_the_time_is_over_quick_ones_run_beside_the_best() -> None:
    ranked = sorted(results(-0.9, -0.8, -0.7, -0.6), key=lambda each: each.msll)
    slow = [Result("vsgp", -0.9, 90.0, 1_500, {}), *ranked[1:]]
    plan = halving.final(slow, 40_000, 3, 0.0, 4, entrants)
    assert set(plan.labels) == {"mean", "linear", "vsgp", "forest", "hetlinear", "ehsod"}
    assert plan.wall(0.0, 3) >= 3 * 90.0  # for the best, though the time is over
    assert plan.wall(1e6, 3) == 1e6


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
    ranked = sorted(results(-0.9, -0.8, -0.7, -0.6, -0.5, -0.4, -0.3), key=lambda each: each.msll)
    slow = [Result("ehsod", -1.0, 1e5, 1_500, {}), *[each for each in ranked if each.label != "ehsod"]]
    chosen, _, cut = halving.fitting(slow, 6_000, 3, 500.0, 4, entrants(6_000))
    assert "ehsod" not in chosen
    assert any(sentence.startswith("ehsod, some") for sentence in cut)
    assert any(sentence.startswith("gp, not made for 6,000 rows") for sentence in cut)


def test_rounds_grow_towards_the_whole_table() -> None:
    assert halving.rounds(240) == []
    assert halving.rounds(36_584) == [1_500, 7_500]
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


def test_copies_are_rows_with_their_target() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    assert overlap.copies(X, np.array([5.0, 5.0, 6.0, 5.0])) == 1
    assert overlap.copies(X[:0], np.empty(0)) == 0
