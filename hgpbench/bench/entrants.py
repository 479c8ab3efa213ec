"""Whom ``compare`` compares, and at which sizes: a number of rows in, parameters out.

A new entrant is one word in ``ENTRANTS``; one whose size should follow the rows, a line in ``SIZES``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hgpbench.bench.estimators import SHIPPED
from hgpbench.peers import Peer, missing

BASELINES = ("mean", "linear")  # cheap, and never cut: without them no score says anything
ENTRANTS = (
    *BASELINES,
    *("hetlinear", "gp", "vsgp", "vshgp", "svshgp", "dvshgp", "ehsod"),
    *("nngp", "nnhgp"),
    *("forest", "lightgbm", "catboost", "ngboost"),
)
"""By name; one that this version does not have, or whose library is absent, does not take part."""

LEAST_ROWS = {"dvshgp": 350, "svshgp": 350, "forest": 50, "lightgbm": 50, "catboost": 50, "ngboost": 50}
MOST_ROWS = {"gp": 2_000, "vshgp": 10_000, "vsgp": 60_000}


def _between(value: float, least: int, most: int) -> int:
    return int(min(max(value, least), most))


SIZES: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "vsgp": lambda n: {"n_inducing": _between(n / 10, 10, 300)},
    "vshgp": lambda n: {"n_inducing_f": _between(n / 15, 10, 150), "n_inducing_g": _between(n / 30, 5, 75)},
    "svshgp": lambda n: {
        "n_inducing_f": _between(n / 20, 20, 300),
        "n_inducing_g": _between(n / 40, 10, 150),
        "batch_size": _between(n / 5, 100, 1_000),
    },
    "dvshgp": lambda n: {"n_experts": _between(n / 350, 2, 2_000)},
    "ehsod": lambda n: {"subset_size": _between(n, 2, 1_500)},
}


def entrants(n: int, asked: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Who can take part with ``n`` training rows, and their parameters: those asked for, or all."""
    names = asked or tuple(name for name in ENTRANTS if name in SHIPPED and not absent(name))
    suited = [
        name for name in names if LEAST_ROWS.get(name, 2) <= n <= MOST_ROWS.get(name, n) or name in asked
    ]
    return {name: SIZES[name](n) if name in SIZES else {} for name in suited}


def unsuited(n: int, asked: tuple[str, ...] = ()) -> list[str]:
    """Who would take part with another number of training rows."""
    return [
        name
        for name in ENTRANTS
        if not asked and name in SHIPPED and not absent(name) and name not in entrants(n)
    ]


def absent(name: str) -> list[str]:
    """Libraries that a model needs and that are not installed."""
    kind = SHIPPED[name]
    return missing(kind) if issubclass(kind, Peer) else []


def not_installed() -> list[str]:
    """Entrants that would take part if their libraries were there."""
    return [name for name in ENTRANTS if name in SHIPPED and absent(name)]
