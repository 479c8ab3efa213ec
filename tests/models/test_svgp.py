"""SVGP: it reaches VSGP, in whatever batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.models import SVGP, VSGP
from tests.models.zoo import draw

SIZE = {"n_inducing": 12, "random_state": 0}


@pytest.fixture(scope="module")
def reference() -> VSGP:
    return VSGP(**SIZE, max_iter=500).fit(*draw(150))


def test_after_convergence_its_bound_is_that_of_vsgp(reference):
    model = SVGP(**SIZE, max_iter=600).fit(*draw(150))
    assert reference.elbo_ - 1.0 < model.elbo_ < reference.elbo_ + 0.01
    Xs, _ = draw(50, seed=1)
    assert_allclose(model.predict(Xs), reference.predict(Xs), atol=0.1)


def test_batches_come_close_and_cooling_brings_them_closer(reference):
    ends = {}
    for cooling in (0.0, 0.5):
        models = [
            SVGP(**SIZE | {"random_state": seed}, batch_size=30, max_iter=400, cooling=cooling).fit(
                *draw(150)
            )
            for seed in range(3)
        ]
        ends[cooling] = np.mean([model.elbo_ for model in models])
    assert reference.elbo_ - 5.0 < ends[0.5]
    assert ends[0.0] < ends[0.5]


def test_the_noise_is_one_number(reference):
    model = SVGP(**SIZE, max_iter=20).fit(*draw(150))
    prediction = model.predict_dist(draw(9, seed=2)[0])
    assert not prediction.is_mixture
    assert_allclose(prediction.noise_var, model.noise_var_)
