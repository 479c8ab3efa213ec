"""The trivial predictor scores SMSE one and MSLL zero."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.models import Mean
from tests.models.zoo import draw


def test_it_predicts_the_two_training_moments():
    X, y = draw(50)
    Xs, _ = draw(7, seed=1)
    prediction = Mean().fit(X, y).predict_dist(Xs)
    assert_allclose(prediction.mean, y.mean(), rtol=1e-12)
    assert_allclose(prediction.var, y.var(), rtol=1e-12)


def test_its_log_loss_is_the_one_that_the_msll_subtracts():
    X, y = draw(50)
    Xs, ys = draw(30, seed=1)
    loss = -Mean().fit(X, y).predict_dist(Xs).logpdf(ys)
    trivial = 0.5 * np.log(2 * np.pi * y.var()) + (ys - y.mean()) ** 2 / (2 * y.var())
    assert np.mean(loss - trivial) == pytest.approx(0.0, abs=1e-12)
