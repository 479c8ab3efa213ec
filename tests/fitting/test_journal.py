"""A journal finds each stage once: what a file of the first of them has is not found again."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.fitting import checkpoint
from hgpbench.fitting.checkpoint import Arrays, Checkpoint
from hgpbench.fitting.journal import Journal


class Stopped(Exception):
    pass


def fit(path: Path, found: list[int], stop: int | None = None) -> list[Arrays]:
    """Twelve stages, of which those that are not recalled are noted; stopped before one of them."""
    journal = Journal(Checkpoint(path, "problem"))

    def stage(place: int) -> Arrays:
        if place == stop:
            raise Stopped
        found.append(place)
        return {"matrix": np.full((2, place), 0.1 * place), "K": np.asarray(place)}

    return [journal.recall(lambda place=place: stage(place)) for place in range(12)]


@pytest.mark.parametrize("stop", [1, 11])
def test_what_was_found_is_recalled_to_the_bit_and_not_found_again(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    first, again = [], []
    expected = fit(tmp_path / "other.h5", [])
    with pytest.raises(Stopped):
        fit(tmp_path / "state.h5", first, stop)
    results = fit(tmp_path / "state.h5", again)
    assert first == list(range(stop))
    assert again == list(range(stop, 12))
    for result, other in zip(results, expected, strict=True):
        for name, array in other.items():
            assert_array_equal(result[name], array, strict=True)
