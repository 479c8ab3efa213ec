"""The paper's Appendix B, errata applied, as an independent derivation of the gradient of F_V.

Everything here is dense and in the paper's notation; nothing is shared with the package.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.gp import vshgp
from hgpbench.la import JITTER
from tests.gp.reference import dense_q_g, draw, kernel, prior, relative_error

X, Y, VALUES = draw(seed=7)
GRADS = vshgp.bound(VALUES, X, Y, vshgp.Workspace(len(X), len(VALUES["Xm"]), len(VALUES["Xu"]))).grads
LAM = VALUES["lam"]
ONE = np.ones(len(X))

Kmm, Knm, KD_F = prior(X, VALUES["Xm"], VALUES["s2_kf"], VALUES["ell_f"], JITTER)
Kuu, Knu, KD_G = prior(X, VALUES["Xu"], VALUES["s2_kg"], VALUES["ell_g"], JITTER)
MU_U, S_U, MU_G, S2_G, _ = dense_q_g(VALUES, X, JITTER)
R = np.exp(MU_G - 0.5 * S2_G)
Onm, Onu = Knm @ np.linalg.inv(Kmm), Knu @ np.linalg.inv(Kuu)
Q_F, Q_G = Onm @ Knm.T, Onu @ Knu.T
SIGMA_Y_INV = np.linalg.inv(Q_F + np.diag(R))
BETA = SIGMA_Y_INV @ Y
KLAM_INV = np.linalg.inv(Kuu + Knu.T @ (LAM[:, None] * Knu))  # erratum 1
LAM_A = (BETA**2 - np.diag(SIGMA_Y_INV)) * R
LAM_B = (KD_F - np.diag(Q_F)) / R
LAM_AB = LAM_A + LAM_B
GAMMA_U = np.linalg.solve(Kuu, MU_U - float(VALUES["mu0"]))
Kuu_INV = np.linalg.inv(Kuu)
V_UU = Kuu_INV - np.outer(GAMMA_U, GAMMA_U) - Kuu_INV @ S_U @ Kuu_INV
FRONT = np.outer(BETA, BETA) - SIGMA_Y_INV + np.diag(1.0 / R)


def kernel_derivatives(Z: np.ndarray, s2_k: float, ell: np.ndarray):
    """dKzz, dKnz and dknn by each of (s2_k, ell_1, ..., ell_d)."""
    Kzz, Knz = kernel(Z, Z, s2_k, ell), kernel(X, Z, s2_k, ell)
    nugget = JITTER * np.eye(len(Z))
    yield Kzz / s2_k + nugget, Knz / s2_k, 1.0 + JITTER
    for i, width in enumerate(ell):
        stretch = np.square(Z[:, None, i] - Z[:, i]) / width**3
        yield Kzz * stretch, Knz * np.square(X[:, None, i] - Z[:, i]) / width**3, 0.0


def inducing_derivatives(Z: np.ndarray, s2_k: float, ell: np.ndarray):
    """dKzz and dKnz by each coordinate of each inducing point, in the order of Z.ravel()."""
    Kzz, Knz = kernel(Z, Z, s2_k, ell), kernel(X, Z, s2_k, ell)
    for j, i in np.ndindex(Z.shape):
        dKnz, dKzz = np.zeros_like(Knz), np.zeros_like(Kzz)
        dKnz[:, j] = Knz[:, j] * (X[:, i] - Z[j, i]) / ell[i] ** 2
        side = Kzz[:, j] * (Z[:, i] - Z[j, i]) / ell[i] ** 2
        dKzz[:, j] += side
        dKzz[j, :] += side
        yield dKzz, dKnz


def test_log_lambda():
    A_nn = np.square(Knu @ KLAM_INV @ Knu.T)
    expected = LAM * (
        0.5 * (Q_G + 0.5 * A_nn) @ LAM_AB + 0.25 * A_nn @ ONE - 0.5 * A_nn @ LAM - MU_G + float(VALUES["mu0"])
    )
    assert relative_error(LAM * GRADS["lam"], expected) < 1e-11


def test_mu0():
    assert float(GRADS["mu0"]) == pytest.approx(0.5 * LAM_AB.sum(), rel=1e-11)


def test_kernel_of_f():
    expected = []
    for dKmm, dKnm, dknn in kernel_derivatives(VALUES["Xm"], VALUES["s2_kf"], VALUES["ell_f"]):
        dQ = dKnm @ Onm.T + Onm @ dKnm.T - Onm @ dKmm @ Onm.T
        expected.append(0.5 * (np.sum(FRONT * dQ) - dknn * np.sum(1.0 / R)))
    assert_allclose([GRADS["s2_kf"], *GRADS["ell_f"]], expected, rtol=1e-9)


def test_kernel_of_g():
    expected = []
    for dKuu, dKnu, dknn in kernel_derivatives(VALUES["Xu"], VALUES["s2_kg"], VALUES["ell_g"]):
        dKLam = dKuu + dKnu.T @ (LAM[:, None] * Knu) + Knu.T @ (LAM[:, None] * dKnu)
        dQ = dKnu @ Onu.T + Onu @ dKnu.T - Onu @ dKuu @ Onu.T
        C = Knu @ KLAM_INV
        dS_g = dknn - np.diag(dQ) + np.diag(2 * dKnu @ C.T - C @ dKLam @ C.T)
        D = Kuu @ KLAM_INV
        dS_u = dKuu @ D.T + D @ dKuu - D @ dKLam @ D.T
        dmu_u = dKnu.T @ (LAM - 0.5)
        likelihood = 0.5 * (dQ @ (LAM - 0.5) @ LAM_AB - 0.5 * (LAM_AB + 1.0) @ dS_g)
        prior_term = -0.5 * (
            np.sum(V_UU * dKuu) - np.sum((Onu.T @ (LAM[:, None] * Onu)) * dS_u) + 2.0 * dmu_u @ GAMMA_U
        )
        expected.append(likelihood + prior_term)
    assert_allclose([GRADS["s2_kg"], *GRADS["ell_g"]], expected, rtol=1e-9)


def test_inducing_points_of_f():
    A_mn = 0.5 * Onm.T @ FRONT
    A_mm = -A_mn @ Onm
    expected = [
        2.0 * np.sum(dKnm.T * A_mn) + np.sum(dKmm.T * A_mm)
        for dKmm, dKnm in inducing_derivatives(VALUES["Xm"], VALUES["s2_kf"], VALUES["ell_f"])
    ]
    assert relative_error(GRADS["Xm"].ravel(), np.array(expected)) < 1e-10


def test_inducing_points_of_g():
    O_lam = Knu @ KLAM_INV
    centred = LAM - 0.5
    H = O_lam.T @ ((LAM_AB + 1.0)[:, None] * O_lam)
    inner = Kuu_INV - np.linalg.inv(S_U)
    J = KLAM_INV @ Kuu @ inner @ Kuu @ KLAM_INV
    P = KLAM_INV @ Kuu @ inner
    T1 = 0.5 * np.outer(Onu.T @ centred, LAM_AB)
    T2 = 0.25 * (H @ Knu.T * LAM - (O_lam - Onu).T * (LAM_AB + 1.0))  # erratum 5
    T3 = 0.5 * (J @ Knu.T * LAM - np.outer(GAMMA_U, centred))
    A_un = T1 + T2 + T3
    A_nu = 0.5 * np.outer(centred, LAM_AB @ Onu) + T2.T + T3.T
    A_uu = -T1 @ Onu - 0.25 * (Onu.T @ ((LAM_AB + 1.0)[:, None] * Onu) - H) - 0.5 * (P + P.T + V_UU - J)
    expected = [
        np.sum(dKnu.T * A_un) + np.sum(A_nu * dKnu) + np.sum(dKuu.T * A_uu)
        for dKuu, dKnu in inducing_derivatives(VALUES["Xu"], VALUES["s2_kg"], VALUES["ell_g"])
    ]
    assert relative_error(GRADS["Xu"].ravel(), np.array(expected)) < 1e-10
