"""DVSHGP: its experts against VSHGP, its invariances, its recipes, its guard, its checkpoints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.gp import vshgp
from hgpbench.gp.kernels import SEARD
from hgpbench.models import DVSHGP
from hgpbench.models.experts import SHARED, Expert, Step, shared_layout
from hgpbench.models.passes import Course, Plan, ascend
from hgpbench.models.question import Question
from hgpbench.models.shard import Rows
from hgpbench.models.workers import Serial
from tests.models.zoo import draw

SMALL = {"n_experts": 4, "n_inducing_f": 12, "n_inducing_g": 8, "random_state": 0}


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
    found, local = expert.trial(shared, layout, names, expert.part(names), memory)
    assert found.value == expected.value
    assert_array_equal(found.grad, layout.pack_grad(shared, expected.grads))
    assert local.size == 12 * 2 + 8 * 2 + 60 + 8
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
    assert expert.visit(hopeless, shared_layout(2), Step(0.01, 0.7), vshgp.Workspace(60, 12, 8)) is None
    assert_array_equal(expert.state(whole=True), before)


def test_memory_that_served_another_expert_gives_the_same_bits(expert: Expert) -> None:
    shared, layout, names = shared_values(), shared_layout(2), ("Xm", "Xu", "lam", "w")
    expected = expert.trial(shared, layout, names, expert.part(names), vshgp.Workspace(60, 12, 8))
    used = vshgp.Workspace(90, 12, 8)
    X, y = draw(90, seed=7)
    Expert.place(X, y, 12, 8, np.random.default_rng(2)).visit(shared, layout, Step(0.01, 0.7), used)
    used.resize(60)
    found = expert.trial(shared, layout, names, expert.part(names), used)
    for part, other in zip((*expected[0], expected[1]), (*found[0], found[1]), strict=True):
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


def test_one_expert_predicts_as_itself() -> None:
    X, y = draw(60)
    model = DVSHGP(**SMALL | {"n_experts": 1, "n_passes": 20, "aggregation": "nearest"}).fit(X, y)
    rows, experts = model._experts.rows, model._experts
    values = experts.shared | Expert.restore(rows.X, rows.y, 12, 8, experts.states[0]).values
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
    model = DVSHGP(**SMALL, n_passes=4).fit(X, y)
    experts = model._experts
    inducing = {"Xm": [], "Xu": []}
    for number, (counts, state) in enumerate(zip(experts.inducing, experts.states, strict=True)):
        own = Expert.restore(*experts.rows.of(number), *counts.astype(int), state)
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


def test_the_order_of_experts_does_not_matter() -> None:
    X, y = draw(90)
    shared, flat = shared_values(), shared_layout(2).pack(shared_values())
    order = np.concatenate([np.arange(30) + 30 * i for i in (2, 0, 1)])
    sums = []
    for rows in (np.arange(90), order):
        workers = Serial(Rows(X[rows], y[rows], np.array([0, 30, 60, 90])))
        states = {}
        workers.ask("place", range(3), 10, 6, 0)
        for number in range(3):
            # The same inducing points for the same rows, whatever the expert's number.
            mine = slice(30 * number, 30 * number + 30)
            states[number] = Expert.place(
                X[rows][mine], y[rows][mine], 10, 6, np.random.default_rng(0)
            ).state(True)
        workers.ask("restore", range(3), np.array([[10, 6]] * 3), own=list(states.values()))
        sums.append(np.sum(workers.ask("visit", range(3), flat, Step(0.01, 0.7)), axis=0))
    assert_allclose(sums[0], sums[1], rtol=1e-10)
    assert set(SHARED) == set(shared)


@pytest.mark.parametrize("aggregation", ["rbcm", "gpoe", "nearest"])
@pytest.mark.parametrize("n_neighbors", [0, 20])
def test_far_from_the_data_it_predicts_the_prior(aggregation: str, n_neighbors: int) -> None:
    X, y = draw(120)
    model = DVSHGP(**SMALL, n_passes=4, aggregation=aggregation, n_neighbors=n_neighbors).fit(X, y)
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
        n_experts=12, n_passes=2, n_neighbors=0, aggregation=aggregation, skip_tol=0.0, random_state=0
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
    first = Expert.restore(*experts.rows.of(0), *experts.inducing[0].astype(int), experts.states[0])
    memory = vshgp.Workspace(*first.sizes)
    posterior = first.posteriors(experts.shared, memory)["f"]
    question = Question("f", aggregation, (Xs - X.mean()) / X.std(), 1e-3, 1e3, 12)
    assert 0 < len(question.near(posterior, question.silent(posterior))) < 300


def test_a_pass_visits_every_expert_once_and_a_batch_every_lane() -> None:
    plan = Plan(np.full(23, 10), lanes=4, passes=3, seed=5)
    for number in range(3):
        batches = [plan.batch(6 * number + step) for step in range(6)]
        assert sorted(expert for batch in batches for expert in batch) == list(range(23))
        assert all([expert % 4 for expert in batch] == list(range(len(batch))) for batch in batches)
    assert plan.batch(0) != plan.batch(6)
    assert plan.steps == 18
    heats = [plan.heat(step) for step in range(18)]
    assert heats[0] == 1.0
    assert np.all(np.diff(heats) < 0)


def test_every_recipe_climbs_and_ours_is_not_the_worst() -> None:
    X, y = draw(240)
    fits = {
        name: DVSHGP(**SMALL, optimizer=name, max_iter=15, guard=False, n_passes=40).fit(X, y)
        for name in ("natural", "lbfgs", "paper")
    }
    for name in ("lbfgs", "paper"):
        assert np.all(np.diff(fits[name].trace_[:, 2]) >= 0)
        assert fits[name].trace_[-1, 2] == pytest.approx(fits[name].elbo_)
    assert fits["natural"].elbo_ > fits["paper"].elbo_
    Xs, ys = draw(300, seed=9)
    for model in fits.values():
        assert np.mean((model.predict(Xs) - ys) ** 2) / np.var(ys) < 0.3


def test_the_bound_of_a_line_search_is_that_of_the_experts_it_leaves() -> None:
    X, y = draw(120)
    model = DVSHGP(**SMALL, optimizer="paper", max_iter=4).fit(X, y)
    experts = model._experts
    workers = Serial(experts.rows)
    workers.ask("restore", range(4), experts.inducing, own=experts.states)
    total = sum(row[0] for row in workers.ask("bound", range(4), experts.flat))
    assert model.elbo_ == pytest.approx(total - 120 * np.log(y.std()), rel=1e-10)


class Scripted:
    """Workers whose experts answer as told: a bound of -1, no slope, and the leave-one-out error of the step."""

    def __init__(self, errors: list[float]) -> None:
        self.errors = errors
        self.asked = 0

    def ask(self, question: str, numbers: list[int], flat: np.ndarray, step: Step) -> list[np.ndarray]:
        error = self.errors[self.asked]
        self.asked += 1
        return [np.concatenate([[-1.0, 1e-6, error], np.zeros(flat.size)]) for _ in numbers]


@pytest.mark.parametrize(
    ("guard", "steps", "outcome"), [(True, 30, "converged"), (False, 50, "limit reached")]
)
def test_the_guard_ends_the_passes_when_leave_one_out_errors_grow(
    guard: bool, steps: int, outcome: str
) -> None:
    errors = [1.0] * 10 + [0.8] * 10 + [0.82] * 10 + [0.5] * 20
    plan = Plan(np.full(40, 10), lanes=4, passes=5, seed=0, guard=guard)
    course = Course(np.zeros(5), np.zeros(5), np.full(40, np.nan))
    assert ascend(course, plan, Scripted(errors), lambda course: None) == outcome
    assert course.step == steps
    assert course.bound(plan.sizes) == -40.0


def test_small_growth_of_leave_one_out_errors_is_no_reason_to_stop() -> None:
    plan = Plan(np.full(40, 10), lanes=4, passes=3, seed=0)
    course = Course(np.zeros(5), np.zeros(5), np.full(40, np.nan))
    errors = [0.8] * 10 + [0.803] * 10 + [0.806] * 10
    assert ascend(course, plan, Scripted(errors), lambda course: None) == "limit reached"


def test_experts_without_an_answer_shorten_the_steps_and_end_a_hopeless_fit() -> None:
    plan = Plan(np.full(4, 10), lanes=1, passes=3, seed=0)
    course = Course(np.zeros(5), np.zeros(5), np.full(4, np.nan))
    assert ascend(course, plan, Scripted([np.nan] * 100), lambda course: None) == "failed"
    course = Course(np.zeros(5), np.zeros(5), np.full(4, np.nan))
    assert ascend(course, plan, Scripted([1.0] * 5 + [np.nan] * 100), lambda course: None) == "diverged"
    assert course.step == 5


def test_with_a_linear_mean_a_slope_of_the_target_changes_nothing_else() -> None:
    X, y = draw(200)
    Xs, _ = draw(40, seed=3)
    slope = np.array([30.0, -20.0])
    plain = DVSHGP(**SMALL, n_passes=4, mean="linear").fit(X, y).predict_dist(Xs)
    tilted = DVSHGP(**SMALL, n_passes=4, mean="linear").fit(X, y + X @ slope).predict_dist(Xs)
    assert_allclose(tilted.mean - Xs @ slope, plain.mean, atol=0.02)
    assert_allclose(tilted.var, plain.var, rtol=0.02)
    point = np.full((1, 2), 100.0)
    far = {
        kind: DVSHGP(**SMALL, n_passes=2, mean=kind).fit(X, y + X @ slope).predict(point)[0]
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
        model = DVSHGP(5, n_inducing_f=10, n_inducing_g=10, partition=kind, n_neighbors=0, random_state=seed)
        prediction = model.fit(fold.X_train, fold.y_train).predict_dist(fold.X_test)
        noises = np.log([prediction.noise_var, fold.truth_noise_var])
        alike[kind], density[kind] = np.corrcoef(noises)[0, 1], prediction.logpdf(fold.y_test).mean()
    assert alike["kmeans"] > 0.9
    assert alike["random"] < 0.6
    assert density["random"] < density["kmeans"] - 0.2
