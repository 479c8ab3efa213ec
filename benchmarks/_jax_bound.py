"""F_V in JAX, jitted, value and gradient by autodiff: a yardstick for bound.py, never a dependency."""

import os
from collections.abc import Callable
from typing import Any

Evaluation = Callable[[], tuple[float, dict[str, Any]]]


def prepare(values: dict[str, Any], X: Any, y: Any, jitter: float) -> Evaluation:
    """A call that evaluates bound and gradient once, compiled already; one thread, double precision."""
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count=1"
    )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    jax.config.update("jax_enable_x64", True)

    def project(X: Any, Z: Any, s2_k: Any, ell: Any) -> tuple[Any, Any]:
        def kernel(A: Any, B: Any) -> Any:
            A, B = A / ell, B / ell
            squares = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * A @ B.T
            return s2_k * jnp.exp(-0.5 * squares)

        L = jnp.linalg.cholesky(kernel(Z, Z) + jitter * s2_k * jnp.eye(len(Z)))
        return solve_triangular(L, kernel(Z, X), lower=True), s2_k * (1.0 + jitter)

    def bound(p: dict[str, Any]) -> Any:
        V, kd = project(X, p["Xu"], p["s2_kg"], p["ell_g"])
        B = jnp.eye(len(V)) + (V * p["lam"]) @ V.T
        LB = jnp.linalg.cholesky(B)
        C = solve_triangular(LB, V, lower=True)
        w = V @ (p["lam"] - 0.5)
        s2_g = kd - (V * V).sum(0) + (C * C).sum(0)
        LBinv = solve_triangular(LB, jnp.eye(len(V)), lower=True)
        kl = 0.5 * ((LBinv**2).sum() + w @ w - len(V)) + jnp.log(jnp.diag(LB)).sum()
        log_r = p["mu0"] + V.T @ w - 0.5 * s2_g

        V, kd = project(X, p["Xm"], p["s2_kf"], p["ell_f"])
        rho = jnp.exp(-log_r)
        LB = jnp.linalg.cholesky(jnp.eye(len(V)) + (V * rho) @ V.T)
        c = solve_triangular(LB, V @ (rho * y), lower=True)
        log_term = (
            len(y) * jnp.log(2.0 * jnp.pi)
            + log_r.sum()
            + 2.0 * jnp.log(jnp.diag(LB)).sum()
            + rho @ (y * y)
            - c @ c
        )
        return -0.5 * log_term - 0.5 * rho @ (kd - (V * V).sum(0)) - 0.25 * s2_g.sum() - kl

    compiled = jax.jit(jax.value_and_grad(bound))
    X, y = jnp.asarray(X), jnp.asarray(y)
    parameters = {name: jnp.asarray(value) for name, value in values.items()}

    def evaluate() -> tuple[float, dict[str, Any]]:
        value, grads = compiled(parameters)
        jax.block_until_ready(grads)
        return float(value), grads

    evaluate()
    return evaluate
