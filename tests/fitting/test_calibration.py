"""Level and strength of a log noise process: found where they are known."""

import numpy as np
import pytest

from hgpbench.fitting.calibration import calibrated


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_the_level_and_the_strength_of_the_residuals_are_found(strength: float) -> None:
    rng = np.random.default_rng(0)
    n = 4000
    process, f_var = 2.0 * rng.normal(size=n), rng.uniform(0.01, 0.05, size=n)
    e = np.sqrt(f_var + np.exp(-1.5 + strength * process)) * rng.normal(size=n)
    belief = calibrated(e, f_var, process, np.full(n, 1e-6), level=0.3)
    assert belief.strength == strength
    assert belief.level == pytest.approx(-1.5, abs=0.1)


def test_a_process_that_knows_nothing_is_not_believed() -> None:
    rng = np.random.default_rng(1)
    process, e = rng.normal(size=500), rng.normal(size=500)
    assert calibrated(e, np.zeros(500), process, np.ones(500), level=0.0).strength <= 0.25
