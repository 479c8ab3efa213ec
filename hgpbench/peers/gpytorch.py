"""GPyTorch's stochastic variational GPs: with constant noise, and with a second GP for its logarithm."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hgpbench.fitting.checks import check_at_least
from hgpbench.models.base import Array, Callback
from hgpbench.peers.base import LEAST_VARIANCE, Peer, set_apart
from hgpbench.prediction import Prediction

CHECKED = 20  # times that the rows set apart are looked at
PATIENCE = 4  # looks without a gain
STOPPING_ROWS = 2_000  # set apart, at most
CHUNK = 10_000  # rows predicted at a time


class GPyTorch(Peer):
    """A stochastic variational GP with constant noise.

    Whitened q(u) with a full covariance, Matern 3/2 kernel with a lengthscale for each input, Adam with a
    cosine schedule on the variational and all other parameters; a tenth of the rows, at most 2,000, tells
    when to stop.

    Cost: O(b m^2 + m^3) a mini-batch of b rows with m inducing points; O(m^2) a test row.

    Parameters
    ----------
    n_inducing : int, default=300
        Inducing points m.
    batch_size : int, default=512
        Rows b of a mini-batch.
    max_iter : int, default=4000
        Most mini-batches.
    learning_rate : float, default=0.01
        First step of Adam.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the rows set apart, of the mini-batches and of the first inducing points.

    Attributes
    ----------
    n_iter_ : int
        Mini-batches taken.
    """

    reference = "Gardner et al. (2018), GPyTorch; Hensman, Matthews and Ghahramani (2015)"
    needs = ("torch", "gpytorch")
    extra = "torch"
    latents = 1  # GPs that share the inducing points: f, and g where there is one

    def __init__(
        self,
        n_inducing: int = 300,
        batch_size: int = 512,
        max_iter: int = 4000,
        learning_rate: float = 0.01,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least("n_inducing", self.n_inducing, 1)
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_iter", self.max_iter, 1)
        check_at_least("learning_rate", self.learning_rate, 0.0, float)
        check_at_least("n_jobs", self.n_jobs, 1)

    def _learn(self, X: Array, y: Array, callback: Callback | None) -> None:
        import torch

        inputs, target = self._scaling.inputs(X), self._scaling.target(y)
        rng = np.random.default_rng(self.random_state)
        share = min(0.1, STOPPING_ROWS / len(y))
        train, rest = set_apart(len(y), rng, share)
        with _torch(self.n_jobs, self.random_state or 0):
            self._model = _model(inputs[train], self.n_inducing, self.latents, rng)
            optimizer = torch.optim.Adam(self._model.parameters(), lr=self.learning_rate)
            self.n_iter_ = self._descend(
                optimizer, *map(torch.as_tensor, (inputs[train], target[train], inputs[rest], target[rest]))
            )

    def _descend(self, optimizer: Any, X: Any, y: Any, X_rest: Any, y_rest: Any) -> int:
        """Steps until the rows set apart gain no more; the best state stays."""
        import torch

        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_iter)
        best, state, idle, step = np.inf, self._model.state_dict(), 0, 0
        every = max(1, self.max_iter // CHECKED)
        for step, rows in enumerate(_batches(len(y), self.batch_size, self.max_iter), start=1):
            self._model.train()
            optimizer.zero_grad()
            (-self._model.bound(X[rows], y[rows], len(y))).backward()
            optimizer.step()
            schedule.step()
            if step % every == 0 or step == self.max_iter:
                found = self._model.loss(X_rest, y_rest)
                idle = 0 if found < best else idle + 1
                if found < best:
                    best = found
                    state = {name: value.clone() for name, value in self._model.state_dict().items()}
                if idle == PATIENCE:
                    break
        self._model.load_state_dict(state)
        return step

    def _moments(self, X: Array) -> Prediction:
        import torch

        with _torch(self.n_jobs, 0):
            parts = [self._model.moments(torch.as_tensor(X[i : i + CHUNK])) for i in range(0, len(X), CHUNK)]
            noise = self._model.noise_var()
        mean, var = (np.concatenate(each) for each in zip(*parts, strict=True))
        f_var = np.maximum(var[:, 0], 0.0)
        if self.latents == 1:
            return Prediction.gaussian(mean[:, 0], f_var, max(noise, LEAST_VARIANCE))
        return Prediction.mixture(mean[:, 0], f_var, mean[:, 1], np.maximum(var[:, 1], 0.0))


class GPyTorchHet(GPyTorch):
    """A stochastic variational GP for f and a second one for the log noise variance g.

    As ``gpytorch``, with two independent GPs; the expected log likelihood is in closed form.

    Cost: O(b m^2 + m^3) a mini-batch of b rows with m inducing points each; O(m^2) a test row.

    Parameters
    ----------
    n_inducing : int, default=300
        Inducing points m of each GP.
    batch_size : int, default=512
        Rows b of a mini-batch.
    max_iter : int, default=4000
        Most mini-batches.
    learning_rate : float, default=0.01
        First step of Adam.
    n_jobs : int, default=1
        Threads.
    random_state : int or None, default=None
        Seed of the rows set apart, of the mini-batches and of the first inducing points.

    Attributes
    ----------
    n_iter_ : int
        Mini-batches taken.
    """

    reference = "Gardner et al. (2018), GPyTorch; Saul, Hensman, Vehtari and Lawrence (2016), Chained GPs"
    latents = 2


def _batches(n: int, size: int, count: int) -> Iterator[Any]:
    """So many mini-batches, each row once in every pass."""
    import torch

    while count > 0:
        for rows in torch.randperm(n).split(size)[:count]:
            count -= 1
            yield rows


@contextmanager
def _torch(threads: int, seed: int) -> Iterator[None]:
    """So many threads, and random numbers of our own; afterwards all is as it was."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


def _model(X: Array, n_inducing: int, latents: int, rng: np.random.Generator) -> Any:
    """The module, its inducing points at rows drawn at random."""
    import torch

    from hgpbench.peers.gpytorch_module import Chained

    places = rng.choice(len(X), min(n_inducing, len(X)), replace=False)
    return Chained(torch.as_tensor(X[np.sort(places)]), latents)
