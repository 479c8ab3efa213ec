"""What the tests compare with: the paper's formulas with full n by n matrices, and central differences."""

from collections.abc import Callable

import numpy as np
from scipy.stats import multivariate_normal

from hgpbench.gp.params import Bound

Values = dict[str, np.ndarray]
Definition = Callable[[np.ndarray, np.ndarray, float, np.ndarray], np.ndarray]


def draw(
    seed: int = 0, n: int = 40, m: int = 7, u: int = 5, d: int = 3
) -> tuple[np.ndarray, np.ndarray, Values]:
    """Inputs, targets and VSHGP parameters of a well-conditioned problem."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    values = {
        "s2_kf": np.asarray(1.3),
        "ell_f": rng.uniform(0.8, 1.6, d),
        "Xm": rng.normal(size=(m, d)),
        "s2_kg": np.asarray(0.6),
        "ell_g": rng.uniform(0.8, 1.6, d),
        "Xu": rng.normal(size=(u, d)),
        "mu0": np.asarray(-0.7),
        "lam": rng.uniform(0.2, 1.2, n),
    }
    return X, y, values


def collapsed_values(values: Values, sigma2: float = 0.3) -> Values:
    """The f-side of VSHGP's parameters, as VSGP and FITC name them."""
    return {
        "s2_k": values["s2_kf"],
        "ell": values["ell_f"],
        "Xm": values["Xm"],
        "sigma2": np.asarray(sigma2),
    }


def distance(X: np.ndarray, Z: np.ndarray, ell: np.ndarray) -> np.ndarray:
    """In lengthscales, of each row of ``X`` from each of ``Z``."""
    return np.sqrt((((X[:, None] - Z) / ell) ** 2).sum(axis=-1))


def kernel(X: np.ndarray, Z: np.ndarray, s2_k: float, ell: np.ndarray) -> np.ndarray:
    """SE-ARD by its definition."""
    return s2_k * np.exp(-0.5 * distance(X, Z, ell) ** 2)


def matern12(X: np.ndarray, Z: np.ndarray, s2_k: float, ell: np.ndarray) -> np.ndarray:
    """Matern by Rasmussen and Williams, eq. 4.17 (and its case p = 0)."""
    return s2_k * np.exp(-distance(X, Z, ell))


def matern32(X: np.ndarray, Z: np.ndarray, s2_k: float, ell: np.ndarray) -> np.ndarray:
    """Likewise."""
    r = np.sqrt(3.0) * distance(X, Z, ell)
    return s2_k * (1.0 + r) * np.exp(-r)


def matern52(X: np.ndarray, Z: np.ndarray, s2_k: float, ell: np.ndarray) -> np.ndarray:
    """Likewise."""
    r = np.sqrt(5.0) * distance(X, Z, ell)
    return s2_k * (1.0 + r + r**2 / 3.0) * np.exp(-r)


DEFINITIONS: dict[str, Definition] = {
    "se": kernel,
    "matern12": matern12,
    "matern32": matern32,
    "matern52": matern52,
}


def prior(
    X: np.ndarray,
    Z: np.ndarray,
    s2_k: float,
    ell: np.ndarray,
    jitter: float,
    kernel: Definition = kernel,
):
    """Kzz with its nugget, Knz, and the prior variance with the same nugget."""
    Kzz = kernel(Z, Z, s2_k, ell) + jitter * s2_k * np.eye(len(Z))
    return Kzz, kernel(X, Z, s2_k, ell), float(s2_k) * (1.0 + jitter)


def dense_q_g(values: Values, X: np.ndarray, jitter: float, kernel: Definition = kernel):
    """mu_u, Sigma_u, mu_g, diag Sigma_g and KL as the paper prints them, errata applied."""
    Kuu, Knu, kd = prior(X, values["Xu"], values["s2_kg"], values["ell_g"], jitter, kernel)
    mu0, lam = float(values["mu0"]), values["lam"]
    KLam = Kuu + Knu.T @ (lam[:, None] * Knu)
    S_u = Kuu @ np.linalg.solve(KLam, Kuu)
    centred = np.linalg.cholesky(Kuu) @ values["w"] if "w" in values else Knu.T @ (lam - 0.5)
    Onu = np.linalg.solve(Kuu, Knu.T).T
    mu_g = mu0 + Onu @ centred
    s2_g = np.diag(kd * np.eye(len(X)) - Onu @ Knu.T + Onu @ S_u @ Onu.T)
    kl = 0.5 * (
        np.trace(np.linalg.solve(Kuu, S_u))
        + centred @ np.linalg.solve(Kuu, centred)
        - len(Kuu)
        + np.linalg.slogdet(Kuu)[1]
        - np.linalg.slogdet(S_u)[1]
    )
    return mu0 + centred, S_u, mu_g, s2_g, kl


def dense_vfe(
    values: Values,
    X: np.ndarray,
    y: np.ndarray,
    r: np.ndarray,
    jitter: float,
    kernel: Definition = kernel,
) -> float:
    """log N(y | 0, Q + R) minus the trace term."""
    Kmm, Knm, kd = prior(X, values["Xm"], values["s2_k"], values["ell"], jitter, kernel)
    Q = Knm @ np.linalg.solve(Kmm, Knm.T)
    log_term = multivariate_normal(cov=Q + np.diag(r)).logpdf(y)
    return float(log_term - 0.5 * np.sum((kd - np.diag(Q)) / r))


def dense_fitc(
    values: Values, X: np.ndarray, y: np.ndarray, jitter: float, kernel: Definition = kernel
) -> float:
    """log N(y | 0, Q + diag(K - Q) + sigma2 I)."""
    Kmm, Knm, kd = prior(X, values["Xm"], values["s2_k"], values["ell"], jitter, kernel)
    Q = Knm @ np.linalg.solve(Kmm, Knm.T)
    noise = kd - np.diag(Q) + values["sigma2"]
    return float(multivariate_normal(cov=Q + np.diag(noise)).logpdf(y))


def dense_bound(
    values: Values,
    X: np.ndarray,
    y: np.ndarray,
    jitter: float,
    kernel_f: Definition = kernel,
    kernel_g: Definition = kernel,
) -> float:
    """F_V: its four terms, one by one."""
    _, _, mu_g, s2_g, kl = dense_q_g(values, X, jitter, kernel_g)
    r = np.exp(mu_g - 0.5 * s2_g)
    of_f = dense_vfe(collapsed_values(values), X, y, r, jitter, kernel_f)
    return of_f - 0.25 * float(s2_g.sum()) - kl


def central_differences(
    bound: Callable[[Values], Bound], values: Values, name: str, step: float = 1e-5
) -> np.ndarray:
    """d bound / d values[name], entry by entry."""
    grad = np.empty(values[name].shape)
    for index in np.ndindex(grad.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = values[name].copy()
            moved[index] += sign * step
            ends.append(bound(values | {name: moved}).value)
        grad[index] = (ends[0] - ends[1]) / (2.0 * step)
    return grad


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
