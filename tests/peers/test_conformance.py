"""What every peer must do; those whose library is absent are left out, but for saying so."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from hgpbench.bench import code, estimators
from hgpbench.errors import Refusal
from hgpbench.peers import PEERS, Peer, base, install, missing
from tests.models.zoo import draw

SMALL = {"n_estimators": 60, "learning_rate": 0.1, "n_inducing": 20, "max_iter": 250}
QUICK = {"gpytorch": {"learning_rate": 0.05}, "gpytorch-het": {"learning_rate": 0.05}}
THERE = [
    pytest.param(name, marks=pytest.mark.skipif(bool(missing(kind)), reason=f"needs {kind.needs}"))
    for name, kind in PEERS.items()
]
ROWS = 150
pytestmark = [
    # Of the libraries themselves, on import or inside a fit.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def make(name: str) -> Peer:
    model = PEERS[name]()
    wanted = {"random_state": 3, **SMALL, **QUICK.get(name, {})}
    return model.set_params(**{key: value for key, value in wanted.items() if key in model.get_params()})


@pytest.fixture(scope="module", params=THERE)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def fitted(name: str) -> Peer:
    return make(name).fit(*draw(ROWS))


@pytest.mark.parametrize("name", PEERS)
def test_it_says_what_it_is(name: str) -> None:
    kind = PEERS[name]
    first_line = inspect.getdoc(kind).splitlines()[0]
    assert first_line.endswith(".")
    assert "(" in kind.reference
    for parameter, given in inspect.signature(kind).parameters.items():
        assert f"\n{parameter} : " in inspect.getdoc(kind), f"{parameter} is not documented"
        assert parameter != "n_jobs" or given.default == 1
    assert bool(kind.needs) == bool(kind.extra)


def test_predictions_are_distributions(fitted: Peer) -> None:
    X, _ = draw(33, seed=1)
    prediction = fitted.predict_dist(X)
    for values in prediction.arrays().values():
        assert values.shape == (33,)
        assert np.isfinite(values).all()
    assert np.all(prediction.noise_var > 0)
    assert np.all(prediction.var >= prediction.noise_var)
    assert np.all(prediction.f_var >= 0)
    assert_allclose(prediction.cdf(prediction.quantile(0.9)), 0.9, rtol=1e-9)


def test_it_learns_the_mean_and_the_level_of_the_noise(fitted: Peer) -> None:
    X, y = draw(400, seed=4)
    found = fitted.predict_dist(X)
    assert np.mean((found.mean - y) ** 2) / np.var(y) < 0.4
    assert 0.4 < np.mean((y - found.mean) ** 2 / found.var) < 2.5


def test_one_seed_repeats(name: str, fitted: Peer) -> None:
    X, _ = draw(20, seed=5)
    again = make(name).fit(*draw(ROWS))
    assert_array_equal(again.predict_dist(X).logpdf(0.3), fitted.predict_dist(X).logpdf(0.3))


def test_pickle_and_clone(fitted: Peer) -> None:
    X, _ = draw(20, seed=6)
    restored = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(restored.predict_dist(X).var, fitted.predict_dist(X).var)
    assert clone(fitted).get_params() == fitted.get_params()


def test_units_do_not_matter(name: str, fitted: Peer) -> None:
    X, y = draw(ROWS)
    Xs, _ = draw(20, seed=7)
    moved = make(name).fit(X, 1024.0 * y).predict_dist(Xs)  # a power of two: no digit changes
    assert_allclose(moved.mean / 1024.0, fitted.predict_dist(Xs).mean, rtol=1e-6, atol=1e-6)
    assert_allclose(moved.var / 1024.0**2, fitted.predict_dist(Xs).var, rtol=1e-6)


def test_too_few_rows_are_refused(name: str) -> None:
    with pytest.raises(Refusal, match="at least 10 training rows, not 9"):
        make(name).fit(*draw(9))


@pytest.mark.parametrize("rows", [10, 11, 25])
def test_a_few_rows_are_enough(name: str, rows: int) -> None:
    X, y = draw(rows)
    found = make(name).fit(X, y).predict_dist(X)
    assert np.isfinite(found.mean).all()
    assert np.all(found.var > 0)


@pytest.mark.parametrize("name", [name for name, kind in PEERS.items() if kind.needs])
def test_what_is_absent_is_said_with_the_command_that_brings_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = PEERS[name]
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(Refusal, match=r"not installed here: pip install 'hgpbench\[\w+\]'") as told:
        kind().fit(*draw(20))
    assert all(needed in str(told.value) for needed in kind.needs)
    assert install(kind) in str(told.value)


def test_a_run_without_the_library_is_one_of_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    module = PEERS["lightgbm"].__module__
    found = []
    for version in ("absent", "4.0.0"):
        monkeypatch.setattr(code, "_version", lambda name, version=version: version)
        code.of_shipped.cache_clear()
        found.append(code.of_shipped(module, ("lightgbm",)).digest)
    code.of_shipped.cache_clear()
    assert found[0] != found[1]


def test_peers_have_names_of_their_own() -> None:
    assert len(estimators.SHIPPED) == len(estimators.MODELS) + len(PEERS)
