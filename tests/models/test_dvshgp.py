"""DVSHGP: what one expert predicts, its invariances, its optimisers, its linear mean."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.experts.expert import Expert
from hgpbench.experts.reach import Reach
from hgpbench.experts.voices import Voice
from hgpbench.fitting import checkpoint
from hgpbench.gp import vshgp
from hgpbench.la import JITTER
from hgpbench.models import DVSHGP, VSGP, Lbfgs, Paper, Passes
from hgpbench.models.dvshgp import WIDEST
from tests.models.zoo import draw

SMALL = {"n_experts": 4, "n_inducing_f": 12, "n_inducing_g": 8, "random_state": 0}


def test_one_expert_predicts_as_itself() -> None:
    X, y = draw(60)
    model = DVSHGP(
        **SMALL | {"n_experts": 1, "optimizer": "natural(n_passes=20)", "aggregation": "nearest"}
    ).fit(X, y)
    rows, experts = model._experts.rows, model._experts
    values = experts.shared | Expert.restore(rows.X, rows.y, experts.states[0]).values
    memory = vshgp.Workspace(60, 12, 8)
    total = vshgp.bound(values, rows.X, rows.y, memory).value - 60 * np.log(y.std())
    assert model.elbo_ == pytest.approx(total, rel=1e-10)
    Xs, _ = draw(20, seed=5)
    f, g = vshgp.posteriors(values, rows.X, rows.y, memory)
    found = model.predict_dist(Xs)
    scaled = (Xs - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(found.mean, y.mean() + y.std() * f.moments(scaled)[0], rtol=1e-8)
    assert_allclose(found.g_var, g.moments(scaled)[1], rtol=1e-6)


def test_what_belongs_to_experts_is_told_in_the_order_of_the_rows() -> None:
    X, y = draw(120)
    model = DVSHGP(**SMALL, optimizer="natural(n_passes=4)").fit(X, y)
    experts = model._experts
    inducing = {"Xm": [], "Xu": []}
    for number, state in enumerate(experts.states):
        own = Expert.restore(*experts.rows.of(number), state)
        mine = np.flatnonzero(model.labels_ == number)
        scaled = (X[mine] - X.mean(axis=0)) / X.std(axis=0)
        nearest = np.argmin(np.abs(own.X[:, None] - scaled).sum(axis=2), axis=0)
        assert_allclose(own.X[nearest], scaled, atol=1e-12)
        assert_array_equal(model.lam_[mine], own.values["lam"][nearest])
        for name, points in inducing.items():
            points.append(own.values[name] * X.std(axis=0) + X.mean(axis=0))
    assert np.ptp(model.lam_) > 0.1
    assert_allclose(model.inducing_f_, np.concatenate(inducing["Xm"]), atol=1e-12)
    assert_allclose(model.inducing_g_, np.concatenate(inducing["Xu"]), atol=1e-12)


@pytest.mark.parametrize("aggregation", ["rbcm", "gpoe", "nearest"])
def test_far_from_the_data_it_predicts_the_prior(aggregation: str) -> None:
    X, y = draw(120)
    model = DVSHGP(**SMALL, optimizer="natural(n_passes=4)", aggregation=aggregation).fit(X, y)
    far = model.predict_dist(np.full((1, 2), 1e3))
    assert far.f_mean[0] == pytest.approx(y.mean(), rel=1e-9)
    assert far.f_var[0] == pytest.approx(model.signal_var_f_, rel=1e-5)
    assert far.g_mean[0] == pytest.approx(model.noise_mean_, rel=1e-9)
    assert far.g_var[0] == pytest.approx(model.signal_var_g_, rel=1e-5)


@pytest.mark.parametrize("aggregation", ["rbcm", "gpoe", "nearest"])
def test_skipping_experts_stays_within_its_tolerance(aggregation: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-40, 40, size=(500, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=500)
    model = DVSHGP(
        n_experts=12,
        optimizer="natural(n_passes=2)",
        aggregation=aggregation,
        skip_tol=0.0,
        random_state=0,
    )
    model.fit(X, y)
    Xs = np.linspace(-45, 45, 400)[:, None]
    exact = model.predict_dist(Xs)
    for tolerance in (1e-3, 1e-6):
        found = model.set_params(skip_tol=tolerance).predict_dist(Xs)
        for name, prior in (("f", model.signal_var_f_), ("g", model.signal_var_g_)):
            means = getattr(found, f"{name}_mean") - getattr(exact, f"{name}_mean")
            assert np.abs(means).max() <= tolerance * np.sqrt(prior)
            assert_allclose(getattr(found, f"{name}_var"), getattr(exact, f"{name}_var"), rtol=tolerance)
    experts = model._experts
    first = Expert.restore(*experts.rows.of(0), experts.states[0])
    memory = vshgp.Workspace(*first.sizes)
    posterior = first.posteriors(experts.shared, memory)["f"]
    reach = Reach(aggregation, (Xs - X.mean()) / X.std(), 1e-3, 1e3, 12)
    assert 0 < len(reach.near(posterior.Z, posterior.kernel, Voice.of(posterior).silence(reach))) < 300


def test_every_recipe_climbs_and_ours_is_not_the_worst() -> None:
    X, y = draw(240)
    fits = {
        "natural": DVSHGP(**SMALL, optimizer=Passes(n_passes=40, guard=False)).fit(X, y),
        "lbfgs": DVSHGP(**SMALL, optimizer=Lbfgs(max_iter=15)).fit(X, y),
        "paper": DVSHGP(**SMALL, optimizer=Paper(max_iter=15)).fit(X, y),
    }
    for name in ("lbfgs", "paper"):
        assert np.all(np.diff(fits[name].trace_[:, 2]) >= 0)
        assert fits[name].trace_[-1, 2] == pytest.approx(fits[name].elbo_)
    assert fits["natural"].elbo_ > fits["paper"].elbo_
    Xs, ys = draw(300, seed=9)
    for model in fits.values():
        assert np.mean((model.predict(Xs) - ys) ** 2) / np.var(ys) < 0.3


def test_with_a_linear_mean_a_slope_of_the_target_changes_nothing_else() -> None:
    X, y = draw(200)
    Xs, _ = draw(40, seed=3)
    slope = np.array([30.0, -20.0])
    plain = DVSHGP(**SMALL, optimizer="natural(n_passes=4)", mean="linear").fit(X, y).predict_dist(Xs)
    tilted = (
        DVSHGP(**SMALL, optimizer="natural(n_passes=4)", mean="linear").fit(X, y + X @ slope).predict_dist(Xs)
    )
    assert_allclose(tilted.mean - Xs @ slope, plain.mean, atol=0.02)
    assert_allclose(tilted.var, plain.var, rtol=0.02)
    point = np.full((1, 2), 100.0)
    far = {
        kind: DVSHGP(**SMALL, optimizer="natural(n_passes=2)", mean=kind)
        .fit(X, y + X @ slope)
        .predict(point)[0]
        for kind in ("zero", "linear")
    }
    assert far["linear"] == pytest.approx(100 * slope.sum(), rel=0.2)
    assert far["zero"] == pytest.approx(np.mean(y + X @ slope), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_random_experts_fail_to_see_the_noise_of_toy(seed: int) -> None:
    """As in the paper's figure: five experts of neighbouring rows find the noise, five random ones do not."""
    fold = open_source("toy").fold(Split(500, 500), seed)
    alike, density = {}, {}
    for kind in ("kmeans", "random"):
        model = DVSHGP(5, n_inducing_f=10, n_inducing_g=10, partition=kind, random_state=seed)
        prediction = model.fit(fold.X_train, fold.y_train).predict_dist(fold.X_test)
        noises = np.log([prediction.noise_var, fold.truth_noise_var])
        alike[kind], density[kind] = np.corrcoef(noises)[0, 1], prediction.logpdf(fold.y_test).mean()
    assert alike["kmeans"] > 0.9
    assert alike["random"] < 0.6
    assert density["random"] < density["kmeans"] - 0.2


