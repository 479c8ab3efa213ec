"""The pieces of a prediction: what they take, measured, and that their size changes nothing but round-off."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.experts.memory import CHUNK, PROCESS, ROWS, Needs, Pieces
from hgpbench.models import DVSHGP, RBCM
from hgpbench.models.base import Estimator
from hgpbench.prediction import Prediction
from tests.models.zoo import draw

NEEDS = Needs(expert=10_000_000, model=50_000_000, sums=200, inputs=11)
SPARSE = {
    "n_experts": 8,
    "n_inducing_f": 12,
    "n_inducing_g": 9,
    "optimizer": "natural(n_passes=1)",
    "random_state": 0,
}


def test_without_a_bound_pieces_are_as_large_as_useful() -> None:
    assert NEEDS.pieces(None, 2) == NEEDS.pieces("100GB", 2) == Pieces(ROWS, CHUNK, 2)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("limit", [40_000_000, 400_000_000, 1_000_000_000, 4_000_000_000])
def test_pieces_and_what_is_fixed_keep_within_the_bound(limit: int, workers: int) -> None:
    pieces = NEEDS.pieces(limit, workers)
    fixed = NEEDS.expert * pieces.processes
    if pieces.processes > 1:
        fixed += PROCESS * pieces.processes + 2 * NEEDS.model
    assert fixed + pieces.rows * 8 * NEEDS.sums + 2 * pieces.chunk * pieces.processes <= limit
    assert 1 <= pieces.processes <= workers


def test_workers_that_would_fill_the_memory_are_not_started() -> None:
    assert [NEEDS.pieces(limit, 4).processes for limit in ("100MB", "1GB", "2GB")] == [1, 3, 4]


def measured(model: Estimator, Xs: np.ndarray) -> tuple[Prediction, int]:
    """A prediction, and the memory that it took beside itself and the scaled rows."""
    tracemalloc.start()
    try:
        prediction = model.predict_dist(Xs)
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return prediction, peak - left - Xs.nbytes


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        (DVSHGP(**SPARSE, n_jobs=1), 4_000_000),
        (RBCM(n_experts=8, max_iter=3, random_state=0, n_jobs=1), 2_000_000),
    ],
    ids=["committee", "rbcm"],
)
def test_a_prediction_keeps_its_bound_and_its_result(model: Estimator, limit: int) -> None:
    Xs, _ = draw(30_000, seed=1)
    model.fit(*draw(400))
    free, taken = measured(model, Xs)
    assert taken > limit
    bounded, taken = measured(model.set_params(max_memory=limit), Xs)
    assert taken <= limit
    for name, values in free.arrays().items():
        assert_allclose(bounded.arrays()[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("model", [DVSHGP(), RBCM()])
@pytest.mark.parametrize("value", [0, -5, "much", "3 apples", 1.5j])
def test_a_bound_that_is_no_size_is_refused(model: Estimator, value: object) -> None:
    with pytest.raises(ValueError, match=r"max_memory=.* number of bytes, or text such as"):
        model.set_params(max_memory=value).fit(*draw(20))
