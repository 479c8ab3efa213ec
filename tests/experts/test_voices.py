"""Whom a committee asks, and that what it keeps changes no bit."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.experts import memory
from hgpbench.experts.expert import Expert, shared_layout
from hgpbench.experts.owner import Owner
from hgpbench.experts.reach import Reach
from hgpbench.experts.rows import Rows
from hgpbench.experts.voices import Outline, Voice
from hgpbench.gp import vshgp
from hgpbench.models import DVSHGP, RBCM
from hgpbench.models.base import Estimator
from tests.experts.test_expert import shared_values
from tests.models.zoo import draw

SPARSE = {"n_experts": 9, "n_inducing_f": 12, "n_inducing_g": 9, "optimizer": "natural(n_passes=2)"}


def models() -> list[Estimator]:
    common = {"random_state": 0, "n_jobs": 1}
    return [
        DVSHGP(**SPARSE, **common),
        DVSHGP(**SPARSE, **common, kernel="matern32", noise_kernel="matern12"),
        RBCM(n_experts=9, max_iter=5, **common),
    ]


def bits(model: Estimator, Xs: np.ndarray) -> list[bytes]:
    return [values.tobytes() for values in model.predict_dist(Xs).arrays().values()]


@pytest.mark.parametrize("model", models(), ids=["neighbours", "committee", "rbcm"])
def test_what_is_kept_changes_no_bit(model: Estimator, monkeypatch) -> None:
    model.fit(*draw(400))
    Xs = draw(40, seed=1)[0]
    new = pickle.dumps(model)
    first = bits(model, Xs)
    assert bits(model, Xs) == first
    for row in (Xs[:1], Xs[7:9]):
        alone = bits(pickle.loads(new), row)
        assert bits(model, row) == alone
    assert len(pickle.dumps(model)) == pytest.approx(len(new), abs=2_000)
    assert bits(pickle.loads(new).set_params(n_jobs=2), Xs) == first
    monkeypatch.setattr(memory, "KEPT", 0)
    assert bits(model, Xs) == first
    # Another fit forgets the first one.
    X, y = draw(400, seed=3)
    assert bits(model.fit(X, y), Xs) == bits(type(model)(**model.get_params()).fit(X, y), Xs)


@pytest.mark.parametrize("model", models(), ids=["neighbours", "committee", "rbcm"])
def test_threads_may_predict_at_once(model: Estimator) -> None:
    model.fit(*draw(400))
    Xs = draw(40, seed=1)[0]
    new = pickle.dumps(model)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda row: bits(model, row[None]), Xs))
    again = pickle.loads(new)
    assert together == [bits(again, row[None]) for row in Xs]


def test_a_second_prediction_builds_no_posterior(monkeypatch) -> None:
    model = DVSHGP(**SPARSE, random_state=0, n_jobs=1).fit(*draw(400))
    Xs = draw(40, seed=1)[0]
    model.predict(Xs)
    monkeypatch.setattr(Expert, "posteriors", None)
    model.predict(Xs)
    model.set_params(max_memory=1)
    with pytest.raises(TypeError):
        model.predict(Xs)


def test_experts_beyond_reach_are_not_built(monkeypatch) -> None:
    built = []
    posteriors = Expert.posteriors
    monkeypatch.setattr(Expert, "posteriors", lambda *asked: built.append(asked[0]) or posteriors(*asked))
    X, y = draw(90)
    X[:, 0] += np.repeat([0.0, 100.0, 200.0], 30)
    shared = shared_values()
    owner = Owner(Rows(X, y, np.array([0, 30, 60, 90])))
    owner.place(range(3), 10, 6, 0, False)
    reach = Reach("rbcm", np.array([[99.0, 0.0], [101.0, 1.0]]), 1e-4, 100.0, 3)
    sums = owner.confer([0], 1, shared_layout(2).pack(shared), reach, "fg")[0]
    assert [len(expert.y) for expert in built] == [30]
    assert built[0].X[0, 0] > 50.0
    assert (sums["f"][0] > 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_first_bounds_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = draw(60, seed=seed)
    expert = Expert.place(X, y, 20, 12, rng)
    expert.values["w"] = 3.0 * rng.normal(size=12)
    expert.values["lam"] = rng.uniform(0.01, 5.0, size=60)
    shared = shared_values()
    workspace = vshgp.Workspace(*expert.sizes)
    noise = expert.noise(shared, workspace)
    reach = Reach("rbcm", X, 1e-4, float((y**2 / noise).sum()), 1)
    for letter, posterior in expert.posteriors(shared, workspace).items():
        outline, voice = Outline.of(letter, posterior.kernel, {0: expert}, 2), Voice.of(posterior)
        assert voice.stiffness <= outline.stiffness[0]
        assert voice.pull <= max(outline.pull[0], reach.energy * outline.stiffness[0])
        assert_array_equal(outline.within(reach), [True, False])
        outline.learn(0, voice)
        assert_array_equal([outline.stiffness[0], outline.pull[0]], voice[1:])