def test_text_and_object_are_the_same_optimizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y = draw(80)
    text = DVSHGP(**SMALL, optimizer="natural(guard=False, n_passes=2)")
    made = DVSHGP(**SMALL, optimizer=Passes(n_passes=2, guard=False))
    path = tmp_path / "checkpoint.h5"
    assert text.fit(X, y, checkpoint=path).elbo_ == made.fit(X, y).elbo_
    assert made.fit(X, y, checkpoint=path).resumed_seconds_ > 0.0


def test_an_optimizer_is_cloned_set_and_shown_like_any_parameter() -> None:
    model = DVSHGP(optimizer=Passes(n_passes=2))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(optimizer=Paper(max_iter=3)).get_params()["optimizer"] == Paper(3)
    assert "Paper(max_iter=3, " in repr(copy)
    assert "n_passes" not in inspect.signature(DVSHGP).parameters
    assert list(inspect.signature(DVSHGP).parameters)[:2] == ["n_experts", "expert_size"]


@pytest.mark.parametrize("name", ["n_passes", "guard", "max_iter"])
def test_a_former_parameter_is_told_what_it_became(name: str) -> None:
    with pytest.raises(TypeError, match=rf"no parameter {name} any more: .* optimizer, as in '\w+\({name}="):
        DVSHGP(**{name: 1})
    with pytest.raises(TypeError, match=f"no parameter {name} any more"):
        DVSHGP().set_params(**{name: 1})


@pytest.mark.parametrize("bad", ["adam", "natural(max_iter=3)", "paper(max_iter=0)", 3, None])
def test_an_optimizer_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        DVSHGP(optimizer=bad).fit(*draw(20))


