"""How the sum of the experts' bounds may be maximised: three optimisers, each with its own settings.

Text is their shorthand, in Python and in a config file: "natural" for ``Passes()``, "paper" for ``Paper()``,
"natural(n_passes=20, guard=false)" for ``Passes(n_passes=20, guard=False)``.
"""

import json
import re
from dataclasses import dataclass, fields
from typing import Any

from hgpbench.fitting.checks import check_at_least
from hgpbench.fitting.start import LAM


@dataclass(frozen=True)
class Passes:
    """Passes over mini-batches of experts, with natural steps on q(g_u) and Adam on the rest: "natural".

    At most ``n_passes`` of them over all experts, None for 10, or for 120 steps if that is more. The
    ``guard`` ends them once the leave-one-out errors of f grow, though the bound may still rise.
    """

    n_passes: int | None = None
    guard: bool = True

    def __post_init__(self) -> None:
        if self.n_passes is not None:
            check_at_least("n_passes", self.n_passes, 1)
        if not isinstance(self.guard, bool):
            raise ValueError(f"guard={self.guard!r} is not allowed: it must be true or false")


@dataclass(frozen=True)
class Lbfgs:
    """L-BFGS on everything, at most ``max_iter`` iterations: "lbfgs"."""

    max_iter: int = 100

    def __post_init__(self) -> None:
        check_at_least("max_iter", self.max_iter, 1)


@dataclass(frozen=True)
class Paper:
    """The paper's conjugate gradients: "paper".

    ``max_iter`` line searches, of which 30 in 100 go to lambda alone, and then the others to everything; in
    one stage all of them go to everything. ``first_lambda`` is where every lambda starts.
    """

    max_iter: int = 100
    first_lambda: float = LAM
    stages: int = 2

    def __post_init__(self) -> None:
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("first_lambda", self.first_lambda, 1e-3, float)
        if isinstance(self.stages, bool) or self.stages not in (1, 2):
            raise ValueError(f"stages={self.stages!r} is not allowed: it must be 1 or 2")


Optimizer = Passes | Lbfgs | Paper
WORDS: dict[str, type[Optimizer]] = {"natural": Passes, "lbfgs": Lbfgs, "paper": Paper}
_TEXT = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*")
_SETTING = re.compile(r"\s*(\w+)\s*=\s*([\w.]+)\s*")
_DECIMAL = re.compile(r"\d+\.\d*|\.\d+")


def read(optimizer: str | Optimizer) -> Optimizer:
    """The optimiser that a text stands for, or the one given; ValueError where it is neither."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    parts = _TEXT.fullmatch(optimizer) if isinstance(optimizer, str) else None
    if parts is None or parts[1] not in WORDS:
        words = ", ".join(map(repr, WORDS))
        raise ValueError(
            f"optimizer={optimizer!r} is not allowed: it must be one of {words}, with settings as in "
            "'natural(n_passes=20, guard=false)'"
        )
    word, settings = parts.groups(default="")
    return WORDS[word](**_settings(word, settings))


def write(optimizer: str | Optimizer) -> str:
    """The shortest text for an optimiser: one for each, however it was given."""
    one = read(optimizer)
    word = next(word for word, kind in WORDS.items() if kind is type(one))
    settings = [
        f"{field.name}={_told(getattr(one, field.name))}"
        for field in fields(one)
        if getattr(one, field.name) != field.default
    ]
    return f"{word}({', '.join(settings)})" if settings else word


def _settings(word: str, text: str) -> dict[str, Any]:
    """Settings by name; whether their values are allowed, the optimiser says."""
    settings, allowed = {}, [field.name for field in fields(WORDS[word])]
    for part in text.split(",") if text.strip() else ():
        setting = _SETTING.fullmatch(part)
        if setting is None or setting[1] not in allowed:
            raise ValueError(
                f"optimizer={f'{word}({text})'!r} is not allowed: {part.strip()!r} is no setting of {word}; "
                f"settings: {', '.join(allowed)}"
            )
        settings[setting[1]] = _value(setting[2])
    return settings


def _told(value: object) -> str:
    """A setting in text, 2 and 2.0 alike."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)


def _value(text: str) -> int | float | str | None:
    """A number, a truth or nothing, in Python's or in YAML's words; other text as it is, to be refused."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    if _DECIMAL.fullmatch(text):
        return float(text)
    return int(text) if text.isdecimal() else text
