"""One SVSHGP step in JAX, jitted, with autodiff: a yardstick for stochastic.py, never a dependency."""

import os
from collections.abc import Callable
from typing import Any

Step = Callable[[], tuple[float, dict[str, Any], dict[str, Any]]]


def prepare(
    values: dict[str, Any], q: dict[str, Any], X: Any, y: Any, n: int, gamma: float, jitter: float
) -> Step:
    """A call for bound, gradient and the q's after a natural step, compiled already; one thread, double."""
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count=1"
    )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    jax.config.update("jax_enable_x64", True)

    def project(X: Any, Z: Any, s2_k: Any, ell: Any, mean: Any, S: Any) -> tuple[Any, Any, Any]:
        def kernel(A: Any, B: Any) -> Any:
            A, B = A / ell, B / ell
            squares = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * A @ B.T
            return s2_k * jnp.exp(-0.5 * squares)

        L = jnp.linalg.cholesky(kernel(Z, Z) + jitter * s2_k * jnp.eye(len(Z)))
        V = solve_triangular(L, kernel(Z, X), lower=True)
        s2 = s2_k * (1.0 + jitter) - (V * V).sum(0) + (V * (S @ V)).sum(0)
        return V.T @ mean, s2, 0.5 * (jnp.trace(S) + mean @ mean - len(Z))

    def bound(p: dict[str, Any], q: dict[str, Any], X: Any, y: Any) -> Any:
        """All but the log determinants of the q's, whose derivatives are known."""
        mu_f, s2_f, kl_f = project(X, p["Xm"], p["s2_kf"], p["ell_f"], *q["f"])
        mu_g, s2_g, kl_g = project(X, p["Xu"], p["s2_kg"], p["ell_g"], *q["g"])
        log_r = p["mu0"] + mu_g - 0.5 * s2_g
        rows = jnp.log(2.0 * jnp.pi) + log_r + 0.5 * s2_g + jnp.exp(-log_r) * ((y - mu_f) ** 2 + s2_f)
        return -0.5 * n / len(y) * rows.sum() - kl_f - kl_g

    def step(p: dict[str, Any], naturals: dict[str, Any], X: Any, y: Any) -> Any:
        q, logdets = {}, 0.0
        for letter, (theta1, Lam) in naturals.items():
            L = jnp.linalg.cholesky(Lam)
            root = solve_triangular(L, jnp.eye(len(L)), lower=True)
            S = root.T @ root
            q[letter] = (S @ theta1, S)
            logdets += jnp.log(jnp.diag(L)).sum()
        value, (grads, dq) = jax.value_and_grad(bound, argnums=(0, 1))(p, q, X, y)
        moved = {}
        for letter, (theta1, Lam) in naturals.items():
            dmean, dS = dq[letter]
            dS = 0.5 * (dS + dS.T) + 0.5 * Lam
            moved[letter] = (theta1 + gamma * (dmean - 2.0 * dS @ q[letter][0]), Lam - 2.0 * gamma * dS)
        return value - logdets, grads, moved

    compiled = jax.jit(step)
    arguments = jax.tree.map(jnp.asarray, (values, q, X, y))

    def call() -> tuple[float, dict[str, Any], dict[str, Any]]:
        value, grads, moved = jax.block_until_ready(compiled(*arguments))
        return float(value), grads, moved

    call()
    return call
