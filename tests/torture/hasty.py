"""Models of the torture suite, copied beside its experiments as a user's own module.

Ours with checkpoints at every step and with worker processes however small the problem, so that a kill at any
moment meets one of the states that a long fit has only now and then.
"""

from hgpbench.experts import ascent
from hgpbench.fitting import checkpoint
from hgpbench.models import DVSHGP, SVGP, SVSHGP

MANY = 200  # evaluations of rows: more than a prediction of the suite has, and fewer than a fit
NEVER_WAIT = 0.0  # seconds between checkpoints
STEPS = 2  # of a pass, at least: so few that a handful of experts has two lanes

checkpoint.EVERY, ascent.STEPS_PER_PASS = NEVER_WAIT, STEPS


class Experts(DVSHGP):
    """The distributed model, with workers in the fits of every third seed: each takes a second to start."""

    def _workers(self, rows: int, n: int) -> int:
        return (self.n_jobs or 1) if rows > MANY and (self.random_state or 0) % 3 == 0 else 1


class Batches(SVSHGP):
    """The stochastic one."""


class Plain(SVGP):
    """The stochastic one with constant noise."""