def test_a_committee_about_y_follows_from_the_experts_own_predictions() -> None:
    X, y = draw(150)
    model = DVSHGP(**SMALL, optimizer="natural(n_passes=3)", aggregate="y").fit(X, y)
    Xs = draw(30, seed=1)[0]
    scaled = (Xs - X.mean(axis=0)) / X.std(axis=0)
    experts, shared = model._experts, model._experts.shared
    prior = float(shared["s2_kf"]) * (1 + JITTER)
    prior += np.exp(float(shared["mu0"]) + 0.5 * float(shared["s2_kg"]) * (1 + JITTER))
    precision, pull = np.full(30, 1.0 / prior), np.zeros(30)
    for number, state in enumerate(experts.states):
        expert = Expert.restore(*experts.rows.of(number), state)
        posteriors = expert.posteriors(shared, vshgp.Workspace(*expert.sizes))
        f, f_var = posteriors["f"].moments(scaled)
        g, g_var = posteriors["g"].moments(scaled)
        var = f_var + np.exp(g + 0.5 * g_var)
        weight = 0.5 * np.log(prior / np.minimum(var, prior))
        precision += weight * (1.0 / np.minimum(var, prior) - 1.0 / prior)
        pull += weight * f / np.minimum(var, prior)
    found = model.predict_dist(Xs)
    assert_allclose(found.mean, y.mean() + y.std() * pull / precision, rtol=1e-8)
    assert_allclose(found.var, y.var() / precision, rtol=1e-8)
    assert found.g_mean is None


def test_neighbours_are_no_part_of_it() -> None:
    with pytest.raises(TypeError, match="whose committee predicts f"):
        DVSHGP(n_neighbors=0)


def test_a_noise_that_varies_quickly_is_learned_from_the_defaults() -> None:
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(0, 10, 600))[:, None]
    noise = np.where(np.sin(3.0 * X[:, 0]) > 0, 0.5, 0.05)
    model = DVSHGP(random_state=0, n_jobs=1).fit(X, np.sin(X[:, 0]) + noise * rng.normal(size=600))
    log_noise = model.predict_dist(X).g_mean
    assert np.corrcoef(log_noise, np.log(noise**2))[0, 1] > 0.85


@pytest.mark.parametrize("seed", [20, 21])
def test_f_with_few_points_is_learned_before_the_noise(seed: int) -> None:
    """Else what it does not explain yet is taken for noise, of which there is none here."""
    X, y = make_friedman1(700, noise=0.0, random_state=seed)
    data, Xs, ys = (X[:400], y[:400]), X[400:], y[400:]
    models = VSGP(30, random_state=0), DVSHGP(n_inducing_f=30, n_inducing_g=20, random_state=0)
    errors = [float(np.mean((model.fit(*data).predict(Xs) - ys) ** 2)) for model in models]
    assert errors[1] < 1.5 * errors[0]  # with both learned at once 80 and 1,100 times as much


def test_a_floor_of_noise_leaves_the_median_where_it_is() -> None:
    """What was learned may be right: the density at the mean hardly falls, the tails alone grow."""
    model = DVSHGP(n_experts=2, random_state=0).fit(*draw(60))
    model._least_g = 0.0
    lowest = -0.5 * WIDEST
    mean, var = model._floored(
        np.array([1.0, -2.0, -1.0, lowest, -40.0]), np.array([0.1, 0.1, 3.0, 0.1, 0.1])
    )
    assert_allclose(mean, [1.0, -2.0, -1.0, lowest, lowest])
    assert_allclose(var, [0.1, 4.0, 3.0, WIDEST, WIDEST])
    model._least_g = -np.inf
    assert_allclose(model._floored(np.array([-40.0]), np.array([0.1])), [[-40.0], [0.1]])


def test_no_row_is_called_almost_free_of_noise() -> None:
    """Rows that lie on a line by chance, say copies of each other, do not have others believed to."""
    X, y = draw(300)
    rows = np.r_[np.arange(300), np.repeat(np.arange(40), 5)]  # forty of them six times
    copied = {"n_experts": 2, "n_inducing_f": 120, "n_inducing_g": 60, "copies": "each", "random_state": 0}
    without = DVSHGP(**copied, noise_floor=0.0).fit(X[rows], y[rows])
    model = DVSHGP(**copied).fit(X[rows], y[rows])
    assert without.noise_floor_ == 0.0
    plain, found = without.predict_dist(X), model.predict_dist(X)
    assert plain.noise_var.min() < 0.5 * model.noise_floor_
    assert_allclose(found.noise_var, np.maximum(plain.noise_var, model.noise_floor_), rtol=1e-10)
    assert_allclose(found.var, found.f_var + found.noise_var, rtol=1e-12)
    assert 0.03 * np.median(plain.noise_var) < model.noise_floor_ < 0.3 * np.median(plain.noise_var)
    with pytest.raises(ValueError, match=r"noise_floor=-0\.1 is not allowed"):
        DVSHGP(noise_floor=-0.1).fit(X, y)
