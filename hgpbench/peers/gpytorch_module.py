"""The module that GPyTorch's models fit; imported with torch only."""

import math

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy

from hgpbench.prediction import Array

FIRST_NOISE = 0.25  # of the variance of y


class Chained(gpytorch.models.ApproximateGP):
    """One latent GP, f, or two, f and the log noise variance g, as a batch; in double precision."""

    def __init__(self, inducing: torch.Tensor, latents: int) -> None:
        m, d = inducing.shape
        batch = torch.Size([latents])
        points = inducing.repeat(latents, 1, 1)
        q = CholeskyVariationalDistribution(m, batch_shape=batch)
        super().__init__(VariationalStrategy(self, points, q, learn_inducing_locations=True))
        self.latents = latents
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=d, batch_shape=batch), batch_shape=batch
        )
        self.register_parameter("log_noise", torch.nn.Parameter(torch.tensor(math.log(FIRST_NOISE))))
        self.double()
        with torch.no_grad():
            self.covar_module.base_kernel.lengthscale = 0.5 * math.sqrt(d)
            self.mean_module.constant.copy_(torch.tensor([0.0, math.log(FIRST_NOISE)][:latents]))

    def forward(self, X: torch.Tensor) -> MultivariateNormal:
        """The prior at the rows of ``X``, one for each latent GP."""
        return MultivariateNormal(self.mean_module(X), self.covar_module(X))

    def bound(self, X: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        """The evidence lower bound by a mini-batch, a row."""
        return self._expected(X, y).mean() - self.variational_strategy.kl_divergence().sum() / n

    def loss(self, X: torch.Tensor, y: torch.Tensor) -> float:
        """Minus the mean expected log density of left-out rows."""
        self.eval()
        with torch.no_grad():
            return -float(self._expected(X, y).mean())

    def moments(self, X: torch.Tensor) -> tuple[Array, Array]:
        """Means and variances (n, latents)."""
        self.eval()
        with torch.no_grad():
            q = self(X)
            return np.asarray(q.mean.T.numpy()), np.asarray(q.variance.T.numpy())

    def noise_var(self) -> float:
        """The constant noise variance; of no meaning where g has its own GP."""
        return float(self.log_noise.detach().exp())

    def _expected(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """E log N(y | f, e^g), in closed form: the mean of e^-g is e^(s2/2 - m)."""
        q = self(X)
        square = (y - q.mean[0]) ** 2 + q.variance[0]
        if self.latents == 1:
            g, weight = self.log_noise, torch.exp(-self.log_noise)
        else:
            g, weight = q.mean[1], torch.exp(0.5 * q.variance[1] - q.mean[1])
        return -0.5 * (math.log(2 * math.pi) + g + weight * square)
