"""Kernels by name, and the one that left-out rows choose."""

import numpy as np
import pytest

from hgpbench.errors import FitError
from hgpbench.fitting.kernels import best, check_kernels, choose
from hgpbench.fitting.left_out import LeftOut
from hgpbench.gp.kernels import KERNELS
from hgpbench.models import DVSHGP, VSGP, EHSoD, ExactGP, Passes


def rough(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A random walk: Matern 1/2 is its kernel, all but."""
    rng = np.random.default_rng(5)
    X = np.linspace(0.0, 1.0, n)[:, None]
    return X, np.cumsum(rng.normal(size=n)) / np.sqrt(n)


def smooth(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.linspace(0.0, 1.0, n)[:, None]
    return X, np.sin(9.0 * X[:, 0]) + 1e-3 * np.random.default_rng(0).normal(size=n)


def test_left_out_rows_tell_rough_from_smooth():
    on_rough = ExactGP(kernel="auto", random_state=0).fit(*rough(200))
    assert on_rough.kernel_ in ("matern12", "matern32")
    assert on_rough.kernel_densities_["kernel"].keys() == KERNELS.keys()
    on_smooth = VSGP(n_inducing=20, kernel="auto", random_state=0).fit(*smooth(150))
    assert on_smooth.kernel_ in ("se", "matern52")
    assert on_smooth.kernel_densities_["kernel"]["matern12"] < on_smooth.kernel_densities_["kernel"]["se"]


def test_a_kernel_that_is_named_is_used_without_a_trial():
    model = ExactGP(kernel="matern52").fit(*smooth(30))
    assert (model.kernel_, model.kernel_densities_) == ("matern52", {})


def test_the_fit_with_auto_is_that_with_the_kernel_chosen():
    X, y = rough(120)
    chosen = EHSoD(kernel="auto", noise_kernel="auto", random_state=0).fit(X, y)
    named = EHSoD(kernel=chosen.kernel_, noise_kernel=chosen.noise_kernel_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(chosen.predict(X), named.predict(X))
    assert chosen.kernel_densities_.keys() == {"kernel", "noise_kernel"}


def test_a_model_of_many_experts_has_as_many_rows_to_an_expert_when_it_tries():
    assert DVSHGP(n_experts=40, n_inducing_f=30).smaller(40_000, 10_000) == {
        **{"n_experts": 10, "n_inducing_f": 30},
        "optimizer": Passes(n_passes=4),
    }
    # As many points as the fit to all rows will have, not as so few rows could afford.
    found = DVSHGP(optimizer="natural(guard=false)").smaller(300_000, 18_000)
    assert found == {"n_experts": 36, "n_inducing_f": 100, "optimizer": Passes(n_passes=4, guard=False)}
    assert DVSHGP(n_experts=2, optimizer="natural(n_passes=7)").smaller(1000, 100) == {
        **{"n_experts": 1, "n_inducing_f": 500},
    }


def test_a_committee_s_kernel_is_chosen_by_more_rows_than_others():
    X, y = rough(30_000)
    found = LeftOut.draw(X, y, DVSHGP.trial_rows, 0)
    assert (len(found.kept), len(found.held)) == (18_000, 2_000)
    assert not set(found.kept) & set(found.held)
    few = LeftOut.draw(X, y, VSGP.trial_rows, 0)
    assert (len(few.kept), len(few.held)) == (3_000, 1_000)


def test_a_kernel_whose_fit_fails_is_not_chosen(monkeypatch):
    fit = ExactGP.fit

    def failing(self, X, y):
        if self.kernel == "se":
            raise FitError("no")
        return fit(self, X, y)

    monkeypatch.setattr(ExactGP, "fit", failing)
    densities = choose(ExactGP(), {"kernel": "auto"}, *smooth(60), seed=0)["kernel"]
    assert densities["se"] == -np.inf
    assert best(densities) != "se"


def test_a_wrong_name_is_refused_with_those_allowed():
    with pytest.raises(ValueError, match=r"noise_kernel='rbf' is not allowed.*'matern52', 'auto'"):
        check_kernels(kernel="auto", noise_kernel="rbf")
