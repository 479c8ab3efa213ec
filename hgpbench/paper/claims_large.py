"""Claims about electric (section VI-C) and about all datasets together (end of VI-B, VII)."""

from collections.abc import Iterable, Sequence

from hgpbench.paper.claim import Claim, Survey, on
from hgpbench.paper.claims_medium import SCORED
from hgpbench.paper.claims_sinc2d import ALL
from hgpbench.paper.criteria import Criterion, both, highest, lower, lowest, most, same_sign, some
from hgpbench.paper.evidence import listed
from hgpbench.paper.trends import drop, flat, quicker, steadily_falls

LARGE = ("dvshgp", "svshgp", "dpic", "ehsod", "svgp", "rbcm")
LARGE_SCORED = tuple(name for name in LARGE if name != "dpic")
MEDIUM = ("protein", "sarcos", "3droad")
VARYING = ("dvshgp", "svshgp", "gpvc", "fitc", "ehsod")  # heteroscedastic, with an MSLL in the paper
PROCESS = ("dvshgp", "svshgp", "gpvc", "ehsod")  # of these, with a process for the noise

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
        lower("smse", ("svshgp",), ("dpic", "ehsod", "svgp", "rbcm")),
    ),
    _table(
        "svshgp-next-msll",
        "SVSHGP comes next to DVSHGP in MSLL.",
        lower("msll_gaussian", ("svshgp",), ("ehsod", "svgp", "rbcm")),
    ),
    _table(
        "ehsod-worst",
        "EHSoD is the worst in SMSE and MSLL.",
        both(highest("smse", "ehsod", LARGE), highest("msll_gaussian", "ehsod", LARGE_SCORED)),
    ),
    _time(
        "svshgp-quicker",
        "SVSHGP takes less time than DVSHGP.",
        lower("total_seconds", ("svshgp",), ("dvshgp",)),
    ),
    _time(
        "svgp-quicker", "SVGP takes less time than SVSHGP.", lower("total_seconds", ("svgp",), ("svshgp",))
    ),
    _time("dpic-slowest", "dPIC takes by far the most time.", highest("total_seconds", "dpic", LARGE)),
    _cores(
        "speed-up",
        "Eight cores make DVSHGP about 3.5 times as fast as one.",
        drop("total_seconds", "dvshgp", "cores", value=8, low=3, high=4),
    ),
    _cores(
        "each-core",
        "Every further core makes DVSHGP faster.",
        steadily_falls("total_seconds", "dvshgp", "number of cores"),
    ),
    _batch("quicker", "Small batches make SVSHGP much quicker.", quicker("svshgp", "batch size", limit=0.5)),
    _batch(
        "alike",
        "The batch size hardly changes SVSHGP's scores.",
        both(
            flat("smse", "svshgp", "batch size", percent=10),
            flat("msll_gaussian", "svshgp", "batch size", by=0.1),
        ),
    ),
)


def _over(experiments: Iterable[str], *criteria: Criterion) -> dict[str, tuple[Criterion, ...]]:
    return dict.fromkeys(experiments, criteria)


def _best(among: Sequence[str], scored: Sequence[str]) -> Criterion:
    return both(lowest("smse", "dvshgp", among), lowest("msll_gaussian", "dvshgp", scored))


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
    ),
    Claim(
        "general/dvshgp-superior",
        "VII",
        "DVSHGP is the best of the models in SMSE and MSLL.",
        Survey(
            _over(("sinc2d", *MEDIUM), _best(ALL, SCORED)) | _over(["electric"], _best(LARGE, LARGE_SCORED)),
            most,
            "lowest SMSE and lowest MSLL of the models compared, on more than half of the datasets",
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
