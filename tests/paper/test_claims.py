"""Every claim comes out each way: it holds in a world as the paper tells it, and one change refutes it."""

import copy
import re

import numpy as np
import pytest

from hgpbench.paper import verdicts
from hgpbench.paper.claim import Survey
from hgpbench.paper.verdicts import CLAIMS

MODELS = ("dvshgp", "svshgp", "gpvc", "dpic", "fitc", "ehsod", "vsgp", "rbcm")


def models(names=MODELS, **quantities):
    """Labels with a value of each quantity; None where a quantity is not said of a label."""
    return {
        name: {key: values[i] for key, values in quantities.items() if values[i] is not None}
        for i, name in enumerate(names)
    }


def rise(level, rate, steps=200):
    """A bound that rises to a level: iteration, seconds, bound."""
    step = np.arange(1.0, steps + 1)
    return list(zip(step, step, level - 500 * np.exp(-step / rate), strict=True))


N = None
WORLD = {
    "toy": models(
        ("dvshgp", "dvshgp-random", "vsgp", "dpic"),
        mean_error=(0.02, 0.1, N, N),
        var_correlation=(0.95, 0.4, N, N),
        var_log_error=(0.3, 1.0, N, N),
        latent_correlation=(0.7, N, N, N),
        latent_share=(0.1, N, N, N),
        msll_gaussian=(-0.8, -0.4, N, N),
        smse=(N, N, 0.42, 0.43),
        bend=(N, N, 0.02, 0.2),
    ),
    "toy-rows": {
        **models(
            [f"dvshgp:rows={n}" for n in (500, 2000, 8000)],
            var_log_error=(0.4, 0.3, 0.2),
            msll_gaussian=(-0.75, -0.8, -0.82),
            elbo=(250.0, 260.0, 270.0),
            fit_processor_seconds=(1, 4, 17),
        ),
        **models(
            [f"dvshgp-y:rows={n}" for n in (500, 2000, 8000)],
            var_log_bias=(0.0, -0.4, -1.2),
            msll_gaussian=(-0.7, -0.6, -0.2),
        ),
        **models(
            [f"dvshgp-one-stage:rows={n}" for n in (500, 2000, 8000)],
            elbo=(240.0, 250.0, 260.0),
            var_log_error=(0.5, 0.5, 0.8),
        ),
        **models(
            [f"lambda-0.5:rows={n}" for n in (500, 2000, 8000)],
            elbo=(250.0, 260.0, 270.0),
            fit_processor_seconds=(0.5, 1.8, 7),
        ),
        **models([f"lambda-0.1:rows={n}" for n in (500, 2000, 8000)], elbo=(230.0, 230.0, 220.0)),
        **models([f"lambda-2:rows={n}" for n in (500, 2000, 8000)], elbo=(210.0, 210.0, 200.0)),
    },
    "solar-later": models(("gpvc", "vshgp"), latent_var=(0.01, 0.9)),
    "toy-convergence": {
        "svshgp": {"trace": rise(-100, 5), "elbo": -100.0},
        "svshgp-adam": {"trace": rise(-110, 30), "elbo": -110.0},
        "vshgp": {"elbo": -98.0},
    },
    "solar": models(
        ("dvshgp", "vshgp", "svshgp"),
        smse=(0.05, 0.5, 0.52),
        cycle=(0.9, 0.0, 0.0),
        msll_gaussian=(-2.0, -0.3, -0.32),
        noise_spread=(1.0, N, N),
    ),
    "sinc2d": models(
        smse=(0.180, 0.181, 0.185, 0.182, 0.190, 0.210, 0.182, 0.183),
        msll_gaussian=(-1.10, -1.09, -1.02, N, -0.98, -0.90, -0.86, -0.85),
        processor_seconds=(10, 11, 12, 13, 14, 15, 16, 1),
        noise_var=(N, N, N, N, 0.003, N, 0.03, N),
        var_spread=(N, N, N, N, N, N, 0.04, 0.02),
        var_correlation=(0.95, 0.94, 0.93, N, 0.84, 0.7, N, N),
        var_log_error=(0.4, 0.4, 0.4, N, N, N, N, N),
    ),
    "protein": models(
        smse=(0.32, 0.45, 0.44, 0.30, 0.36, 0.46, 0.40, 0.38),
        msll_gaussian=(-0.7, -0.58, -0.3, N, -0.6, (0.10, 0.14, 0.10), -0.4, -0.5),
        processor_seconds=(10, 11, 12, 13, 14, 15, 16, 1),
        noise_var=(N, N, N, N, N, N, 0.4, 0.3),
        noise_spread=(0.8, 0.6, 0.5, N, N, N, N, N),
        noise_tail=(3.0, 1.5, 1.0, N, N, N, N, N),
    ),
    "protein-sweeps": {
        **models(
            [f"{name}:n_inducing={m}" for name in ("vsgp", "fitc") for m in (100, 200, 400)],
            smse=(0.5, 0.45, 0.4, 0.5, 0.45, 0.4),
            msll_gaussian=(-0.3, -0.35, -0.4, -0.3, -0.35, -0.4),
        ),
        **models(
            [f"gpvc:n_basis={m}" for m in (100, 200, 400)],
            smse=(0.42, 0.43, 0.44),
            msll_gaussian=(-0.5, -0.49, -0.48),
        ),
        **models([f"dpic:n_inducing={m}" for m in (100, 200, 400)], smse=(0.30, 0.32, 0.31)),
        **models([f"ehsod:subset_size={m}" for m in (1000, 2000, 3000, 4000)], msll_gaussian=(-0.5, -0.5, -0.2, -0.1)),
        **models(
            [f"dvshgp:n_inducing_f={m},n_inducing_g={m}" for m in (50, 100)], smse=(0.4, 0.35), msll_gaussian=(-0.5, -0.6)
        ),
        **models(
            [f"dvshgp-n0:expert_size={n},n_inducing_f={n // 2}" for n in (100, 350)], smse=(0.4, 0.35), msll_gaussian=(-0.5, -0.6)
        ),
    },
    "sarcos": models(
        (*MODELS, "dvshgp-u5"),
        smse=(0.0100, 0.011, 0.011, 0.011, 0.011, 0.02, 0.011, 0.0102, 0.0101),
        msll_gaussian=(-2.30, -2.27, -2.25, N, -2.24, -1.9, -2.2, -2.28, -2.3),
        processor_seconds=(100, 110, 120, 130, 140, 150, 160, 10, 40),
        noise_var=(N, N, N, N, N, N, 0.02, 0.01, N),
        noise_spread=(0.05, N, N, N, N, N, N, N, N),
    ),
    "3droad": models(
        smse=(0.01, 0.05, 0.06, 0.035, 0.04, 0.08, 0.03, 0.02),
        msll_gaussian=(-2.0, -0.60, -0.62, N, -0.65, -0.3, -0.61, -1.5),
        processor_seconds=(10, 11, 12, 13, 14, 15, 16, 1),
        noise_var=(0.02, N, N, N, N, N, 0.05, 0.021),
        noise_spread=(0.1, 0.3, 0.4, N, N, 0.5, N, N),
    ),
    "electric": models(
        ("dvshgp", "svshgp", "dpic", "ehsod", "svgp", "rbcm"),
        smse=(0.0020, 0.0021, 0.0042, 0.0103, 0.0028, 0.0023),
        msll_gaussian=(-3.4, -3.1, N, -1.9, -2.8, -3.0),
        processor_seconds=(11.05, 7.44, 47.22, 4.72, 3.55, 3.97),
        peak_memory_gb=(N, N, N, 30.0, N, N),
    ),
    "electric-cores": models([f"dvshgp:n_jobs={n}" for n in (1, 2, 4, 8)], total_seconds=(100, 60, 40, 28.5)),
    "electric-batch": models(
        [f"svshgp:batch_size={b}" for b in (1000, 2500, 5000)],
        smse=(0.0029, 0.0029, 0.003),
        msll_gaussian=(-3.1, -3.12, -3.13),
        processor_seconds=(10, 20, 40),
    ),
}  # fmt: skip

