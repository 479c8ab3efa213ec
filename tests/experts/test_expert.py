"""One expert: its bound and gradient against VSHGP, its steps, its posteriors, its state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.experts.expert import Expert, Step, local, shared_layout
from hgpbench.gp import vshgp
from hgpbench.gp.kernels import SEARD
from tests.models.zoo import draw


def shared_values(d: int = 2) -> dict[str, np.ndarray]:
    return {
        "s2_kf": np.asarray(1.3),
        "ell_f": np.linspace(0.8, 1.4, d),
        "s2_kg": np.asarray(0.7),
        "ell_g": np.linspace(1.5, 1.1, d),
        "mu0": np.asarray(-1.7),
    }


@pytest.fixture
def expert() -> Expert:
    X, y = draw(60)
    placed = Expert.place(X, y, 12, 8, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    placed.values |= {"lam": rng.uniform(0.2, 0.8, 60), "w": 0.3 * rng.normal(size=8)}
    return placed


def test_an_expert_has_the_bound_and_the_gradient_of_vshgp(expert: Expert) -> None:
    shared, layout = shared_values(), shared_layout(2)
    memory = vshgp.Workspace(60, 12, 8)
    travelled = expert.values | {"lam": np.exp(np.log(expert.values["lam"]))}  # not always the same bits
    expected = vshgp.bound(shared | travelled, expert.X, expert.y, memory)
    names = ("Xm", "Xu", "lam", "w")
    trial = expert.trial(shared, layout, names, expert.part(names), memory)
    assert trial.bound.value == expected.value
    assert_array_equal(trial.bound.grad, layout.pack_grad(shared, expected.grads))
    assert trial.own.size == 12 * 2 + 8 * 2 + 60 + 8
    assert expert.bound(shared, memory).value == pytest.approx(expected.value, rel=1e-12)


def test_a_visit_follows_the_gradient_at_the_refined_noise(expert: Expert) -> None:
    shared, layout, memory = shared_values(), shared_layout(2), vshgp.Workspace(60, 12, 8)
    before = dict(expert.values)
    projection = vshgp.project(shared | before, expert.X, memory)
    refined = vshgp.refine(shared | before, expert.y, projection, 0.7)
    expected = vshgp.bound(shared | before | {"lam": refined.lam, "w": refined.w}, expert.X, expert.y, memory)
    found = expert.visit(shared, layout, Step(rate=0.01, gamma=0.7), memory)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert_allclose(found.grad, layout.pack_grad(shared, expected.grads), rtol=1e-9)
    assert_array_equal(expert.values["lam"], refined.lam)
    moved = expert.values["Xm"] - before["Xm"]
    assert np.abs(moved).max() <= 0.01
    assert np.vdot(moved, expected.grads["Xm"]) > 0


def test_where_the_bound_cannot_be_evaluated_nothing_changes(expert: Expert) -> None:
    before = expert.state(whole=True)
    hopeless = shared_values() | {"s2_kf": np.asarray(np.inf)}
    answer = expert.visit(hopeless, shared_layout(2), Step(0.01, 0.7), vshgp.Workspace(60, 12, 8))
    assert np.isnan(answer.value)
    assert np.isnan(answer.grad).all()
    assert answer.grad.shape == (7,)
    assert_array_equal(expert.state(whole=True), before)


def test_memory_that_served_another_expert_gives_the_same_bits(expert: Expert) -> None:
    shared, layout, names = shared_values(), shared_layout(2), ("Xm", "Xu", "lam", "w")
    expected = expert.trial(shared, layout, names, expert.part(names), vshgp.Workspace(60, 12, 8))
    used = vshgp.Workspace(90, 12, 8)
    X, y = draw(90, seed=7)
    Expert.place(X, y, 12, 8, np.random.default_rng(2)).visit(shared, layout, Step(0.01, 0.7), used)
    used.resize(60)
    found = expert.trial(shared, layout, names, expert.part(names), used)
    for part, other in zip((*expected.bound, expected.own), (*found.bound, found.own), strict=True):
        assert_array_equal(part, other)


def test_settling_never_loses(expert: Expert) -> None:
    shared, memory = shared_values(), vshgp.Workspace(60, 12, 8)
    first = expert.bound(shared, memory).value
    values = [expert.settle(shared, steps, memory).value for steps in (1, 2, 5)]
    assert np.all(np.diff([first, *values]) >= 0)
    assert expert.bound(shared, memory).value == pytest.approx(values[-1], rel=1e-12)


def test_posteriors_are_those_of_vshgp(expert: Expert) -> None:
    shared, memory = shared_values(), vshgp.Workspace(60, 12, 8)
    Xs, _ = draw(20, seed=5)
    expected = vshgp.posteriors(shared | expert.values, expert.X, expert.y, memory)
    found = expert.posteriors(shared, memory)
    for letter, posterior in zip("fg", expected, strict=True):
        assert_allclose(found[letter].moments(Xs), posterior.moments(Xs), rtol=1e-9, atol=1e-12)


def test_leave_one_out_residuals_are_those_of_fits_without_the_row(expert: Expert) -> None:
    shared, memory = shared_values(), vshgp.Workspace(60, 12, 8)
    state = vshgp.evaluate(shared | expert.values, expert.X, expert.y, memory)
    found = vshgp.left_out_residuals(state, expert.y, -1.7, slice(None, None, 7))
    r, kernel = expert.noise(shared, memory), SEARD(1.3, shared["ell_f"])
    Kmm, Knm = (
        kernel.cross(expert.values["Xm"], expert.values["Xm"]) + 1.3e-6 * np.eye(12),
        kernel.cross(expert.X, expert.values["Xm"]),
    )
    for place, n in enumerate(range(0, 60, 7)):
        kept = np.arange(60) != n
        A = Kmm + Knm[kept].T @ (Knm[kept] / r[kept, None])
        mean = Knm[n] @ np.linalg.solve(A, Knm[kept].T @ (expert.y[kept] / r[kept]))
        assert found[place] == pytest.approx(expert.y[n] - mean, rel=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("whole", [True, False])
def test_an_expert_comes_back_from_its_state(expert: Expert, steps: int, whole: bool) -> None:
    shared, layout, memory = shared_values(), shared_layout(2), vshgp.Workspace(60, 12, 8)
    for _ in range(steps):
        expert.visit(shared, layout, Step(0.01, 0.7), memory)
    again = Expert.restore(expert.X, expert.y, expert.state(whole))
    assert again.sizes == expert.sizes
    for name, value in expert.values.items():
        assert_array_equal(again.values[name], value)
        assert_array_equal(local(expert.state(whole), name), value)
    assert [adam.steps for adam in again.adams.values()] == [steps if whole else 0] * 2
    if whole:
        for each in (expert, again):
            each.visit(shared, layout, Step(0.01, 0.7), memory)
        assert_array_equal(again.state(True), expert.state(True))
