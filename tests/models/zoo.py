"""Models at a size for tests, and a small heteroscedastic problem."""

import numpy as np

from hgpbench.models import MODELS
from hgpbench.models.base import Estimator

SMALL = {
    "n_inducing": 10,
    "n_inducing_f": 10,
    "n_inducing_g": 6,
    "n_experts": 3,
    "n_blocks": 3,
    "n_basis": 10,
    "n_neighbors": 15,
    "n_noise_neighbors": 15,
    "max_iter": 30,
}

WITH_KERNELS = [name for name, kind in MODELS.items() if "kernel" in kind().get_params()]
ROUGH = {"kernel": "matern32", "noise_kernel": "matern12"}
VARIANTS = [*MODELS, *(f"{name}, rough" for name in WITH_KERNELS)]
"""Every model, and once more with other kernels than the squared exponential."""


def kind(name: str) -> type[Estimator]:
    """The class of a model or of one of its variants."""
    return MODELS[name.removesuffix(", rough")]


def make(name: str, **changes) -> Estimator:
    """The model at a size for tests, with a seed where it takes one."""
    model = kind(name)()
    wanted = {"random_state": 3, **SMALL, **(ROUGH if name.endswith(", rough") else {}), **changes}
    return model.set_params(**{key: value for key, value in wanted.items() if key in model.get_params()})


def draw(n: int, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and targets whose noise grows along the first of them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    noise = np.exp(-2 + 0.7 * X[:, 0])
    return X, np.sin(2 * X[:, 0]) + X[:, -1] + noise * rng.normal(size=n)
