"""Claims about the toy example and the solar irradiance (sections II to V)."""

import math
from dataclasses import replace

from hgpbench.paper.claim import Claim, on
from hgpbench.paper.criteria import Criterion, alike, at_least, at_most, both, either, lower, near
from hgpbench.paper.curves import agree_on_lambda, local_lambda, sooner

ACCURATE = 0.9  # correlation of the logs
FACTOR = 2.0  # root mean square
CLOSE = 0.05  # nats a training row between two final bounds
FOLLOWED, MISSED = 0.5, 0.25  # shares of the variance of the 11-year cycle explained
MEAN_ALONE = "it is about the mean alone, whatever is said of the noise"
FAILURE = "it says that something fails, which is easy"


def captures(names: tuple[str, ...]) -> Criterion:
    """Names follow the noise closely: what the paper calls accurate or successful."""
    follows = at_least("var_correlation", names, ACCURATE)
    near = at_most("var_log_error", names, math.log(FACTOR))
    words = f"{follows.words}; and the two within a factor of {FACTOR:g} (root mean square)"
    return replace(both(follows, near), words=words)


def _misses(name: str) -> Criterion:
    """The opposite."""
    strays = at_most("var_correlation", (name,), ACCURATE)
    far = at_least("var_log_error", (name,), math.log(FACTOR))
    words = f"{strays.words}; or the two apart by a factor of {FACTOR:g} or more (root mean square)"
    return replace(either(strays, far), words=words)


_toy = on("toy", "IV-B, figure of the toy example")
_random = on("toy", "IV-A, on disjoint and random experts")
_latent = on("toy", "II-D, on the variance of f")
_lambda = on("toy-lambda", "V-A, figure of Λ")
_convergence = on("toy-convergence", "V-B, figure of convergence")
_solar = on("solar", "V-C, figure of solar irradiance")
_footnote = on("solar", "V-C, footnote")

CLAIMS: tuple[Claim, ...] = (
    _toy(
        "function",
        "DVSHGP finds the underlying function of the toy example.",
        at_most("mean_error", ("dvshgp",), 0.1),
        MEAN_ALONE,
    ),
    _toy("noise", "DVSHGP finds the varying noise of the toy example.", captures(("dvshgp",))),
    _random(
        "random-experts",
        "With experts of random rows in place of disjoint ones, DVSHGP misses the varying noise.",
        _misses("dvshgp-random"),
        FAILURE,
    ),
    _random(
        "disjoint-experts",
        "Disjoint experts serve DVSHGP better than random ones.",
        lower("msll_gaussian", ("dvshgp",), ("dvshgp-random",)),
    ),
    _latent(
        "latent-variance",
        "The variance of the latent function is itself larger where the noise is.",
        at_least("latent_correlation", ("dvshgp",), 0.5),
    ),
    _latent(
        "latent-auxiliary",
        "The variance of the latent function plays a minor part; the noise process explains most.",
        both(captures(("dvshgp",)), at_most("latent_share", ("dvshgp",), 0.25)),
    ),
    _lambda(
        "agreement",
        "DVSHGP's variational parameters are broadly those of the exact VHGP.",
        agree_on_lambda("dvshgp", "vhgp", 0.5),
    ),
    _lambda(
        "local",
        "DVSHGP's variational parameters have a character of their own in each expert.",
        both(agree_on_lambda("dvshgp", "vhgp", 0.5), local_lambda("dvshgp", "vhgp", 0.05)),
    ),
    _convergence(
        "faster",
        "With natural gradients for q and Adam for the rest, SVSHGP converges faster than by Adam alone.",
        both(near("bound", ("svshgp", "svshgp-adam"), "vshgp", CLOSE), sooner("svshgp", "svshgp-adam")),
    ),
    _convergence(
        "same-bound",
        "Both stochastic optimisers come close to the bound that VSHGP reaches by conjugate gradients.",
        near("bound", ("svshgp", "svshgp-adam"), "vshgp", CLOSE),
    ),
    _solar(
        "quick-features",
        "DVSHGP follows the quick changes of the series, thanks to local experts and many inducing points.",
        at_least("cycle", ("dvshgp",), FOLLOWED),
        "a constant-noise model whose mean follows the cycle does what is claimed; a running mean does not",
    ),
    _solar(
        "varying-noise",
        "DVSHGP finds noise that varies over the years.",
        at_least("noise_spread", ("dvshgp",), 0.25),
    ),
    _solar(
        "global-fails",
        "VSHGP with its few global inducing points fails on this series.",
        both(at_least("cycle", ("dvshgp",), FOLLOWED), at_most("cycle", ("vshgp",), MISSED)),
    ),
    _footnote(
        "stochastic-alike",
        "SVSHGP predicts much as VSHGP does on this series.",
        both(
            alike("smse", ("vshgp", "svshgp"), percent=10),
            alike("msll_gaussian", ("vshgp", "svshgp"), by=0.1),
        ),
        "two models that fail alike are alike, which is what the paper says of them",
    ),
)