# claim -> (label, quantity, value) that refutes it
REFUTED = {
    "toy/function": ("dvshgp", "mean_error", 0.2),
    "toy/noise": ("dvshgp", "var_log_error", 0.8),
    "toy/random-experts": ("dvshgp-random", {"var_correlation": 0.95, "var_log_error": 0.3}),
    "toy/disjoint-experts": ("dvshgp-random", "msll_gaussian", -0.9),
    "toy/latent-variance": ("dvshgp", "latent_correlation", 0.3),
    "toy/latent-auxiliary": ("dvshgp", "latent_share", 0.4),
    "toy/pic-jumps": ("vsgp", "bend", 0.15),
    "toy-rows/aggregate-y": ("dvshgp-y:rows=8000", "var_log_bias", -0.1),
    "toy-rows/aggregate-fg": ("dvshgp:rows=8000", "var_log_error", 0.9),
    "toy-rows/aggregate-better": ("dvshgp-y:rows=2000", "msll_gaussian", -0.9),
    "toy-rows/lambda-elsewhere": ("lambda-0.1:rows=2000", "elbo", 262.0),
    "toy-rows/lambda-more": ("lambda-2:rows=8000", "elbo", 245.0),
    "toy-rows/two-stages": ("dvshgp-one-stage:rows=500", "elbo", 251.0),
    "toy-rows/two-stages-noise": ("dvshgp-one-stage:rows=2000", "var_log_error", 0.2),
    "toy-rows/linear": ("dvshgp:rows=8000", "fit_processor_seconds", 60),
    "toy-rows/linear-alone": ("lambda-0.5:rows=8000", "fit_processor_seconds", 30),
    "solar-later/gpvc-certain": ("gpvc", "latent_var", 0.8),
    "electric/ehsod-memory": ("ehsod", "peak_memory_gb", 5.0),
    "toy-convergence/faster": ("svshgp", "trace", rise(-100, 90)),
    "toy-convergence/same-bound": ("vshgp", "elbo", 50.0),
    "solar/quick-features": ("dvshgp", "cycle", 0.1),
    "solar/varying-noise": ("dvshgp", "noise_spread", 0.1),
    "solar/global-fails": ("vshgp", "cycle", 0.8),
    "solar/stochastic-alike": ("svshgp", "msll_gaussian", -0.6),
    "sinc2d/smse-competitive": ("rbcm", "smse", 0.2),
    "sinc2d/msll-constant-noise": ("svshgp", "msll_gaussian", -0.8),
    "sinc2d/msll-best": ("gpvc", "msll_gaussian", -1.2),
    "sinc2d/fitc-msll": ("fitc", "msll_gaussian", -0.8),
    "sinc2d/fitc-mean": ("fitc", "smse", 0.1825),
    "sinc2d/fitc-noise": ("fitc", "noise_var", 0.02),
    "sinc2d/gpvc-msll": ("gpvc", "msll_gaussian", -0.9),
    "sinc2d/gpvc-slightly": ("gpvc", "msll_gaussian", -1.085),
    "sinc2d/ehsod-smse": ("ehsod", "smse", 0.185),
    "sinc2d/ehsod-msll": ("ehsod", "msll_gaussian", -0.6),
    "sinc2d/rbcm-time": ("ehsod", "processor_seconds", 0.5),
    "sinc2d/constant-variance": ("vsgp", "var_spread", 0.2),
    "sinc2d/noise-captured": ("gpvc", "var_correlation", 0.8),
    "sinc2d/fitc-profile": ("fitc", "var_correlation", 0.96),
    "sinc2d/ehsod-rough": ("ehsod", "var_correlation", 0.4),
    "protein/dpic-smse": ("dpic", "smse", 0.33),
    "protein/dvshgp-smse": ("fitc", "smse", 0.31),
    "protein/dvshgp-msll": ("rbcm", "msll_gaussian", -0.8),
    "protein/next-msll": ("gpvc", "msll_gaussian", -0.59),
    "protein/ehsod-unsteady": ("gpvc", "msll_gaussian", (-0.2, -0.5, -0.2)),
    "protein/mediocre": ("vsgp", "smse", 0.5),
    "protein/heteroscedastic": ("gpvc", "noise_spread", 0.1),
    "protein/long-tail": ("svshgp", "noise_tail", 4.0),
    "protein/better-mean": ("rbcm", "smse", 0.31),
    "protein/traded-mean": ("gpvc", "smse", 0.39),
    "protein/rbcm-noise": ("rbcm", "noise_var", 0.5),
    "protein/rbcm-msll": ("rbcm", "msll_gaussian", -0.35),
    "protein/rbcm-time": ("rbcm", "processor_seconds", 30),
    "protein-sweeps/dvshgp-expert-size": ("dvshgp-n0:expert_size=350,n_inducing_f=175", "smse", 0.41),
    "protein-sweeps/dvshgp-inducing": ("dvshgp:n_inducing_f=100,n_inducing_g=100", "msll_gaussian", -0.4),
    "protein-sweeps/more-inducing": ("fitc:n_inducing=400", "smse", 0.6),
    "protein-sweeps/dpic-unsteady": ("dpic:n_inducing=200", "smse", 0.305),
    "protein-sweeps/gpvc-more": ("gpvc:n_basis=400", "smse", 0.41),
    "protein-sweeps/ehsod-larger": ("ehsod:subset_size=1000", "msll_gaussian", 0.5),
    "sarcos/constant-noise": ("dvshgp", "noise_spread", 0.5),
    "sarcos/like-rbcm": ("rbcm", "msll_gaussian", -2.1),
    "sarcos/msll-alike": ("ehsod", "msll_gaussian", -2.28),
    "sarcos/few-accurate": ("dvshgp-u5", "smse", 0.012),
    "sarcos/few-quick": ("dvshgp-u5", "processor_seconds", 90),
    "sarcos/rbcm-noise": ("vsgp", "noise_var", 0.005),
    "sarcos/rbcm-msll": ("vsgp", "msll_gaussian", -2.29),
    "sarcos/rbcm-time": ("dvshgp", "processor_seconds", 5),
    "3droad/dvshgp-best": ("dpic", "smse", 0.005),
    "3droad/rbcm-next": ("fitc", "msll_gaussian", -1.6),
    "3droad/poor-mean": ("gpvc", "smse", 0.025),
    "3droad/msll-like-vsgp": ("gpvc", "msll_gaussian", -0.4),
    "3droad/compact-noise": ("ehsod", "noise_spread", 0.05),
    "3droad/average-noise": ("rbcm", "noise_var", 0.04),
    "3droad/rbcm-noise": ("rbcm", "noise_var", 0.06),
    "3droad/rbcm-msll": ("vsgp", "msll_gaussian", -1.7),
    "3droad/rbcm-time": ("rbcm", "processor_seconds", 12),
    "electric/dvshgp-best": ("rbcm", "msll_gaussian", -3.5),
    "electric/svshgp-next-smse": ("svshgp", "smse", 0.0029),
    "electric/svshgp-next-msll": ("svshgp", "msll_gaussian", -2.9),
    "electric/ehsod-worst": ("dpic", "smse", 0.02),
    "electric/svshgp-quicker": ("svshgp", "processor_seconds", 12),
    "electric/svgp-quicker": ("svgp", "processor_seconds", 8),
    "electric/dpic-slowest": ("dpic", "processor_seconds", 5),
    "electric-cores/speed-up": ("dvshgp:n_jobs=8", "total_seconds", 15),
    "electric-cores/each-core": ("dvshgp:n_jobs=4", "total_seconds", 65),
    "electric-batch/quicker": ("svshgp:batch_size=1000", "processor_seconds", 30),
    "electric-batch/alike": ("svshgp:batch_size=2500", "smse", 0.004),
}
SINGLE = [claim for claim in CLAIMS if claim.experiment is not None]
STORED = {
    "toy-lambda/agreement",
    "toy-lambda/local",
    "toy-lambda/non-negative",
}  # need arrays: see test_curves


