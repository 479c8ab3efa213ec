"""Claims about electric (section VI-C) and about all datasets together (end of VI-B, VII)."""

from collections.abc import Iterable, Sequence

from hgpbench.paper.claim import Claim, Survey, on
from hgpbench.paper.claims_medium import SCORED
from hgpbench.paper.claims_sinc2d import ALL, CONSTANT_ITSELF
from hgpbench.paper.claims_toy import FAILURE
from hgpbench.paper.criteria import (
    Criterion,
    both,
    highest,
    lower,
    lowest,
    most,
    near_best,
    same_sign,
    skilled,
    some,
)
from hgpbench.paper.evidence import listed
from hgpbench.paper.trends import all_skilled, drop, flat, quicker, steadily_falls

LARGE = ("dvshgp", "svshgp", "dpic", "ehsod", "svgp", "rbcm")
LARGE_SCORED = tuple(name for name in LARGE if name != "dpic")
MEDIUM = ("protein", "sarcos", "3droad")
VARYING = ("dvshgp", "svshgp", "gpvc", "fitc", "ehsod")  # heteroscedastic, with an MSLL in the paper
PROCESS = ("dvshgp", "svshgp", "gpvc", "ehsod")  # of these, with a process for the noise
TIME_ALONE = "it is about time alone"

_table = on("electric", "VI-C, table")
_time = on("electric", "VI-C, on efficiency")
_cores = on("electric-cores", "VI-C, figure of cores")
_batch = on("electric-batch", "VI-C, figure of batch sizes")

ELECTRIC: tuple[Claim, ...] = (
    _table(
        "dvshgp-best",
        "DVSHGP is the best in SMSE and MSLL.",
        both(lowest("smse", "dvshgp", LARGE), lowest("msll_gaussian", "dvshgp", LARGE_SCORED)),
    ),
    _table(
        "svshgp-next-smse",
        "SVSHGP comes next to DVSHGP in SMSE.",
        both(
            lower("smse", ("dvshgp",), ("svshgp",)),
            lower("smse", ("svshgp",), ("dpic", "ehsod", "svgp", "rbcm")),
        ),
    ),
    _table(
        "svshgp-next-msll",
        "SVSHGP comes next to DVSHGP in MSLL.",
        both(
            lower("msll_gaussian", ("dvshgp",), ("svshgp",)),
            lower("msll_gaussian", ("svshgp",), ("ehsod", "svgp", "rbcm")),
        ),
    ),
    _table(
        "ehsod-worst",
        "EHSoD is the worst in SMSE and MSLL.",
        both(highest("smse", "ehsod", LARGE), highest("msll_gaussian", "ehsod", LARGE_SCORED)),
        FAILURE,
    ),
    _time(
        "svshgp-quicker",
        "SVSHGP takes less time than DVSHGP.",
        both(skilled(("svshgp",)), lower("processor_seconds", ("svshgp",), ("dvshgp",))),
        TIME_ALONE,
    ),
    _time(
        "svgp-quicker",
        "SVGP takes less time than SVSHGP.",
        both(skilled(("svgp",)), lower("processor_seconds", ("svgp",), ("svshgp",))),
        CONSTANT_ITSELF,
    ),
    _time(
        "dpic-slowest",
        "dPIC takes by far the most time.",
        both(skilled(("dpic",)), highest("processor_seconds", "dpic", LARGE)),
        TIME_ALONE,
    ),
    _cores(
        "speed-up",
        "Eight cores make DVSHGP about 3.5 times as fast as one.",
        drop("total_seconds", "dvshgp", "cores", value=8, low=3, high=4),
        TIME_ALONE,
    ),
    _cores(
        "each-core",
        "Every further core makes DVSHGP faster.",
        steadily_falls("total_seconds", "dvshgp", "number of cores"),
        TIME_ALONE,
    ),
    _batch(
        "quicker",
        "Small batches make SVSHGP much quicker.",
        quicker("svshgp", "batch size", limit=0.5),
        TIME_ALONE,
    ),
    _batch(
        "alike",
        "The batch size hardly changes SVSHGP's scores.",
        both(
            all_skilled("svshgp", "batch size"),
            flat("smse", "svshgp", "batch size", percent=10),
            flat("msll_gaussian", "svshgp", "batch size", by=0.1),
        ),
        "it is about scores that stay as they are, whatever they are",
    ),
)


def _over(experiments: Iterable[str], *criteria: Criterion) -> dict[str, tuple[Criterion, ...]]:
    return dict.fromkeys(experiments, criteria)


def _superior(among: Sequence[str], scored: Sequence[str]) -> Criterion:
    """Among the best in both scores, which is what the paper has on all five, and calls superior."""
    return both(
        near_best("smse", ("dvshgp",), among, percent=10),
        near_best("msll_gaussian", ("dvshgp",), scored, by=0.1),
    )


def _trades(rival: str) -> Criterion:
    return both(lower("msll_gaussian", ("svshgp",), (rival,)), lower("smse", (rival,), ("svshgp",)))


GENERAL: tuple[Claim, ...] = (
    Claim(
        "general/noise-helps-msll",
        "VI-B, last list",
        "Modelling the noise usually gives a better MSLL than VSGP's.",
        Survey(
            _over(MEDIUM, *(lower("msll_gaussian", (name,), ("vsgp",)) for name in VARYING)),
            most,
            "MSLL below that of VSGP for more than half of the pairs of dataset and heteroscedastic model "
            f"({listed(VARYING)})",
        ),
    ),
    Claim(
        "general/noise-and-mean",
        "VI-B, last list",
        "Well estimated noise improves the mean, badly estimated noise harms it.",
        Survey(
            _over(MEDIUM, *(same_sign(("msll_gaussian", "smse"), name, "vsgp") for name in PROCESS)),
            most,
            "SMSE and MSLL both below those of VSGP or both above, for more than half of the pairs of "
            f"dataset and model with a noise process ({listed(PROCESS)})",
        ),
        trivial="a predictor that knows nothing is bad in both scores, as the claim has it",
    ),
    Claim(
        "general/dvshgp-superior",
        "VII",
        "DVSHGP exhibits superior performance in both SMSE and MSLL.",
        Survey(
            _over(("sinc2d", *MEDIUM), _superior(ALL, SCORED))
            | _over(["electric"], _superior(LARGE, LARGE_SCORED)),
            most,
            "SMSE of DVSHGP at most 10 % above the lowest and MSLL at most 0.1 above it, on more than half "
            "of the datasets (by the paper's own figures it is strictly the best in both on two of five)",
        ),
    ),
    Claim(
        "general/svshgp-trades",
        "VII",
        "SVSHGP may pay for capturing the noise with its mean.",
        Survey(
            _over(("sinc2d", *MEDIUM), _trades("vsgp")) | _over(["electric"], _trades("svgp")),
            some,
            "on one dataset or more SVSHGP's MSLL is below that of VSGP (on electric SVGP), its SMSE above",
        ),
    ),
)
