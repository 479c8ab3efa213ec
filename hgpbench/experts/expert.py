"""One expert of DVSHGP: its rows, its local parameters, and the steps that a fit takes with it.

Shared by all experts are the kernels of f and g and mu0. Local are the inducing inputs Xm and Xu, lambda, the
free whitened mean w of q(g_u), and the memory of Adam.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from hgpbench.columns import Array
from hgpbench.experts.contribution import Contribution, missing
from hgpbench.experts.flat import pack, unpack
from hgpbench.fitting.placement import inducing_points
from hgpbench.fitting.start import LAM
from hgpbench.fitting.values import Values
from hgpbench.gp import collapsed, vshgp
from hgpbench.gp.adam import Adam
from hgpbench.gp.kernels import Families
from hgpbench.gp.params import Layout
from hgpbench.gp.posterior import Posterior
from hgpbench.gp.process import PANEL_BYTES

SHARED = ("s2_kf", "ell_f", "s2_kg", "ell_g", "mu0")
INDUCING = ("Xm", "Xu")
LOCAL = (*INDUCING, "lam", "w")
ADAMS = tuple(f"{name}.{part}" for name in INDUCING for part in ("mean", "square", "steps"))
STATE = (*LOCAL, *ADAMS, "best")  # all that an expert keeps, in this order; beyond LOCAL during a fit alone
Names = tuple[str, ...]
PROBES = slice(None, None, 4)  # rows of an expert whose leave-one-out residuals are looked at
BETA2 = 0.99  # of the experts' Adam: each expert is visited some tens of times only
EPSILON = 1e-3  # of the same, in nats per standard deviation: smaller slopes are round-off, not directions


def shared_layout(d: int) -> Layout:
    """Where the shared parameters for ``d`` inputs lie in the flat vector that travels."""
    shapes = {name: np.ones(d) if name.startswith("ell") else np.ones(()) for name in SHARED}
    return Layout.of(shapes, [name for name in SHARED if name in vshgp.POSITIVE])


def of_f(flat: Array) -> slice:
    """Where the kernel of f lies in a flat vector of shared parameters: one variance and d lengthscales."""
    return slice(0, 1 + (len(flat) - 3) // 2)


def workspace_bytes(n: int, m: int, u: int, families: Families) -> int:
    """Memory for evaluations and posteriors of an expert with ``n`` rows, ``m`` and ``u`` inducing points."""
    numbers = 0
    for points, family in zip((m, u), families, strict=True):
        numbers += (3 + family.slopes_apart) * n * points + (14 + family.slopes_apart) * points**2
    return 8 * numbers + 4 * PANEL_BYTES


class Step(NamedTuple):
    """A visit's settings: Adam's ``rate`` for inducing inputs, the natural step and its trust region.

    Those of f may be left where they are.
    """

    rate: float
    gamma: float
    max_shift: float = 1.5
    moves_f: bool = True


class Trial(NamedTuple):
    """An expert's bound with other local parameters, and its derivative by those."""

    bound: Contribution
    own: Array