def verdict(experiment, name):
    return next(each for each in verdicts.judge(experiment) if each.claim.id == name)


def changed(world, label, *change):
    world = copy.deepcopy(world)
    world[label] |= change[0] if isinstance(change[0], dict) else {change[0]: change[1]}
    return world


def test_every_claim_about_one_experiment_has_a_case() -> None:
    assert {claim.id for claim in SINGLE} - STORED == REFUTED.keys()


@pytest.mark.parametrize("name", REFUTED)
def test_a_claim_holds_as_the_paper_tells_and_fails_otherwise(make, name: str) -> None:
    experiment = name.partition("/")[0]
    world = WORLD[experiment]
    assert verdict(make(experiment, world), name).ruling == "holds"
    label, *change = REFUTED[name]
    found = verdict(make(experiment, changed(world, label, *change)), name)
    assert found.ruling == "does not hold"
    assert label.partition(":")[0] in found.figures


@pytest.mark.parametrize("name", REFUTED)
def test_a_claim_is_not_run_without_its_models(make, name: str) -> None:
    experiment, label = name.partition("/")[0], REFUTED[name][0]
    world = {key: values for key, values in WORLD[experiment].items() if key != label}
    found = verdict(make(experiment, world, planned=(label,)), name)
    assert found.ruling == "not run"
    nothing = verdict(make(experiment, {}, planned=tuple(WORLD[experiment])), name)
    assert nothing.ruling == "not run"
    assert nothing.figures


