"""scikit-learn's own checks, every one of them, on every model."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hgpbench.models import MODELS


@parametrize_with_checks([model() for model in MODELS.values()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
