"""What a model costs, as its listing tells it."""

from pathlib import Path

import pytest

from hgpbench.bench import costs, effort
from hgpbench.bench.costs import Measured
from hgpbench.bench.estimators import SHIPPED
from hgpbench.commands import described, inventory, listings


@pytest.mark.parametrize("name", SHIPPED)
def test_every_model_tells_its_cost_once(name: str, tmp_path: Path) -> None:
    text = listings.models(name, tmp_path)
    lines = text.splitlines()
    (cost,) = [line for line in lines if line.strip().lower().startswith("cost:")]
    assert cost.startswith("    cost: O(")
    assert cost.endswith(".")
    assert f"    measured: no run at the defaults in {tmp_path}" in lines
    assert cost in listings.models(None, tmp_path)


def test_the_time_of_a_default_is_reckoned_at_sizes_that_are_accepted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(effort, "speed", lambda: 6e10)
    known = described.models()
    for name in SHIPPED:
        times = list(listings.reckoned(known[name]).values())
        assert times == sorted(times)
        assert all(each > 0.0 for each in times), name
    assert list(listings.reckoned(known["vshgp"])) == [1_000, 10_000, 100_000]
    assert list(listings.reckoned(known["gp"])) == list(listings.reckoned(known["vhgp"])) == [1_000]
    seconds = effort.seconds("dvshgp", known["dvshgp"].defaults, 10_000, 10)
    assert seconds is not None
    assert f", 10,000 rows {seconds:.3g} s, " in listings.models("dvshgp", tmp_path)
    (told,) = inventory.models("gp", tmp_path)
    assert told["reckoned"] == [{"rows": 1_000, "seconds": effort.seconds("gp", {}, 1_000, 10)}]


def test_times_of_earlier_fits_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []

    def measured(*question: object) -> list[Measured]:
        asked.extend(question)
        return [Measured("toy", 500, 1, 0.25, 3), Measured("protein", 35_000, 2, 90.0, 1)]

    monkeypatch.setattr(costs, "measured", measured)
    said = f"fits at the defaults in {tmp_path}: 500 rows of toy 0.25 s (1 thread); 35,000 rows of protein"
    assert said in listings.models("linear", tmp_path)
    assert asked == ["linear", {"standardize": True}, tmp_path]


def test_a_peer_tells_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for there, said in ((True, "(installed)"), (None, "(not installed: pip install 'hgpbench[peers]')")):
        monkeypatch.setattr(described, "find_spec", lambda name, there=there: there)
        assert f"    needs: lightgbm {said}" in listings.models("lightgbm", tmp_path)
    assert "needs:" not in listings.models("forest", tmp_path)
