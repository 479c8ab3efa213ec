"""NNGP and NNHGP: their limits, what they learn, and what changes no bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.gp.kernels import KERNELS
from hgpbench.models import NNGP, NNHGP
from tests.models.zoo import draw


def nnhgp(**changes) -> NNHGP:
    return NNHGP(**{"n_neighbors": 20, "n_noise_neighbors": 30, "random_state": 0, **changes})


@pytest.mark.parametrize("kernel", KERNELS)
def test_with_all_rows_as_neighbours_it_is_the_exact_gp(kernel) -> None:
    X, y = draw(70)
    model = NNGP(n_neighbors=70, kernel=kernel, standardize=False, random_state=0).fit(X, y)
    s2_k, (Xs, _) = model.signal_var_f_, draw(20, seed=5)
    k = KERNELS[kernel](s2_k, model.lengthscales_f_)
    A, Ksn = k.cross(X, X) + (model.noise_var_ + 1e-6 * s2_k) * np.eye(70), k.cross(Xs, X)
    found = model.predict_dist(Xs)
    assert_allclose(found.f_mean, Ksn @ np.linalg.solve(A, y), rtol=1e-7, atol=1e-9)
    explained = np.sum(Ksn * np.linalg.solve(A, Ksn.T).T, axis=1)
    assert_allclose(found.f_var, s2_k * (1 + 1e-6) - explained, rtol=1e-5, atol=1e-9)


def test_constant_noise_makes_nnhgp_nngp() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (1500, 2))
    y, (Xs, _) = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=1500), draw(400, seed=4)
    varying = nnhgp(kernel="se", noise_kernel="se").fit(X, y).predict_dist(Xs)
    constant = NNGP(n_neighbors=20, kernel="se", random_state=0).fit(X, y).predict_dist(Xs)
    assert_allclose(np.sqrt(varying.var / constant.var), 1.0, atol=0.15)
    assert np.mean((varying.mean - constant.mean) ** 2) < 0.003


def test_it_learns_how_noise_varies() -> None:
    X, y = draw(1500)
    Xs, _ = draw(300, seed=2)
    found = nnhgp(kernel="se", noise_kernel="se").fit(X, y).predict_dist(Xs)
    truth = np.exp(2 * (-2 + 0.7 * Xs[:, 0]))
    assert np.corrcoef(np.log(found.noise_var), np.log(truth))[0, 1] > 0.93
    assert_allclose(np.mean(np.log(found.var / truth)), 0.0, atol=0.35)


def test_weights_are_as_asked() -> None:
    X, y = draw(400)
    for power in (0.0, 1.0):
        assert nnhgp(kernel="se", noise_kernel="se", weights=power, max_iter=5).fit(X, y).weights_ == power


def test_threads_change_no_bit() -> None:
    X, y = draw(600)
    Xs, _ = draw(100, seed=9)
    for kind in (NNGP, NNHGP):
        one, two = (
            kind(n_neighbors=10, max_iter=4, kernel="matern32", random_state=1, n_jobs=jobs).fit(X, y)
            for jobs in (1, 3)
        )
        assert one.elbo_ == two.elbo_
        assert_array_equal(one.predict_dist(Xs).logpdf(0.1), two.predict_dist(Xs).logpdf(0.1))


def test_kernels_are_chosen_by_left_out_rows() -> None:
    rng = np.random.default_rng(8)
    X = np.sort(rng.uniform(0, 60, 500))[:, None]
    rough = np.cumsum(rng.normal(size=500) * np.sqrt(np.diff(X[:, 0], prepend=0.0)))
    smooth = np.sin(X[:, 0]) + 0.05 * rng.normal(size=500)
    assert NNGP(n_neighbors=10, random_state=0).fit(X, rough).kernel_ == "matern12"
    model = NNGP(n_neighbors=10, random_state=0).fit(X, smooth)
    assert model.kernel_ in ("se", "matern52")
    assert set(model.kernel_densities_["kernel"]) == set(KERNELS)


def test_a_linear_mean_carries_beyond_the_rows() -> None:
    X, y = draw(300)
    far = np.array([[0.0, 50.0]])
    assert NNGP(n_neighbors=20, kernel="se", mean="linear", random_state=0).fit(X, y).predict(far) > 30


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        (NNGP, {"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        (NNHGP, {"weights": -1.0}, "weights=-1.0 is not allowed"),
        (NNHGP, {"noise_rows": 1}, "noise_rows=1 is not allowed"),
        (NNHGP, {"kernel": "cubic"}, "kernel='cubic' is not allowed"),
    ],
)
def test_parameters_out_of_range(kind, parameters, words) -> None:
    with pytest.raises(ValueError, match=words):
        kind(**parameters).fit(*draw(20))