def test_claims_are_told_in_full() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids) >= 70
    for claim in CLAIMS:
        assert re.match(r"(I|II|III|IV|V|VI|VII|Appendix A)\b", claim.place)
        assert claim.says.endswith(".")
        assert len(claim.test.words) > 15
        assert not claim.test.words.endswith(".")


MEDIUM = ("protein", "sarcos", "3droad")
# claim -> experiment -> (label, quantities) that refutes it
GENERAL_REFUTED = {
    "general/noise-helps-msll": dict.fromkeys(MEDIUM, ("vsgp", {"msll_gaussian": -5.0})),
    "general/noise-and-mean": dict.fromkeys(MEDIUM, ("vsgp", {"msll_gaussian": 5.0, "smse": 0.0})),
    "general/dvshgp-superior": dict.fromkeys(("sinc2d", "3droad", "electric"), ("dvshgp", {"smse": 9.0})),
    "general/svshgp-trades": {
        **dict.fromkeys(("sinc2d", *MEDIUM), ("vsgp", {"smse": 9.0})),
        "electric": ("svgp", {"smse": 9.0}),
    },
}


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if isinstance(claim.test, Survey)], ids=lambda claim: claim.id
)
def test_claims_about_several_datasets(make, claim) -> None:
    assert isinstance(claim.test, Survey)
    worlds = {name: WORLD[name] for name in claim.test.criteria}
    if claim.id == "general/dvshgp-superior":  # protein and sarcos are not told so in the paper's sections
        worlds["protein"] = changed(worlds["protein"], "dvshgp", "smse", 0.2)
    if claim.id == "general/noise-and-mean":
        for name in ("svshgp", "gpvc", "ehsod"):
            worlds["3droad"] = changed(worlds["3droad"], name, "msll_gaussian", -0.1)
            worlds["protein"] = changed(worlds["protein"], name, "msll_gaussian", 0.1)

    def rule(made):
        experiments = [make(name, world) for name, world in made.items()]
        judged = verdicts.judge_all(experiments, map(verdicts.judge, experiments))
        return next(each for each in judged if each.claim.id == claim.id)

    assert rule(worlds).ruling == "holds"
    refuted = dict(worlds)
    for experiment, change in GENERAL_REFUTED[claim.id].items():
        refuted[experiment] = changed(refuted[experiment], *change)
    assert rule(refuted).ruling == "does not hold"
    few = dict(list(refuted.items())[:1])
    assert rule(few).ruling == "not run"
    assert "not run" in rule(few).figures
