"""Claims of the paper's equations, about more rows, and about models away from data or between blocks."""

from math import log

from hgpbench.paper.claim import Claim, on
from hgpbench.paper.claims_sinc2d import CONSTANT_ITSELF
from hgpbench.paper.claims_toy import FACTOR, FAILURE
from hgpbench.paper.criteria import at_least, both, share, skilled
from hgpbench.paper.curves import least_lambda
from hgpbench.paper.identities import Identity, below_the_collapsed, equal_at_the_best, never_negative
from hgpbench.paper.throughout import (
    at_most_throughout,
    behind,
    falls_by,
    further_behind,
    grows_no_faster,
    higher_throughout,
    lower_throughout,
)

ROWS = "number of rows"
SHRINKS = 0.4  # of the log of a variance that is a third too small
BEHIND = 0.01  # nats a training row
LINEAR = 1.2  # power of the rows
TIME_ALONE = "it is about time alone"

MATHEMATICS: tuple[Claim, ...] = (
    Claim(
        "bounds/below",
        "III, on the factorised bound",
        "The factorised bound F is nowhere above the collapsed bound F_V.",
        Identity("F < F_V at q(f_m) other than q*, on random problems", below_the_collapsed),
    ),
    Claim(
        "bounds/equal",
        "III, on the factorised bound",
        "At the best q(f_m) the factorised bound F is the collapsed bound F_V.",
        Identity(
            "F at q*, which one unit natural step reaches, equal to F_V, on random problems",
            equal_at_the_best,
        ),
    ),
    Claim(
        "bounds/lambda",
        "Appendix A",
        "Λ, where the bound is stationary, is not negative.",
        Identity("the fixed point of Λ at least 0 in each training row of random problems", never_negative),
    ),
)

_aggregated = on("toy-rows", "IV-B, on what is aggregated")
_starts = on("toy-rows", "V-A, on starting Λ")
_stages = on("toy-rows", "V-A, on learning in two stages")
_cost = on("toy-rows", "II-D and IV-A, on complexity")
_lambda = on("toy-lambda", "II-C and Appendix A, on Λ")
_jumps = on("toy", "I, on PIC")
_away = on("solar-later", "I, on GPVC")
_memory = on("electric", "VI-C, on EHSoD")

CLAIMS: tuple[Claim, ...] = (
    _aggregated(
        "aggregate-y",
        "Where y itself is aggregated, the predictive variance is inconsistent as rows and experts grow.",
        falls_by("var_log_bias", "dvshgp-y", ROWS, SHRINKS),
    ),
    _aggregated(
        "aggregate-fg",
        "Aggregating f and g gives a meaningful predictive variance.",
        at_most_throughout("var_log_error", "dvshgp", ROWS, log(FACTOR)),
    ),
    _aggregated(
        "aggregate-better",
        "Aggregating f and g rather than y is the key to the committee's success.",
        lower_throughout("msll_gaussian", "dvshgp", "dvshgp-y", ROWS),
    ),
    _starts(
        "lambda-elsewhere",
        "Λ must start from 0.5: from larger or smaller values the start is improper.",
        behind(("lambda-0.1", "lambda-2"), "lambda-0.5", ROWS, BEHIND),
        FAILURE,
    ),
    _starts(
        "lambda-more",
        "Starting Λ elsewhere than from 0.5 does the more harm the more rows there are.",
        further_behind(("lambda-0.1", "lambda-2"), "lambda-0.5", ROWS),
        FAILURE,
    ),
    _stages(
        "two-stages",
        "Learning Λ first, and then everything, is better than learning everything at once.",
        higher_throughout("bound", "dvshgp", "dvshgp-one-stage", ROWS),
    ),
    _stages(
        "two-stages-noise",
        "Learning Λ first captures the varying noise roughly, which learning everything at once may miss.",
        lower_throughout("var_log_error", "dvshgp", "dvshgp-one-stage", ROWS),
    ),
    _cost(
        "linear",
        "The cost of DVSHGP with experts of one size is linear in the number of rows.",
        grows_no_faster("fit_processor_seconds", "dvshgp", ROWS, LINEAR),
        TIME_ALONE,
    ),
    _cost(
        "linear-alone",
        "The cost of VSHGP is linear in the number of rows.",
        grows_no_faster("fit_processor_seconds", "lambda-0.5", ROWS, LINEAR),
        TIME_ALONE,
    ),
    _lambda(
        "non-negative",
        "The variational parameters Λ are never negative.",
        least_lambda(("vhgp", "vshgp", "dvshgp")),
        "it is about the sign of a parameter",
    ),
    _jumps(
        "pic-jumps",
        "PIC's predictions may jump at the borders of its blocks.",
        both(skilled(("dpic", "vsgp")), share("bend", "vsgp", "dpic", 1 / 3)),
        CONSTANT_ITSELF,
    ),
    _away(
        "gpvc-certain",
        "GPVC underestimates its variance away from the data.",
        share("latent_var", "gpvc", "vshgp", 0.5),
        FAILURE,
    ),
    _memory(
        "ehsod-memory",
        "EHSoD cannot have a larger subset, for want of memory.",
        at_least("peak_memory_gb", ("ehsod",), 16),
        "it is about memory alone",
    ),
)
