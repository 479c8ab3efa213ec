"""F_V in torch, value and gradient by autograd: a yardstick for bound.py, never a dependency."""

from collections.abc import Callable
from typing import Any

Evaluation = Callable[[], tuple[float, dict[str, Any]]]


def prepare(values: dict[str, Any], X: Any, y: Any, jitter: float) -> Evaluation:
    """A call that evaluates bound and gradient once; one thread, double precision."""
    import torch
    from torch.linalg import solve_triangular

    torch.set_num_threads(1)

    def project(X: Any, Z: Any, s2_k: Any, ell: Any) -> tuple[Any, Any]:
        def kernel(A: Any, B: Any) -> Any:
            A, B = A / ell, B / ell
            squares = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * A @ B.T
            return s2_k * torch.exp(-0.5 * squares)

        L = torch.linalg.cholesky(kernel(Z, Z) + jitter * s2_k * torch.eye(len(Z), dtype=X.dtype))
        return solve_triangular(L, kernel(Z, X), upper=False), s2_k * (1.0 + jitter)

    def bound(p: dict[str, Any]) -> Any:
        V, kd = project(X, p["Xu"], p["s2_kg"], p["ell_g"])
        eye = torch.eye(len(V), dtype=X.dtype)
        LB = torch.linalg.cholesky(eye + (V * p["lam"]) @ V.T)
        C = solve_triangular(LB, V, upper=False)
        w = V @ (p["lam"] - 0.5)
        s2_g = kd - (V * V).sum(0) + (C * C).sum(0)
        LBinv = solve_triangular(LB, eye, upper=False)
        kl = 0.5 * ((LBinv**2).sum() + w @ w - len(V)) + torch.log(torch.diag(LB)).sum()
        log_r = p["mu0"] + V.T @ w - 0.5 * s2_g

        V, kd = project(X, p["Xm"], p["s2_kf"], p["ell_f"])
        rho = torch.exp(-log_r)
        LB = torch.linalg.cholesky(torch.eye(len(V), dtype=X.dtype) + (V * rho) @ V.T)
        c = solve_triangular(LB, (V @ (rho * y))[:, None], upper=False)[:, 0]
        log_term = len(y) * 1.8378770664093453 + log_r.sum() + 2.0 * torch.log(torch.diag(LB)).sum()
        quadratic = rho @ (y * y) - c @ c
        trace = rho @ (kd - (V * V).sum(0))
        return -0.5 * (log_term + quadratic + trace) - 0.25 * s2_g.sum() - kl

    X, y = torch.as_tensor(X), torch.as_tensor(y)
    parameters = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}

    def evaluate() -> tuple[float, dict[str, Any]]:
        value = bound(parameters)
        grads = torch.autograd.grad(value, list(parameters.values()))
        return value.item(), {name: grad.numpy() for name, grad in zip(parameters, grads, strict=True)}

    evaluate()
    return evaluate


def gemm(n: int, m: int) -> Callable[[], object]:
    """The (m, m) by (m, n) product with torch's own BLAS, which need not be ours."""
    import torch

    torch.set_num_threads(1)
    A, B, C = (torch.ones(shape, dtype=torch.float64) for shape in ((m, m), (m, n), (m, n)))
    return lambda: torch.mm(A, B, out=C)
