"""The estimators, by the names that configs and the command line use.

A new model is one file in this folder and one line in ``MODELS``.
"""

from hgpbench.models.base import Estimator
from hgpbench.models.gp import ExactGP
from hgpbench.models.linear import Linear
from hgpbench.models.mean import Mean

MODELS: dict[str, type[Estimator]] = {
    "mean": Mean,
    "linear": Linear,
    "gp": ExactGP,
}
"""Every model, from the simplest to the most elaborate."""

__all__ = ["MODELS", "Estimator", "ExactGP", "Linear", "Mean"]
