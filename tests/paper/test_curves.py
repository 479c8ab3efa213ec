"""Claims that need the arrays of single runs: variational parameters, and traces too short to tell."""

import numpy as np
import pytest

from hgpbench.bench import record
from hgpbench.paper import verdicts
from hgpbench.paper.criteria import near
from hgpbench.paper.curves import sooner
from hgpbench.paper.evidence import Evidence
from hgpbench.report.collect import collect

ROWS = 300


def store(results, fake, label: str, seed: int, values, expert=None, rows=None) -> None:
    """A run of the toy example with variational parameters."""
    results.finish(fake(label), seed)
    folder = results.folder(label, seed)
    kept, arrays = record.read(folder), record.read_arrays(folder)
    arrays.extras.clear()
    arrays.extras["X_train"] = np.arange(float(ROWS))[:, None] if rows is None else rows
    if values is not None:
        arrays.extras["variational"] = values
    if expert is not None:
        arrays.extras["expert"] = expert
    record.write(folder, kept, arrays)


@pytest.fixture
def judged(results_at, fake, tmp_path):
    """Rulings of the claims about Λ, given the parameters of both models."""

    def rulings(dvshgp, vhgp, expert, **changes):
        results = results_at(tmp_path / "results")
        results.dataset.update(name="toy")
        results.plan(
            "toy-lambda", [results.entry(name, seed) for name in ("dvshgp", "vhgp") for seed in range(2)]
        )
        for seed in range(2):
            store(results, fake, "dvshgp", seed, dvshgp, expert)
            store(results, fake, "vhgp", seed, vhgp, **changes)
        (experiment,) = collect(results.root).experiments
        told = {each.claim.id: each.ruling for each in verdicts.judge(experiment)}
        return {name: told[name] for name in ("toy-lambda/agreement", "toy-lambda/local")}

    return rulings


@pytest.fixture
def world():
    """Parameters that agree, but for a shift of each expert."""
    rng = np.random.default_rng(0)
    vhgp, expert = np.exp(rng.standard_normal(ROWS)), np.arange(ROWS) % 5
    return vhgp * np.exp(0.3 * expert + 0.2 * rng.standard_normal(ROWS)), vhgp, expert


def test_lambdas_that_agree_with_local_shifts(judged, world) -> None:
    assert judged(*world) == {"toy-lambda/agreement": "holds", "toy-lambda/local": "holds"}


def test_lambdas_that_differ_without_locality(judged, world) -> None:
    dvshgp = np.exp(np.random.default_rng(1).standard_normal(ROWS))
    assert judged(dvshgp, world[1], world[2]) == {
        "toy-lambda/agreement": "does not hold",
        "toy-lambda/local": "does not hold",
    }


def test_lambdas_that_were_never_learned_agree_with_nothing(judged, world) -> None:
    assert judged(np.full(ROWS, 0.5), world[1], world[2])["toy-lambda/agreement"] == "does not hold"


def test_lambdas_that_cannot_be_compared(judged, world) -> None:
    unknown = {"toy-lambda/agreement": "not run", "toy-lambda/local": "not run"}
    assert judged(world[0], None, world[2]) == unknown
    assert judged(*world, rows=np.zeros((ROWS, 1))) == unknown
    assert judged(world[0], world[1], None)["toy-lambda/local"] == "not run"


def test_a_constant_lambda_has_no_character_of_its_own(judged, world) -> None:
    """Minus the exact one it varies with the expert, without having anything to do with it."""
    told = judged(np.full(ROWS, 0.5), world[1] * np.exp(world[2]), world[2])
    assert told["toy-lambda/local"] == "does not hold"


def test_bounds_without_a_trace_do_not_decide(make) -> None:
    experiment = make("toy-convergence", {"svshgp": {}, "svshgp-adam": {}, "vshgp": {"elbo": -1.0}})
    assert sooner("svshgp", "svshgp-adam").check(Evidence(experiment)).answer == "absent"
    assert near("bound", ("svshgp",), "vshgp", 0.05).check(Evidence(experiment)).answer == "absent"


def test_nearness_of_bounds_is_measured_per_training_row(make) -> None:
    models = {"svshgp": {"elbo": -100.0}, "vshgp": {"elbo": -80.0}}
    criterion = near("bound", ("svshgp",), "vshgp", 0.05)
    assert criterion.check(Evidence(make("toy-convergence", models, n_train=500))).answer == "yes"
    assert criterion.check(Evidence(make("toy-convergence", models, n_train=300))).answer == "no"


@pytest.mark.parametrize(
    ("least", "ruling"), [(0.0, "holds"), (0.2, "holds"), (-0.1, "does not hold"), (None, "not run")]
)
def test_a_negative_lambda_is_seen(results_at, fake, tmp_path, least, ruling: str) -> None:
    results = results_at(tmp_path / "results")
    results.dataset.update(name="toy")
    names = ("dvshgp", "vhgp", "vshgp")
    results.plan("toy-lambda", [results.entry(name, seed) for name in names for seed in range(2)])
    for seed in range(2):
        for name in names:
            values = np.linspace(0.3, 1, ROWS)
            store(
                results,
                fake,
                name,
                seed,
                values if least is None or name != "vshgp" else values - 0.3 + least,
            )
            if least is None and name == "vshgp":
                store(results, fake, name, seed, None)
    (experiment,) = collect(results.root).experiments
    told = {each.claim.id: each.ruling for each in verdicts.judge(experiment)}
    assert told["toy-lambda/non-negative"] == ruling
