"""Of every criterion: whether a trivial predictor passes it, and if so, whether the claim says why."""

from typing import Any

import pytest

from hgpbench.paper.claim import Claim
from hgpbench.paper.criteria import Criterion
from hgpbench.paper.evidence import Evidence
from hgpbench.paper.verdicts import CLAIMS
from tests.paper.test_claims import WORLD, rise

SINGLE = [claim for claim in CLAIMS if claim.experiment in WORLD]
MEAN = {
    "smse": 1.0,
    "msll_gaussian": 0.0,
    "total_seconds": 0.001,
    "processor_seconds": 0.001,
    "noise_var": 1.0,
    "noise_spread": 0.0,
    "noise_tail": 0.0,
    "var_spread": 0.0,
    "var_correlation": 0.0,
    "var_log_error": 1.2,
    "var_log_bias": 1.5,
    "latent_var": 0.0,
    "bend": 0.0,
    "fit_processor_seconds": 0.001,
    "peak_memory_gb": 0.2,
    "mean_error": 1.0,
    "latent_share": 0.0,
    "latent_correlation": 0.0,
    "cycle": 0.0,
    "elbo": -1e6,
    "trace": rise(-1e6, 1),
}
ABOUT_NOISE = (
    "noise_spread",
    "noise_tail",
    "var_spread",
    "var_correlation",
    "latent_correlation",
    "latent_share",
)
ALONG_INPUT = ("toy", "solar")  # where there is a running mean
RUNNING = {"smse": 0.063, "cycle": 0.02, "mean_error": 0.05}  # of 31 years on solar; wide enough on toy


def constant(world: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A model with the best mean of all, and the noise of the models of constant noise."""
    values = {key for model in world.values() for key in model}
    homoscedastic = [model for name, model in world.items() if name in ("vsgp", "rbcm", "svgp")]
    best = {"smse", "mean_error"} & values
    found: dict[str, Any] = {key: min(model[key] for model in world.values() if key in model) for key in best}
    if "cycle" in values:
        found["cycle"] = max(model.get("cycle", 0.0) for model in world.values())
    if "elbo" in values:  # on toy a constant noise costs a third of a nat a row
        found |= {"elbo": -98.0 - 150, "trace": rise(-98.0 - 150, 1)}
    for key in {"msll_gaussian", "noise_var"} & values:
        found[key] = max((model[key] for model in homoscedastic if key in model), default=MEAN[key])
    return {key: MEAN[key] for key in ABOUT_NOISE} | {"var_log_error": 1.2, "var_log_bias": 1.5} | found


def predictors(claim: Claim, world: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Trivial predictors by name; of what they do not say, each model keeps its own."""
    found = {"mean": MEAN, "constant noise": constant(world)}
    if claim.experiment in ALONG_INPUT:
        found["running mean"] = MEAN | RUNNING
    return found


def passing(make, claim: Claim) -> list[str]:
    """The trivial predictors that pass, in the place of the models that something good is said of."""
    assert isinstance(claim.test, Criterion)
    world = WORLD[claim.experiment]
    subjects = set(claim.test.subjects or claim.test.names)
    found = []
    for name, values in predictors(claim, world).items():
        replaced = {
            label: {**model, **values} if label in subjects or label.partition(":")[0] in subjects else model
            for label, model in world.items()
        }
        if claim.test.check(Evidence(make(claim.experiment, replaced))).answer == "yes":
            found.append(name)
    return found


@pytest.mark.parametrize("claim", SINGLE, ids=lambda claim: claim.id)
def test_no_trivial_predictor_passes_unless_the_claim_says_why(make, claim: Claim) -> None:
    found = passing(make, claim)
    assert bool(found) == bool(claim.trivial), found


def test_every_claim_is_asked() -> None:
    asked = {claim.id for claim in SINGLE} | {
        "toy-lambda/agreement",
        "toy-lambda/local",
        "toy-lambda/non-negative",
    }  # see test_curves
    assert asked == {claim.id for claim in CLAIMS if not claim.is_general}
