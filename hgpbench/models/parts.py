"""What fitted models are made of: the only classes that a saved model may name, and where each is found.

A model is its parameters and what it learnt: plain values, arrays, and these. They are rebuilt field by
field; no constructor runs, and nothing outside this list can be made, whatever a file says. A model with a
part of its own adds a line here; the conformance suite names what lacks.
"""

import importlib
from dataclasses import fields, is_dataclass
from typing import Any

CLASSES: dict[str, str] = {
    "Scaling": "scaling",
    "Families": "gp.kernels",
    "SEARD": "gp.kernels",
    "Matern12": "gp.kernels",
    "Matern32": "gp.kernels",
    "Matern52": "gp.kernels",
    "OptimResult": "gp.optim",
    "ExactPosterior": "gp.exact",
    "Posterior": "gp.posterior",
    "Inducing": "gp.inducing",
    "BlockPosterior": "gp.block",
    "Basis": "gp.gpz",
    "BasisPosterior": "gp.gpz",
    "Ridge": "fitting.ridge",
    "MeanFunction": "fitting.ridge",
    "SparseFit": "fitting.collapsed",
    "StochasticFit": "fitting.minibatch",
    "VshgpFit": "fitting.vshgp",
    "Tried": "fitting.start",
    "Correction": "fitting.basis_choice",
    "Belief": "fitting.calibration",
    "Reserve": "fitting.reserve",
    "Reserves": "fitting.reserve",
    "Rows": "experts.rows",
    "Experts": "experts.fit",
    "Lbfgs": "experts.optimizers",
    "Paper": "experts.optimizers",
    "Passes": "experts.optimizers",
    "Search": "gp.search",
    "Neighbourhood": "gp.neighbours",
}
"""Frozen dataclasses, named tuples and kernels, each with its module."""

FORGETFUL: dict[str, str] = {"Recent": "experts.recent", "Kept": "experts.voices"}
"""What one prediction keeps for the next: saved as nothing, and begun anew."""


def find(name: str) -> type[Any]:
    """The class of that name; ValueError where there is none."""
    module = CLASSES.get(name) or FORGETFUL.get(name)
    if module is None:
        raise ValueError(f"{name!r:.60} is no part of a model")
    found: type[Any] = getattr(importlib.import_module(f"hgpbench.{module}"), name)
    return found


def name_of(kind: type[Any]) -> str | None:
    """The name of a class that may be saved."""
    name = kind.__name__
    known = CLASSES.get(name) or FORGETFUL.get(name)
    return name if known is not None and kind.__module__ == f"hgpbench.{known}" else None


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """What an object of the class is made of."""
    if is_dataclass(kind):
        return tuple(item.name for item in fields(kind))
    return tuple(getattr(kind, "_fields", ()))


def build(kind: type[Any], values: dict[str, Any]) -> Any:
    """An object from its fields, without its constructor; ValueError where they are not its fields."""
    names = field_names(kind)
    if set(values) != set(names):
        raise ValueError(f"the fields of {kind.__name__} are others in this version")
    if not is_dataclass(kind):
        return tuple.__new__(kind, [values[name] for name in names])
    made = object.__new__(kind)
    for name in names:
        object.__setattr__(made, name, values[name])
    return made
