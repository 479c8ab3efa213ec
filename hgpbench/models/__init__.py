"""The estimators, by the names that configs and the command line use.

A new model is one file in this folder and one line in ``MODELS``.
"""

from hgpbench.experts.optimizers import Lbfgs, Paper, Passes
from hgpbench.models.base import Estimator
from hgpbench.models.dpic import DPIC
from hgpbench.models.dvshgp import DVSHGP
from hgpbench.models.ehsod import EHSoD
from hgpbench.models.fitc import FITC
from hgpbench.models.gp import ExactGP
from hgpbench.models.gpvc import GPVC
from hgpbench.models.hetlinear import HetLinear
from hgpbench.models.linear import Linear
from hgpbench.models.mean import Mean
from hgpbench.models.nngp import NNGP
from hgpbench.models.nnhgp import NNHGP
from hgpbench.models.rbcm import RBCM
from hgpbench.models.svgp import SVGP
from hgpbench.models.svshgp import SVSHGP
from hgpbench.models.vhgp import VHGP
from hgpbench.models.vsgp import VSGP
from hgpbench.models.vshgp import VSHGP

MODELS: dict[str, type[Estimator]] = {
    "mean": Mean,
    "linear": Linear,
    "hetlinear": HetLinear,
    "gp": ExactGP,
    "vsgp": VSGP,
    "fitc": FITC,
    "svgp": SVGP,
    "gpvc": GPVC,
    "dpic": DPIC,
    "rbcm": RBCM,
    "ehsod": EHSoD,
    "vshgp": VSHGP,
    "vhgp": VHGP,
    "dvshgp": DVSHGP,
    "svshgp": SVSHGP,
    "nngp": NNGP,
    "nnhgp": NNHGP,
}
"""Every model, from the simplest to the most elaborate."""

__all__ = [
    "DPIC",
    "DVSHGP",
    "FITC",
    "GPVC",
    "MODELS",
    "NNGP",
    "NNHGP",
    "RBCM",
    "SVGP",
    "SVSHGP",
    "VHGP",
    "VSGP",
    "VSHGP",
    "EHSoD",
    "Estimator",
    "ExactGP",
    "HetLinear",
    "Lbfgs",
    "Linear",
    "Mean",
    "Paper",
    "Passes",
]