@dataclass(eq=False)
class Expert:
    """Views of an expert's rows, and its local parameters."""

    X: Array
    y: Array
    values: Values
    adams: dict[str, Adam] = field(init=False)
    best: Array = field(init=False)  # inducing inputs of f to go back to

    def __post_init__(self) -> None:
        self.best = self.values["Xm"]
        self.adams = {name: Adam(beta2=BETA2, epsilon=EPSILON) for name in INDUCING}

    @classmethod
    def place(
        cls, X: Array, y: Array, m: int, u: int, rng: np.random.Generator, apart: bool = False
    ) -> "Expert":
        """A new expert: inducing points by k-means, at most one per distinct row; q(g_u) knows nothing.

        Those of g are those of f where they are as many, which saves a k-means, unless they are to be found
        ``apart``, as in the authors' release.
        """
        Xm = inducing_points(X, m, rng)
        Xu = Xm.copy() if u == m and not apart else inducing_points(X, u, rng)
        return cls(X, y, {"Xm": Xm, "Xu": Xu, "lam": np.full(len(y), LAM), "w": np.zeros(len(Xu))})

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows n, inducing points m and u."""
        return len(self.y), len(self.values["Xm"]), len(self.values["Xu"])

    def visit(self, shared: Values, layout: Layout, step: Step, memory: vshgp.Workspace) -> Contribution:
        """One natural step on q(g_u), then gradients: the shared ones are returned, the local ones followed.

        Nothing changes where the bound cannot be evaluated.
        """
        values = shared | self.values
        try:
            with np.errstate(all="ignore"):
                projection = vshgp.project(values, self.X, memory)
                refined = vshgp.refine(values, self.y, projection, step.gamma, step.max_shift)
                values |= {"lam": refined.lam, "w": refined.w}
                state = vshgp.differentiate(values, self.y, projection)
                left_out = vshgp.left_out_residuals(state, self.y, float(values["mu0"]), PROBES)
        except LinAlgError:
            return missing(layout.size)
        bound = state.bound
        grad = layout.pack_grad(shared, bound.grads)
        if not (np.isfinite(bound.value) and np.isfinite(grad).all()):
            return missing(layout.size)
        self.values |= {"lam": refined.lam, "w": refined.w}
        for name, adam in self.adams.items():
            if name == "Xm" and not step.moves_f:
                continue
            adam.rate = step.rate
            self.values[name] = self.values[name] + adam.step(bound.grads[name])
        return Contribution(bound.value, bound.jitter, grad, error=float(np.mean(left_out**2)))

    def keep(self) -> None:
        """Remember the inducing inputs of f."""
        self.best = self.values["Xm"]

    def revert(self) -> None:
        """Go back to those remembered last."""
        self.values["Xm"] = self.best

    def settle(self, shared: Values, steps: int, memory: vshgp.Workspace) -> Contribution:
        """Natural steps on q(g_u) alone, for as long as they gain; the bound after them."""
        values, best = shared | self.values, -np.inf
        try:
            with np.errstate(all="ignore"):
                projection = vshgp.project(values, self.X, memory)
                for _ in range(steps + 1):
                    refined = vshgp.refine(values, self.y, projection)
                    if not refined.value > best:
                        break
                    best = refined.value
                    self.values |= {"lam": values["lam"], "w": values["w"]}
                    values |= {"lam": refined.lam, "w": refined.w}
        except LinAlgError:
            return missing(0)
        return _value(best, projection) if np.isfinite(best) else missing(0)

    def bound(self, shared: Values, memory: vshgp.Workspace) -> Contribution:
        """The bound as things stand; nothing changes."""
        try:
            with np.errstate(all="ignore"):
                projection = vshgp.project(shared | self.values, self.X, memory)
                value = vshgp.refine(shared | self.values, self.y, projection).value
        except LinAlgError:
            return missing(0)
        return _value(value, projection)

    def trial(
        self, shared: Values, layout: Layout, names: Names, part: Array, memory: vshgp.Workspace
    ) -> Trial:
        """The bound with other values of the local ``names`` in ``part``, and its derivative by those.

        The mean of q(g_u) is tied to lambda, as in the paper, unless w is among them. Nothing changes.
        """
        chosen = self._layout(names)
        values = self._with(shared, names, part)
        try:
            with np.errstate(all="ignore"):
                bound = vshgp.bound(values, self.X, self.y, memory)
        except LinAlgError:
            return Trial(missing(layout.size), np.full(part.size, np.nan))
        grad = layout.pack_grad(shared, bound.grads)
        return Trial(Contribution(bound.value, bound.jitter, grad), chosen.pack_grad(values, bound.grads))

    def part(self, names: Names) -> Array:
        """The local ``names`` as a flat vector, lambda by its logarithm."""
        return self._layout(names).pack({name: self.values[name] for name in names})

    def adopt(self, shared: Values, names: Names, part: Array, memory: vshgp.Workspace) -> None:
        """Take the values of a trial over, with the mean that they tie q(g_u) to."""
        values = self._with(shared, names, part)
        values["w"] = vshgp.evaluate(values, self.X, self.y, memory).w
        self.values = {name: values[name] for name in LOCAL}

    def _layout(self, names: Names) -> Layout:
        return Layout.of(
            {name: self.values[name] for name in names}, [name for name in names if name == "lam"]
        )

    def _with(self, shared: Values, names: Names, part: Array) -> Values:
        values = shared | self.values | self._layout(names).unpack(part)
        if "w" not in names:
            del values["w"]
        return values

    def noise(self, shared: Values, memory: vshgp.Workspace) -> Array:
        """The noise variances r = exp(mu_g - s2_g / 2) that the bound gives the expert's rows, (n,)."""
        g = vshgp.project_g(shared | self.values, self.X, memory)
        return vshgp.noise_variances(g, self.values["lam"], float(shared["mu0"]), self.values["w"])

    def posteriors(
        self, shared: Values, memory: vshgp.Workspace, letters: str = "fg"
    ) -> dict[str, Posterior]:
        """q(f*) and q(g*), or one of them, rebuilt: too large to belong to the model."""
        values, mu0, posteriors = shared | self.values, float(shared["mu0"]), {}
        g = vshgp.project_g(values, self.X, memory)
        if "f" in letters:
            rho = 1.0 / vshgp.noise_variances(g, values["lam"], mu0, values["w"])
            f = vshgp.project_f(values, self.X, memory).factor(rho)
            posteriors["f"] = f.posterior(collapsed.mean(f, self.y))
        if "g" in letters:
            posteriors["g"] = g.factor(values["lam"]).posterior(values["w"], mu0)
        return posteriors

    def state(self, whole: bool) -> Array:
        """All that is local, as one flat vector: parameters and, for the ``whole``, the memory of Adam."""
        arrays = {name: self.values[name] for name in LOCAL}
        for name, adam in self.adams.items() if whole else ():
            none = np.zeros_like(self.values[name])  # Adam's memory before its first step
            arrays[f"{name}.mean"] = adam.mean if adam.steps else none
            arrays[f"{name}.square"] = adam.square if adam.steps else none
            arrays[f"{name}.steps"] = np.asarray(adam.steps)
        if whole:
            arrays["best"] = self.best
        return pack(arrays)

    @classmethod
    def restore(cls, X: Array, y: Array, state: Array) -> "Expert":
        """The expert with these rows whose ``state`` this was, in the same memory."""
        arrays = unpack(state, STATE)
        expert = cls(X, y, {name: arrays[name] for name in LOCAL})
        if len(arrays) == len(STATE):
            for name, adam in expert.adams.items():
                adam.mean, adam.square = arrays[f"{name}.mean"], arrays[f"{name}.square"]
                adam.steps = int(arrays[f"{name}.steps"])
            expert.best = arrays["best"]
        return expert


def local(state: Array, name: str) -> Array:
    """One of the ``LOCAL`` parameters in the state of an expert."""
    return unpack(state, STATE)[name]


def _value(value: float, projection: vshgp.Projection) -> Contribution:
    """A bound without its derivative."""
    return Contribution(value, projection.jitter, np.zeros(0))
