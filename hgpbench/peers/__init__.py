"""Models of others, tuned as their authors would, by the names that configs and the command line use.

A new one is one file in this folder and one line in ``PEERS``. Their libraries are imported when a model is
fitted, so that one that is absent costs nothing but its row.
"""

from hgpbench.peers.base import Peer, install, missing
from hgpbench.peers.catboost import CatBoost
from hgpbench.peers.forest import Forest
from hgpbench.peers.gpboost import GPBoost
from hgpbench.peers.gpytorch import GPyTorch, GPyTorchHet
from hgpbench.peers.lightgbm import LightGBM
from hgpbench.peers.ngboost import NGBoost
from hgpbench.peers.sklearn_gpr import SklearnGPR

PEERS: dict[str, type[Peer]] = {
    "forest": Forest,
    "lightgbm": LightGBM,
    "ngboost": NGBoost,
    "catboost": CatBoost,
    "sklearn-gpr": SklearnGPR,
    "gpboost": GPBoost,
    "gpytorch": GPyTorch,
    "gpytorch-het": GPyTorchHet,
}
"""Every peer: boosting and forests first, then Gaussian processes."""

__all__ = ["PEERS", "Peer", "install", "missing"]
