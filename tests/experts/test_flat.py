"""Named arrays as a flat vector: they come back by name, as views."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.experts.flat import pack, unpack

ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "none": np.zeros((0, 4)),
    "number": np.asarray(7),
    "row": np.ones(3),
}


def test_arrays_come_back_by_name_without_a_copy() -> None:
    flat = pack(ARRAYS)
    found = unpack(flat, [*ARRAYS, "more"])
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].shape == array.shape
        assert_array_equal(found[name], array)
    flat += 1.0
    assert_array_equal(found["row"], 2.0 * np.ones(3))


def test_more_arrays_than_names_are_refused() -> None:
    with pytest.raises(ValueError, match="4 arrays cannot have the 2 names a, b"):
        unpack(pack(ARRAYS), ["a", "b"])
