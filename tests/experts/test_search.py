"""Line searches over all parameters of all experts."""

import numpy as np
import pytest

from hgpbench.experts.contribution import total
from hgpbench.experts.owner import Owner
from hgpbench.experts.pool import Each, Serial
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
