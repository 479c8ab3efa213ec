"""The fit behind VSHGP and VHGP: where it starts, and that it reports the bound it reached."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.fitting import authors
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.start import LONGEST, guess
from hgpbench.fitting.vshgp import Problem, first_values
from hgpbench.gp import vshgp
from hgpbench.models import VHGP, VSGP
from hgpbench.scaling import Scaling
from tests.models.zoo import draw


@pytest.mark.parametrize("optimizer", ["natural", "lbfgs", "paper"])
def test_the_reported_bound_is_the_bound_at_the_learned_values(optimizer):
    X, y = draw(60)
    scaling = Scaling.of(X, y)
    inputs, target = scaling.inputs(X), scaling.target(y)
    rng = np.random.default_rng(0)
    problem = Problem(
        inputs,
        target,
        inducing_points(inputs, 12, rng),
        inducing_points(inputs, 8, rng),
        rng,
        authors=authors.values(inputs, scaling, None, None),
    )
    fit = problem.fit(optimizer, 20)
    found = vshgp.bound(fit.values, inputs, target, vshgp.Workspace(60, 12, 8)).value
    assert fit.result.value == pytest.approx(found, rel=1e-9)


def test_with_points_at_the_rows_and_held_the_two_are_one_model():
    X, y = draw(50)
    scaling = Scaling.of(X, y)
    inputs, target = scaling.inputs(X), scaling.target(y)
    points = np.unique(inputs, axis=0)
    rng = np.random.default_rng(0)
    fit = Problem(inputs, target, points, points, rng, move_inducing=False).fit("natural", 100)
    full = VHGP().fit(X, y)
    assert full.elbo_ == fit.result.value + scaling.log_jacobian(50)
    assert_allclose(fit.values["Xm"], points, rtol=0)


def test_the_start_beats_constant_noise_and_levels_the_residuals():
    fold = open_source("toy", None).fold(Split(500, 500), 0)
    scaling = Scaling.of(fold.X_train, fold.y_train)
    X, y = scaling.inputs(fold.X_train), scaling.target(fold.y_train)
    rng = np.random.default_rng(0)
    Xm, Xu = inducing_points(X, 20, rng), inducing_points(X, 20, rng)
    memory = vshgp.Workspace(500, 20, 20)
    start = first_values(X, y, Xm, Xu, memory, rng, n_restarts=3, move_inducing=True)
    bound = vshgp.bound(start.values, X, y, memory)
    constant = VSGP(n_inducing=20, random_state=0).fit(X, y)
    assert bound.value > constant.elbo_
    assert abs(float(bound.grads["mu0"])) < 0.01 * len(y)
    assert start.evaluations < 200  # as many as the paper's recipe takes, and cheaper ones


def test_no_input_is_lost_to_the_noise_before_it_is_learned(monkeypatch):
    """Where g hardly follows an input, its lengthscale must start where the bound still has a slope."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    y = X[:, 0] + np.exp(-1.5 + X[:, 1]) * rng.normal(size=400)
    memory, Xm, Xu = vshgp.Workspace(400, 30, 20), inducing_points(X, 30, rng), inducing_points(X, 20, rng)

    def started() -> np.ndarray:
        values = first_values(
            X, y, Xm, Xu, memory, np.random.default_rng(0), n_restarts=1, move_inducing=True
        )
        return values.values["ell_g"] / guess(X, y)["ell"]

    bounded = started()
    monkeypatch.setattr("hgpbench.fitting.vshgp.LONGEST", np.inf)
    found = started()
    assert found.max() > 100.0 * LONGEST
    assert_allclose(bounded, np.minimum(found, LONGEST), rtol=1e-12)


def test_noise_that_vanishes_somewhere_is_no_reason_to_fail(monkeypatch):
    """First values whose bound cannot be evaluated give way to constant noise."""
    X, y = draw(80, d=1)
    memory, points = vshgp.Workspace(80, 12, 12), X[:12]

    def without_value(*arguments):
        raise np.linalg.LinAlgError("not positive definite")

    with monkeypatch.context() as patched:
        patched.setattr(vshgp, "bound", without_value)
        start = first_values(
            X, y, points, points, memory, np.random.default_rng(0), n_restarts=1, move_inducing=True
        )
    assert (start.values["w"] == 0.0).all()
    assert np.isfinite(vshgp.bound(start.values, X, y, memory).value)
