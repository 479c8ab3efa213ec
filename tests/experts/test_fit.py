"""A fit of all experts: who tries the first values."""

import numpy as np
import pytest

from hgpbench.experts.fit import triers


@pytest.mark.parametrize(("M", "lanes"), [(1, 1), (7, 1), (20, 2), (98, 8), (200, 16), (2000, 16)])
def test_first_values_are_tried_by_distinct_experts_of_all_workers(M: int, lanes: int) -> None:
    chosen = triers(M, lanes)
    assert len(set(chosen)) == min(M, 8)
    assert 0 <= min(chosen) <= max(chosen) < M
    assert max(chosen) - min(chosen) >= 0.8 * (M - 1)
    shares = np.bincount(np.array(chosen) % lanes % 2)
    assert lanes == 1 or shares.tolist() == [4, 4]
