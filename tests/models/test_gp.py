"""The exact GP as an estimator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from hgpbench.errors import Refusal
from hgpbench.models import ExactGP
from tests.models.zoo import draw


def test_more_than_five_thousand_rows_are_refused():
    with pytest.raises(Refusal, match=r"gp: 5,001 training rows .* \(at most 5,000\)"):
        ExactGP().fit(np.zeros((5_001, 1)), np.arange(5_001.0))


def test_scikit_learn_reaches_the_same_optimum():
    X, y = draw(70)
    y = (y - y.mean()) / y.std()
    ours = ExactGP(standardize=False, max_iter=200).fit(X, y)
    kernel = ConstantKernel(1.0) * RBF([0.8, 0.8]) + WhiteKernel(0.25)
    theirs = GaussianProcessRegressor(kernel).fit(X, y)
    assert ours.elbo_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-3)
    Xs, _ = draw(20, seed=1)
    mean, std = theirs.predict(Xs, return_std=True)
    prediction = ours.predict_dist(Xs)
    assert_allclose(prediction.mean, mean, atol=2e-3)
    assert_allclose(np.sqrt(prediction.var), std, atol=2e-3)  # a WhiteKernel's noise counts at new inputs too


def test_climbs_from_several_starts_never_lower_the_evidence_and_repeat():
    X, y = draw(40)
    single = ExactGP(max_iter=20, n_restarts=0).fit(X, y)
    several, again = (ExactGP(max_iter=20, n_restarts=3, random_state=0).fit(X, y) for _ in range(2))
    assert several.elbo_ >= single.elbo_ - 1e-3
    assert several.elbo_ == again.elbo_
    assert several.starts_ == again.starts_
    assert sum(start["climbed"] is not None for start in several.starts_) == 3


def test_a_short_wave_is_found_though_it_looks_like_noise_from_afar():
    X = np.arange(300.0)[:, None]
    y = np.sin(2 * np.pi * X[:, 0] / 11) + 0.05 * np.random.default_rng(0).normal(size=300)
    model = ExactGP().fit(X, y)
    assert 1.0 < model.lengthscales_f_[0] < 8.0
    assert model.noise_var_ < 0.02


def test_an_irrelevant_input_gets_a_long_lengthscale():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(120, 2))
    model = ExactGP().fit(X, np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=120))
    assert model.lengthscales_f_[1] > 10 * model.lengthscales_f_[0]
    assert model.noise_var_ == pytest.approx(0.01, rel=0.5)


def test_progress_tells_of_every_iteration():
    heard: list[tuple[int, int | None, float]] = []
    ExactGP(max_iter=5, random_state=0).fit(*draw(40), callback=lambda *news: heard.append(news))
    assert [step for step, _, _ in heard] == list(range(1, len(heard) + 1))
    assert {total for _, total, _ in heard} == {5}
