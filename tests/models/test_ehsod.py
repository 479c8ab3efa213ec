"""EHSoD as an estimator: its two GPs, its subset, and the noise that it predicts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

from hgpbench.errors import FitError
from hgpbench.models import EHSoD, ExactGP
from tests.models.zoo import draw

PAPER = {"residuals": "in-sample", "bias_correction": False}


def wave(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One input, a smooth function of it, and a noise variance that varies 150-fold."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    log_noise = -3.0 + 2.5 * np.sin(X[:, 0])
    return X, np.sin(2 * X[:, 0]) + np.exp(0.5 * log_noise) * rng.normal(size=n), log_noise


@pytest.fixture(scope="module")
def fitted() -> EHSoD:
    X, y, _ = wave(600)
    return EHSoD(random_state=0).fit(X, y)


def test_the_first_gp_is_the_exact_gp_of_the_subset():
    X, y = draw(70)
    model, exact = EHSoD(random_state=0).fit(X, y), ExactGP(max_iter=50).fit(X, y)
    assert model.elbo_ == pytest.approx(exact.elbo_, abs=1e-6)
    Xs, _ = draw(20, seed=1)
    found, expected = model.predict_dist(Xs), exact.predict_dist(Xs)
    assert_allclose(found.f_mean, expected.f_mean, rtol=1e-3, atol=1e-4)
    assert_allclose(found.f_var, expected.f_var, rtol=1e-3)
    assert model.noise_var_ == pytest.approx(exact.noise_var_, rel=1e-4)


def test_the_second_gp_is_the_exact_gp_of_the_log_squared_residuals():
    X, y = draw(70)
    model = EHSoD(max_iter=100, **PAPER).fit(X, y)
    z = np.log((y - model.predict(X)) ** 2)
    assert model.noise_mean_ == pytest.approx(z.mean(), rel=1e-5)
    # ExactGP starts elsewhere, and centres and scales z by itself; the optimum is the same
    exact = ExactGP(max_iter=100, random_state=0).fit(X, z)
    Xs, _ = draw(20, seed=1)
    found, expected = model.predict_dist(Xs), exact.predict_dist(Xs)
    assert_allclose(found.g_mean, expected.f_mean, atol=0.02)
    assert_allclose(found.g_var, expected.f_var, atol=0.02)


def test_the_correction_adds_what_the_logarithm_of_chi_squared_takes():
    X, y = draw(70)
    plain, corrected = (
        EHSoD(residuals="in-sample", bias_correction=c, random_state=0).fit(X, y).predict_dist(X)
        for c in (0, 1)
    )
    assert_allclose(corrected.g_mean - plain.g_mean, -(digamma(0.5) + np.log(2)), rtol=1e-12)
    assert_array_equal(corrected.f_mean, plain.f_mean)
    assert_array_equal(corrected.g_var, plain.g_var)


def test_the_noise_profile_is_found(fitted):
    Xs, _, log_noise = wave(300, seed=1)
    g = fitted.predict_dist(Xs).g_mean
    assert np.corrcoef(g, log_noise)[0, 1] > 0.9
    assert abs(np.mean(g - log_noise)) < 0.2
    assert fitted.noise_strength_ >= 0.75


def test_left_out_residuals_are_as_large_as_the_noise():
    # Few rows of a rough function: a GP that has seen them leaves residuals far below the noise.
    inside, density = np.zeros((2, 3, 3))  # by seed and settings
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, Xs = rng.uniform(-3, 3, size=(80, 2)), rng.uniform(-3, 3, size=(1000, 2))
        noisy = [np.sin(3 * A).sum(axis=1) + 0.4 * rng.normal(size=len(A)) for A in (X, Xs)]
        for place, settings in enumerate(({}, {"residuals": "in-sample"}, PAPER)):
            prediction = EHSoD(random_state=0, **settings).fit(X, noisy[0]).predict_dist(Xs)
            low, high = prediction.quantile([0.025, 0.975])
            inside[seed, place] = np.mean((noisy[1] >= low) & (noisy[1] <= high))
            density[seed, place] = prediction.logpdf(noisy[1]).mean()
    assert np.abs(inside[:, 0] - 0.95).max() < 0.03
    assert inside[:, 2].mean() < inside[:, 0].mean() - 0.02
    assert density[:, 0].mean() > density[:, 1].mean() > density[:, 2].mean()


def test_noise_that_does_not_vary_is_not_believed_to():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(300, 2))
    model = EHSoD(random_state=0).fit(X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=300))
    prediction = model.predict_dist(X)
    assert model.noise_strength_ <= 0.5
    assert prediction.noise_var.mean() == pytest.approx(0.09, rel=0.25)


def test_the_density_beats_that_of_constant_noise(fitted):
    X, y, _ = wave(600)
    Xs, ys, _ = wave(500, seed=2)
    constant = ExactGP(max_iter=50).fit(X, y)
    assert fitted.predict_dist(Xs).logpdf(ys).mean() > constant.predict_dist(Xs).logpdf(ys).mean() + 0.2


def test_the_subset_follows_the_seed_and_not_the_order_of_rows():
    X, y = draw(200)
    X = np.round(X, 1)  # repeated inputs with different targets
    y[5] = y[5] + 100.0
    order = np.random.default_rng(1).permutation(200)
    one, same, other = (
        EHSoD(40, max_iter=3, random_state=seed).fit(*rows)
        for rows, seed in [((X, y), 0), ((X[order], y[order]), 0), ((X, y), 1)]
    )
    assert_allclose(same.elbo_, one.elbo_, rtol=1e-12)
    assert_allclose(same.predict(X), one.predict(X), rtol=1e-9)
    assert not np.allclose(one.predict(X), other.predict(X))


def test_only_the_subset_is_used():
    X, y = draw(200)
    model = EHSoD(40, random_state=0).fit(X, y)
    assert model._f.X.shape == model._g.X.shape == (40, 2)
    assert len(np.unique(model._f.X, axis=0)) == 40


def test_a_constant_subset_says_what_to_do():
    X, y = np.arange(1000.0)[:, None], np.zeros(1000)
    y[17] = 1.0
    with pytest.raises(FitError, match=r"the 5 targets of the subset are all 0: take a larger subset_size"):
        EHSoD(5, random_state=0).fit(X, y)


def test_zero_residuals_have_a_floor():
    # Between two rows with the same input and opposite targets the mean is zero, and so is every residual
    # of the rows on it.
    X = np.repeat(np.arange(12.0), 3)[:, None]
    y = np.tile([1.0, 0.0, -1.0], 12)
    prediction = EHSoD(random_state=0).fit(X, y).predict_dist(X)
    assert np.isfinite(prediction.g_mean).all()
    assert np.all(prediction.noise_var > 0)


def test_conjugate_gradients_reach_the_same_evidence():
    X, y = draw(60)
    lbfgs, cg = (EHSoD(optimizer=o, random_state=0).fit(X, y) for o in ("lbfgs", "cg"))
    assert cg.elbo_ == pytest.approx(lbfgs.elbo_, abs=0.01)
    assert cg.n_evaluations_ > lbfgs.n_evaluations_
    with pytest.raises(ValueError, match="optimizer='newton'"):
        EHSoD(optimizer="newton").fit(X, y)


@pytest.mark.parametrize("bad", [1, 0, 2.5, None])
def test_a_subset_of_less_than_two_rows_is_refused(bad):
    with pytest.raises(ValueError, match="subset_size"):
        EHSoD(bad).fit(*draw(30))
