"""Named arrays to a flat vector and back, with logarithms and their chain rule."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.params import Bound, Layout, objective

VALUES = {"s2": np.asarray(2.0), "Z": np.arange(6.0).reshape(3, 2), "ell": np.array([0.5, 4.0])}
LAYOUT = Layout.of(VALUES, positive=["s2", "ell"])


def test_pack_and_unpack_are_inverse():
    flat = LAYOUT.pack(VALUES)
    assert flat.shape == (LAYOUT.size,) == (9,)
    back = LAYOUT.unpack(flat)
    assert list(back) == list(VALUES)
    for name, value in VALUES.items():
        assert back[name].shape == value.shape
        assert_allclose(back[name], value, rtol=1e-15)


def test_positive_parameters_travel_as_logarithms():
    flat = LAYOUT.pack(VALUES)
    where = LAYOUT.slices()
    assert_allclose(flat[where["ell"]], np.log([0.5, 4.0]))
    assert_array_equal(flat[where["Z"]], np.arange(6.0))


def test_unpacked_arrays_do_not_alias_the_vector():
    flat = LAYOUT.pack(VALUES)
    LAYOUT.unpack(flat)["Z"][...] = -1.0
    assert_array_equal(flat, LAYOUT.pack(VALUES))


def test_gradient_follows_the_chain_rule():
    grads = {"s2": np.asarray(3.0), "Z": np.ones((3, 2)), "ell": np.array([1.0, 10.0])}
    assert_allclose(LAYOUT.pack_grad(VALUES, grads), [6.0, 1, 1, 1, 1, 1, 1, 0.5, 40.0])


def test_a_part_keeps_order_and_logarithms():
    part = LAYOUT.only(["ell", "s2"])
    assert list(part.shapes) == ["s2", "ell"]
    assert_allclose(part.pack(VALUES), np.log([2.0, 0.5, 4.0]))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no such parameters: \\['sigma'\\]"):
        Layout.of(VALUES, positive=["sigma"])
    with pytest.raises(ValueError, match="'ell' has shape \\(3,\\), expected \\(2,\\)"):
        LAYOUT.pack(VALUES | {"ell": np.ones(3)})


def test_objective_holds_what_it_is_told_to_hold():
    def bound(values: dict[str, np.ndarray]) -> Bound:
        grads = {"s2": np.asarray(1.0), "Z": np.zeros((3, 2)), "ell": values["s2"] * np.ones(2)}
        return Bound(float(values["s2"] * (1 + values["ell"].sum())), grads, 1e-6)

    part = LAYOUT.only(["ell"])
    evaluation = objective(bound, part, held=VALUES)(np.log([1.0, 2.0]))
    assert evaluation.value == pytest.approx(8.0)
    assert_allclose(evaluation.grad, [2.0, 4.0])
    assert evaluation.jitter == 1e-6
