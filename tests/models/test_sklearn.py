"""scikit-learn's own checks, every one of them, on every model (at a size for tests)."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hgpbench.models import MODELS
from tests.models.zoo import make


@parametrize_with_checks([make(name, max_iter=10) for name in MODELS])
def test_scikit_learn_check(estimator, check):
    check(estimator)
