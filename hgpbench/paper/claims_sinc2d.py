"""Claims about the synthetic dataset of two inputs (section VI-A)."""

from hgpbench.paper.claim import Claim, on
from hgpbench.paper.claims_toy import FAILURE, MEAN_ALONE, captures
from hgpbench.paper.criteria import (
    alike,
    at_least,
    at_most,
    both,
    highest,
    lower,
    lowest,
    near_best,
    share,
    skilled,
)

ALL = ("dvshgp", "svshgp", "gpvc", "dpic", "fitc", "ehsod", "vsgp", "rbcm")
CONSTANT = ("vsgp", "rbcm")  # homoscedastic
NEARLY_CONSTANT = 0.1  # standard deviation of the log
CONSTANT_ITSELF = "it is about a model of constant noise"

_scores = on("sinc2d", "VI-A, figure of scores")
_fitc = on("sinc2d", "VI-A, on FITC and its footnote")
_maps = on("sinc2d", "VI-A, figure of variances")
_time = on("sinc2d", "VI-A, on efficiency")

CLAIMS: tuple[Claim, ...] = (
    _scores(
        "smse-competitive",
        "DVSHGP, SVSHGP, dPIC, VSGP and RBCM are about equally good in SMSE.",
        near_best("smse", ("dvshgp", "svshgp", "dpic", "vsgp", "rbcm"), ALL, percent=10),
        MEAN_ALONE,
    ),
    _scores(
        "msll-constant-noise",
        "DVSHGP and SVSHGP beat the models of constant noise in MSLL.",
        lower("msll_gaussian", ("dvshgp", "svshgp"), CONSTANT),
    ),
    _scores(
        "msll-best",
        "DVSHGP and SVSHGP have the best MSLL of all.",
        lower("msll_gaussian", ("dvshgp", "svshgp"), ("gpvc", "fitc", "ehsod", "vsgp", "rbcm")),
    ),
    _fitc(
        "fitc-msll",
        "FITC's varying variance gives it a better MSLL than VSGP and RBCM.",
        lower("msll_gaussian", ("fitc",), CONSTANT),
    ),
    _fitc(
        "fitc-mean",
        "FITC pays with a worse mean than that of VSGP and RBCM.",
        lower("smse", CONSTANT, ("fitc",)),
        CONSTANT_ITSELF,
    ),
    _fitc(
        "fitc-noise",
        "FITC's noise variance is far too small beside VSGP's.",
        share("noise_var", "fitc", "vsgp", 0.5),
    ),
    _scores("gpvc-msll", "GPVC has a better MSLL than FITC.", lower("msll_gaussian", ("gpvc",), ("fitc",))),
    _scores(
        "gpvc-slightly",
        "The difference in MSLL between GPVC and FITC is slight.",
        both(lower("msll_gaussian", ("gpvc",), ("fitc",)), alike("msll_gaussian", ("gpvc", "fitc"), by=0.1)),
    ),
    _scores("ehsod-smse", "EHSoD has the worst SMSE.", highest("smse", "ehsod", ALL), FAILURE),
    _scores(
        "ehsod-msll",
        "EHSoD still beats VSGP and RBCM in MSLL.",
        lower("msll_gaussian", ("ehsod",), CONSTANT),
    ),
    _time(
        "rbcm-time",
        "RBCM takes the least time.",
        both(skilled(("rbcm",)), lowest("processor_seconds", "rbcm", ALL)),
        CONSTANT_ITSELF,
    ),
    _maps(
        "constant-variance",
        "VSGP and RBCM predict nearly the same variance everywhere.",
        both(skilled(CONSTANT), at_most("var_spread", CONSTANT, NEARLY_CONSTANT)),
        CONSTANT_ITSELF,
    ),
    _maps(
        "noise-captured",
        "DVSHGP, SVSHGP and GPVC follow the true noise closely.",
        captures(("dvshgp", "svshgp", "gpvc")),
    ),
    _maps(
        "fitc-profile",
        "FITC follows the noise, but with false peaks and valleys.",
        both(
            at_least("var_correlation", ("fitc",), 0.5),
            lower("var_correlation", ("fitc",), ("dvshgp", "svshgp", "gpvc")),
        ),
    ),
    _maps(
        "ehsod-rough",
        "EHSoD follows the noise roughly.",
        both(
            at_least("var_correlation", ("ehsod",), 0.5),
            lower("var_correlation", ("ehsod",), ("dvshgp", "svshgp", "gpvc")),
        ),
    ),
)
