"""One SVSHGP step in torch, derivatives by autograd: a yardstick for stochastic.py, never a dependency."""

from collections.abc import Callable
from typing import Any

Step = Callable[[], tuple[float, dict[str, Any], dict[str, Any]]]


def prepare(
    values: dict[str, Any], q: dict[str, Any], X: Any, y: Any, n: int, gamma: float, jitter: float
) -> Step:
    """A call for bound, gradient and the q's after a natural step; one thread, double precision."""
    import torch
    from torch.linalg import solve_triangular

    torch.set_num_threads(1)

    def project(X: Any, Z: Any, s2_k: Any, ell: Any, mean: Any, S: Any) -> tuple[Any, Any, Any]:
        def kernel(A: Any, B: Any) -> Any:
            A, B = A / ell, B / ell
            squares = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * A @ B.T
            return s2_k * torch.exp(-0.5 * squares)

        L = torch.linalg.cholesky(kernel(Z, Z) + jitter * s2_k * torch.eye(len(Z), dtype=X.dtype))
        V = solve_triangular(L, kernel(Z, X), upper=False)
        s2 = s2_k * (1.0 + jitter) - (V * V).sum(0) + (V * (S @ V)).sum(0)
        return V.T @ mean, s2, 0.5 * (torch.trace(S) + mean @ mean - len(Z))

    def bound(p: dict[str, Any], q: dict[str, Any]) -> Any:
        """All but the log determinants of the q's, whose derivatives are known."""
        mu_f, s2_f, kl_f = project(X, p["Xm"], p["s2_kf"], p["ell_f"], *q["f"])
        mu_g, s2_g, kl_g = project(X, p["Xu"], p["s2_kg"], p["ell_g"], *q["g"])
        log_r = p["mu0"] + mu_g - 0.5 * s2_g
        rows = 1.8378770664093453 + log_r + 0.5 * s2_g + torch.exp(-log_r) * ((y - mu_f) ** 2 + s2_f)
        return -0.5 * n / len(y) * rows.sum() - kl_f - kl_g

    X, y = torch.as_tensor(X), torch.as_tensor(y)
    p = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    naturals = {letter: tuple(map(torch.as_tensor, pair)) for letter, pair in q.items()}

    def call() -> tuple[float, dict[str, Any], dict[str, Any]]:
        moments, logdets = {}, 0.0
        for letter, (theta1, Lam) in naturals.items():
            L = torch.linalg.cholesky(Lam)
            S = torch.cholesky_inverse(L)
            moments[letter] = ((S @ theta1).requires_grad_(), S.requires_grad_())
            logdets += torch.log(torch.diag(L)).sum().item()
        value = bound(p, moments)
        leaves = [*p.values(), *(leaf for pair in moments.values() for leaf in pair)]
        grads = torch.autograd.grad(value, leaves)
        moved = {}
        for k, (letter, (theta1, Lam)) in enumerate(naturals.items()):
            dmean, dS = grads[len(p) + 2 * k : len(p) + 2 * k + 2]
            dS = 0.5 * (dS + dS.T) + 0.5 * Lam
            mean = moments[letter][0].detach()
            moved[letter] = (theta1 + gamma * (dmean - 2.0 * dS @ mean), Lam - 2.0 * gamma * dS)
        return value.item() - logdets, dict(zip(p, grads[: len(p)], strict=True)), moved

    call()
    return call
