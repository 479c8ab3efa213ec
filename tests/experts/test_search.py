"""Line searches over all parameters of all experts."""

import numpy as np
import pytest

from hgpbench.experts.contribution import total
from hgpbench.experts.optimizers import Paper
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Each, Serial
from hgpbench.gp import vshgp
from hgpbench.models import DVSHGP
from tests.models.zoo import draw

SMALL = {"n_experts": 4, "n_inducing_f": 12, "n_inducing_g": 8, "random_state": 0}


def test_the_bound_of_a_line_search_is_that_of_the_experts_it_leaves() -> None:
    X, y = draw(120)
    model = DVSHGP(**SMALL, optimizer="paper(max_iter=4)").fit(X, y)
    experts = model._experts
    pool = Serial(experts.rows, Owner)
    pool.ask(Owner.restore, range(4), Each(experts.states))
    summed = total(pool.ask(Owner.bound, range(4), experts.flat))
    assert model.elbo_ == pytest.approx(summed.value - 120 * np.log(y.std()), rel=1e-10)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("lam", [0.1, 2.0])
def test_a_search_begins_at_the_lambda_that_it_is_given(lam: float, stages: int) -> None:
    X, y = draw(30)  # each row is an inducing point, so that where it begins is known
    recipe = Paper(max_iter=2, first_lambda=lam, stages=stages)
    model = DVSHGP(n_experts=1, n_inducing_f=30, n_inducing_g=30, optimizer=recipe, standardize=False)
    model.fit(X, y)
    kernels = {"s2_kf": 1.0, "ell_f": 0.5 * X.std(axis=0), "s2_kg": 1.0, "ell_g": 0.2 * X.std(axis=0)}
    local = {"Xm": X, "Xu": X, "lam": np.full(30, lam), "mu0": np.log(0.25)}
    values = {name: np.asarray(value) for name, value in (kernels | local).items()}
    first = vshgp.bound(values, X, y, vshgp.Workspace(30, 30, 30))
    assert model.trace_[0, 2] == pytest.approx(first.value, rel=1e-8)


def test_one_stage_moves_everything_at_once() -> None:
    X, y = draw(60)
    start = 0.5 * X.std(axis=0)
    once = DVSHGP(**SMALL, optimizer="paper(max_iter=1, stages=1)", standardize=False).fit(X, y)
    assert once.n_iter_ == 1
    assert not np.allclose(once.lengthscales_f_, start)
    assert not np.allclose(once.lam_, 0.5)
