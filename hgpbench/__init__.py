"""hgpbench: benchmarks for large-scale heteroscedastic Gaussian-process regression."""

# The command passes here before it can say what an interrupt should do, and typing takes long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def load(path: "Any") -> "Any":
    """A saved model: an estimator, or a ``Predictor`` where how a table becomes its inputs was saved too."""
    from hgpbench.use.predictor import load as read

    return read(path)
