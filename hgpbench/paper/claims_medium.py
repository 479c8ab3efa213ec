"""Claims about protein, sarcos and 3droad (section VI-B)."""

from hgpbench.paper.claim import Claim, on
from hgpbench.paper.claims_sinc2d import ALL, CONSTANT_ITSELF, NEARLY_CONSTANT
from hgpbench.paper.claims_toy import MEAN_ALONE
from hgpbench.paper.criteria import (
    alike,
    at_least,
    at_most,
    between,
    both,
    higher,
    highest,
    lower,
    lowest,
    share,
    skilled,
    unsteady,
)
from hgpbench.paper.trends import improves, poorer_from, wavers, worsens_slightly

HETEROSCEDASTIC = ("dvshgp", "svshgp", "gpvc", "dpic", "fitc", "ehsod")
SCORED = tuple(name for name in ALL if name != "dpic")  # the paper has no MSLL of dPIC
MUCH_LESS = 0.75  # times the time: the half that f takes cannot be saved
WITH_PROCESS = ("dvshgp", "svshgp", "gpvc")  # a noise process of its own


def _rest(names: tuple[str, ...], *without: str) -> tuple[str, ...]:
    return tuple(name for name in names if name not in without)


def _local_noise(experiment: str) -> tuple[Claim, ...]:
    """What the paper says of RBCM on each of the three datasets."""
    claim = on(experiment, "VI-B1, on RBCM's noise variance" + ("" if experiment == "protein" else " below"))
    time = on(experiment, "VI-A, on efficiency, for the datasets below")
    return (
        claim(
            "rbcm-noise",
            "RBCM finds a smaller noise variance than VSGP.",
            lower("noise_var", ("rbcm",), ("vsgp",)),
        ),
        claim(
            "rbcm-msll",
            "RBCM's smaller noise variance comes with a better MSLL than VSGP's.",
            lower("msll_gaussian", ("rbcm",), ("vsgp",)),
        ),
        time(
            "rbcm-time",
            "RBCM takes the least time.",
            both(skilled(("rbcm",)), lowest("processor_seconds", "rbcm", ALL)),
            CONSTANT_ITSELF,
        ),
    )


_scores = on("protein", "VI-B1, figure of scores")
_noise = on("protein", "VI-B1, figure of noise variances")
_mean = on("protein", "VI-B1, on the interaction of f and g")
_sweeps = on("protein-sweeps", "VI-B1, figure of algorithmic parameters")

PROTEIN: tuple[Claim, ...] = (
    _scores(
        "dpic-smse",
        "Of the heteroscedastic models dPIC has the best SMSE.",
        lowest("smse", "dpic", HETEROSCEDASTIC),
        MEAN_ALONE,
    ),
    _scores(
        "dvshgp-smse",
        "DVSHGP comes second to dPIC in SMSE.",
        both(
            lower("smse", ("dpic",), ("dvshgp",)),
            lower("smse", ("dvshgp",), _rest(HETEROSCEDASTIC, "dpic", "dvshgp")),
        ),
    ),
    _scores("dvshgp-msll", "DVSHGP has the best MSLL.", lowest("msll_gaussian", "dvshgp", SCORED)),
    _scores(
        "next-msll",
        "FITC and SVSHGP come next to DVSHGP in MSLL.",
        both(
            lower("msll_gaussian", ("dvshgp",), ("fitc", "svshgp")),
            lower("msll_gaussian", ("fitc", "svshgp"), ("gpvc", "ehsod")),
        ),
    ),
    _scores(
        "ehsod-unsteady",
        "EHSoD's MSLL is unsteady from run to run.",
        unsteady("msll_gaussian", "ehsod", SCORED, times=3),
    ),
    _scores(
        "mediocre",
        "VSGP and RBCM are in the middle of the field.",
        both(
            *(between("smse", name, ALL) for name in ("vsgp", "rbcm")),
            *(between("msll_gaussian", name, SCORED) for name in ("vsgp", "rbcm")),
        ),
    ),
    _noise(
        "heteroscedastic",
        "The noise of this dataset seems to vary.",
        at_least("noise_spread", WITH_PROCESS, 0.25),
    ),
    _noise(
        "long-tail",
        "DVSHGP's noise variances have a longer tail towards small values.",
        higher("noise_tail", ("dvshgp",), ("svshgp", "gpvc")),
    ),
    _mean(
        "better-mean",
        "Good noise estimates improve DVSHGP's mean over that of RBCM, its counterpart of constant noise.",
        both(lower("msll_gaussian", ("dvshgp",), ("rbcm",)), lower("smse", ("dvshgp",), ("rbcm",))),
    ),
    _mean(
        "traded-mean",
        "SVSHGP and GPVC trade their mean for the noise: with as many points VSGP has a better one.",
        lower("smse", ("vsgp",), ("svshgp", "gpvc")),
        CONSTANT_ITSELF,
    ),
    *_local_noise("protein"),
    _sweeps(
        "dvshgp-expert-size",
        "DVSHGP gains from large experts, that is from few of them.",
        both(*(improves(score, "dvshgp-n0", "expert size") for score in ("smse", "msll_gaussian"))),
    ),
    _sweeps(
        "dvshgp-inducing",
        "DVSHGP gains from more inducing points in each expert.",
        both(*(improves(score, "dvshgp", "m0 = u0") for score in ("smse", "msll_gaussian"))),
    ),
    _sweeps(
        "more-inducing",
        "VSGP and FITC gain from more inducing points.",
        both(*(improves(s, name, "m") for name in ("vsgp", "fitc") for s in ("smse", "msll_gaussian"))),
    ),
    _sweeps(
        "dpic-unsteady",
        "dPIC's SMSE goes up and down as its inducing points grow in number.",
        wavers("smse", "dpic", "m", percent=1),
    ),
    _sweeps(
        "gpvc-more",
        "GPVC becomes slightly worse in both scores with more basis functions.",
        both(*(worsens_slightly(score, "gpvc", "m_b", limit=0.1) for score in ("smse", "msll_gaussian"))),
    ),
    _sweeps(
        "ehsod-larger",
        "EHSoD's MSLL is poorer on subsets of 3,000 rows and more.",
        poorer_from("msll_gaussian", "ehsod", "m_sod", 3000),
    ),
)

