"""Checks that fits share: parameters within their range, and a bound that could be evaluated at all."""

from typing import Any

import numpy as np

from hgpbench.errors import FitError
from hgpbench.gp.optim import OptimResult


def check_at_least(name: str, value: Any, least: float, kind: type = int) -> None:
    """ValueError unless a parameter is a number of the right kind and not below ``least``."""
    numbers = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers) or not value >= least:
        words = "an integer" if kind is int else "a number"
        raise ValueError(f"{name}={value!r} is not allowed: it must be {words} of at least {least:g}")


def check_optional(name: str, value: Any, least: float) -> None:
    """ValueError unless a parameter is None or an integer not below ``least``."""
    if value is not None:
        check_at_least(name, value, least)


def check_jobs(n_jobs: int | None) -> None:
    """ValueError unless ``n_jobs`` is a number of threads or processes, or None."""
    check_optional("n_jobs", n_jobs, 1)


def check_choice(name: str, value: Any, allowed: tuple[str | bool, ...]) -> None:
    """ValueError unless a parameter is one of the allowed words."""
    if value not in allowed:
        raise ValueError(
            f"{name}={value!r} is not allowed: it must be one of {', '.join(map(repr, allowed))}"
        )


def ensure_started(result: OptimResult) -> OptimResult:
    """The result, unless the bound could not even be evaluated at the initial values."""
    if result.outcome == "failed":
        raise FitError(
            "the bound cannot be evaluated at the initial values: check the scales of the data, or leave "
            "standardize=True"
        )
    return result
