"""Rankings of two tables compared: what survives, what changes, and what is not said."""

import numpy as np
import pytest

from hgpbench.paper import leaks
from hgpbench.paper.leaks import kendall, survival, tables

FIRST = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}


def world(means, scatter: float = 0.001):
    """Scores over three seeds, each model's scatter its own."""
    rng = np.random.default_rng(0)
    return {
        label: {"smse": tuple(mean + scatter * rng.standard_normal(3)), "msll_gaussian": -1.0}
        for label, mean in means.items()
    }


def pair(make, first, second, scatter: float = 0.001):
    return make("sarcos-subset", world(first, scatter)), make("sarcos-subset-blocks", world(second, scatter))


def test_the_same_order_survives(make) -> None:
    found = survival(*pair(make, FIRST, {name: 2 * value for name, value in FIRST.items()}), "smse")
    assert found.correlation == 1.0
    assert found.interval == (1.0, 1.0)
    assert (found.kept, found.changed) == (6, ())
    assert "survives" in found.sentence


def test_an_order_that_turns_is_told_with_its_pairs(make) -> None:
    found = survival(*pair(make, FIRST, {"a": 0.5, "b": 0.2, "c": 0.3, "d": 0.4}), "smse")
    assert found.labels == ("a", "b", "c", "d")
    assert found.changed == ("a and b", "a and c", "a and d")
    assert found.kept == 3
    assert found.correlation == pytest.approx(0.0)
    assert "does not survive" in found.sentence


def test_what_tests_do_not_tell_apart_changes_nothing(make) -> None:
    found = survival(*pair(make, FIRST, {"a": 0.31, "b": 0.3, "c": 0.32, "d": 0.33}, scatter=0.5), "smse")
    assert found.changed == ()
    assert found.interval[0] < found.interval[1]


def test_tables_need_both_experiments_and_three_models(make) -> None:
    first, second = pair(make, FIRST, FIRST)
    ((heading, made, sentences),) = tables([second, first])
    assert heading.startswith("sarcos-subset and sarcos-subset-blocks:")
    assert [table.caption for table in made] == ["SMSE, means over seeds", "MSLL (exact), means over seeds"]
    assert len(sentences) == 2
    assert [row[0].text for row in made[0].rows] == list(FIRST)
    assert [(row[2].text, row[4].text) for row in made[0].rows] == [(str(n), str(n)) for n in range(1, 5)]
    assert made[0].headings == ("model", "sarcos-subset", "rank", "sarcos-subset-blocks", "rank there")
    assert list(tables([first])) == []
    few = {"a": 0.1, "b": 0.2}
    assert list(tables(pair(make, few, few))) == []


def test_ties_count_for_neither_order() -> None:
    assert kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])) == 0.0
    assert kendall(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == -1.0


def test_every_pair_is_shipped() -> None:
    from hgpbench import shipped

    names = set(shipped.names("configs"))
    assert all({first, second} <= names for first, (second, _) in leaks.PAIRS.items())