_sarcos = on("sarcos", "VI-B2, figures of scores and noise variances")
_few = on("sarcos", "VI-B2, on u0 = 5")

SARCOS: tuple[Claim, ...] = (
    _sarcos(
        "constant-noise",
        "DVSHGP finds nearly constant noise.",
        both(skilled(("dvshgp",)), at_most("noise_spread", ("dvshgp",), NEARLY_CONSTANT)),
        "constant noise is the claim; whether the noise process ever started is told by our settings",
    ),
    _sarcos(
        "like-rbcm",
        "DVSHGP and RBCM agree in both scores.",
        both(
            skilled(("dvshgp", "rbcm")),
            alike("smse", ("dvshgp", "rbcm"), percent=10),
            alike("msll_gaussian", ("dvshgp", "rbcm"), by=0.1),
        ),
        CONSTANT_ITSELF,
    ),
    _sarcos(
        "msll-alike",
        "All heteroscedastic models except EHSoD have much the same MSLL.",
        both(
            alike("msll_gaussian", _rest(HETEROSCEDASTIC, "dpic", "ehsod"), by=0.1),
            highest("msll_gaussian", "ehsod", _rest(HETEROSCEDASTIC, "dpic")),
        ),
    ),
    _few(
        "few-accurate",
        "Five inducing points for g cost DVSHGP almost no accuracy.",
        both(
            skilled(("dvshgp-u5", "dvshgp")),
            alike("smse", ("dvshgp-u5", "dvshgp"), percent=10),
            alike("msll_gaussian", ("dvshgp-u5", "dvshgp"), by=0.1),
        ),
        "that g could do without most of its points is the claim; it is true of a model without g, too",
    ),
    _few(
        "few-quick",
        "Five inducing points for g save DVSHGP much time.",
        both(skilled(("dvshgp-u5",)), share("processor_seconds", "dvshgp-u5", "dvshgp", MUCH_LESS)),
        "it is about time alone",
    ),
    *_local_noise("sarcos"),
)

_road = on("3droad", "VI-B3, figure of scores")
_road_noise = on("3droad", "VI-B3, figure of noise variances")

ROAD: tuple[Claim, ...] = (
    _road(
        "dvshgp-best",
        "DVSHGP is the best in SMSE and MSLL.",
        both(lowest("smse", "dvshgp", ALL), lowest("msll_gaussian", "dvshgp", SCORED)),
    ),
    _road(
        "rbcm-next",
        "RBCM comes second in both scores.",
        both(
            lower("smse", ("dvshgp",), ("rbcm",)),
            lower("smse", ("rbcm",), _rest(ALL, "dvshgp", "rbcm")),
            lower("msll_gaussian", ("dvshgp",), ("rbcm",)),
            lower("msll_gaussian", ("rbcm",), _rest(SCORED, "dvshgp", "rbcm")),
        ),
    ),
    _road(
        "poor-mean",
        "Poor noise estimates cost SVSHGP and GPVC accuracy of the mean: VSGP's is better.",
        lower("smse", ("vsgp",), ("svshgp", "gpvc")),
        CONSTANT_ITSELF,
    ),
    _road(
        "msll-like-vsgp",
        "SVSHGP, GPVC and FITC have an MSLL much like VSGP's.",
        both(
            skilled(("svshgp", "gpvc", "fitc", "vsgp")),
            alike("msll_gaussian", ("svshgp", "gpvc", "fitc", "vsgp"), by=0.1),
        ),
        CONSTANT_ITSELF,
    ),
    _road_noise(
        "compact-noise",
        "DVSHGP's noise variances spread less than those of the other heteroscedastic models.",
        both(
            at_least("noise_spread", ("dvshgp",), NEARLY_CONSTANT),
            lower("noise_spread", ("dvshgp",), ("svshgp", "gpvc", "ehsod")),
        ),
    ),
    _road_noise(
        "average-noise",
        "DVSHGP's noise variance agrees on average with RBCM's.",
        alike("noise_var", ("dvshgp", "rbcm"), percent=25),
        CONSTANT_ITSELF,
    ),
    *_local_noise("3droad"),
)
