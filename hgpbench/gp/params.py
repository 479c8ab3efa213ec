"""Named arrays <-> one flat vector for the optimisers; logarithms of parameters live here and only here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hgpbench.gp.optim import Evaluation, Objective
from hgpbench.la import Array

Values = Mapping[str, ArrayLike]

LARGEST_LOG = 100.0
"""Searches leap along flat directions: a positive parameter outside 1e-43 to 1e43 is a rejected step."""


class Bound(NamedTuple):
    """A bound at named parameters: its value, its derivative by each of them, the relative jitter it took."""

    value: float
    grads: dict[str, Array]
    jitter: float


@dataclass(frozen=True)
class Layout:
    """Where each named array lies in the flat vector, and which are stored as logarithms."""

    shapes: Mapping[str, tuple[int, ...]]
    positive: frozenset[str]

    @classmethod
    def of(cls, values: Values, positive: Iterable[str] = ()) -> "Layout":
        """The layout of these values, in their order; the names in ``positive`` travel as logarithms."""
        shapes = {name: np.shape(value) for name, value in values.items()}
        unknown = frozenset(positive) - shapes.keys()
        if unknown:
            raise ValueError(f"no such parameters: {sorted(unknown)}; there are {list(shapes)}")
        return cls(shapes, frozenset(positive))

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def slices(self) -> dict[str, slice]:
        """The part of the flat vector that each name owns."""
        slices, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + int(np.prod(shape))
            slices[name] = slice(start, stop)
            start = stop
        return slices

    def pack(self, values: Values) -> Array:
        """Flat vector of ``values``; logarithms of the positive ones."""
        parts = []
        for name, shape in self.shapes.items():
            value = np.asarray(values[name], dtype=float)
            if value.shape != shape:
                raise ValueError(f"parameter {name!r} has shape {value.shape}, expected {shape}")
            parts.append(np.ravel(np.log(value) if name in self.positive else value))
        return np.concatenate(parts) if parts else np.empty(0)

    def unpack(self, flat: Array) -> dict[str, Array]:
        """Named arrays of a flat vector; scalars come as 0-d arrays."""
        values = {}
        for name, where in self.slices().items():
            part = flat[where].reshape(self.shapes[name])
            values[name] = np.exp(part) if name in self.positive else part.copy()
        return values

    def pack_grad(self, values: Values, grads: Values) -> Array:
        """Flat gradient: d/d log x = x d/dx for the positive parameters."""
        parts = []
        for name in self.shapes:
            grad = np.asarray(grads[name], dtype=float)
            parts.append(np.ravel(grad * values[name] if name in self.positive else grad))
        return np.concatenate(parts) if parts else np.empty(0)

    def only(self, names: Iterable[str]) -> "Layout":
        """The layout of some of the parameters, in this order: to optimise those and hold the rest."""
        chosen = frozenset(names)
        shapes = {name: shape for name, shape in self.shapes.items() if name in chosen}
        return Layout(shapes, self.positive & chosen)


def objective(
    bound: Callable[[dict[str, Array]], Bound], layout: Layout, held: Values | None = None
) -> Objective:
    """A bound of named parameters as a function of a flat vector; the ``held`` ones stay as they are."""
    fixed = {name: np.asarray(value, dtype=float) for name, value in (held or {}).items()}

    is_log = np.zeros(layout.size, dtype=bool)
    for name, where in layout.slices().items():
        is_log[where] = name in layout.positive

    def flat_objective(x: Array) -> Evaluation:
        if np.abs(x[is_log]).max(initial=0.0) > LARGEST_LOG:
            return Evaluation(-np.inf, np.zeros_like(x))
        values = layout.unpack(x)
        value, grads, jitter = bound(fixed | values)
        return Evaluation(value, layout.pack_grad(values, grads), jitter)

    return flat_objective
