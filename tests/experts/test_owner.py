"""The owner of some experts: what it answers does not depend on their order."""

import numpy as np
from numpy.testing import assert_allclose

from hgpbench.experts.contribution import total
from hgpbench.experts.expert import SHARED, Expert, Step, shared_layout
from hgpbench.experts.owner import Owner
from hgpbench.experts.rows import Rows
from tests.experts.test_expert import shared_values
from tests.models.zoo import draw


def test_the_order_of_experts_does_not_matter() -> None:
    X, y = draw(90)
    shared, flat = shared_values(), shared_layout(2).pack(shared_values())
    order = np.concatenate([np.arange(30) + 30 * i for i in (2, 0, 1)])
    sums = []
    for rows in (np.arange(90), order):
        owner = Owner(Rows(X[rows], y[rows], np.array([0, 30, 60, 90])))
        states = {}
        for number in range(3):
            # The same inducing points for the same rows, whatever the expert's number.
            mine = slice(30 * number, 30 * number + 30)
            states[number] = Expert.place(
                X[rows][mine], y[rows][mine], 10, 6, np.random.default_rng(0)
            ).state(True)
        owner.restore(range(3), list(states.values()))
        sums.append(total(owner.visit(range(3), flat, Step(0.01, 0.7))))
    assert_allclose(sums[0].value, sums[1].value, rtol=1e-10)
    assert_allclose(sums[0].grad, sums[1].grad, rtol=1e-10)
    assert set(SHARED) == set(shared)
