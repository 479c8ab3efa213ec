"""The reserve with which g is believed: what draws were made with is found, and seen rows are told apart."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hgpbench.fitting.reserve import Kept, Reserve, Reserves, _posterior, learned

TRUE = Reserve(level=-0.7, width=0.4, share=0.06, rare=25.0)


def drawn(reserve: Reserve, rng: np.random.Generator, n: int, *, seen: bool = False) -> Kept:
    """Rows whose residuals are as the reserve says."""
    g_mean, g_var, v = rng.normal(size=n), rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    g = g_mean + reserve.level + np.sqrt(reserve.width * g_var) * rng.normal(size=n)
    scale = np.where(rng.random(n) < reserve.share, reserve.rare / v, np.exp(g))
    return Kept(np.sqrt(scale) * rng.normal(size=n), g_mean, g_var, v, np.full(n, seen))


def test_what_rows_were_drawn_with_is_found() -> None:
    found = learned(drawn(TRUE, np.random.default_rng(0), 10_000))
    assert found.new == found.seen
    assert_allclose(found.new, TRUE, rtol=0.25)
    assert found.new.level == pytest.approx(TRUE.level, abs=0.1)


def test_rows_that_were_seen_have_their_own() -> None:
    rng = np.random.default_rng(1)
    new = drawn(Reserve(0.5, 1.0, 0.02, 10.0), rng, 3000)
    for few, many in ((50, False), (500, True)):
        seen = drawn(Reserve(-3.0, 1.0, 0.02, 10.0), rng, few, seen=True)
        both = Kept(*(np.concatenate(parts) for parts in zip(new, seen, strict=True)))
        found = learned(both)
        assert found.new.level == pytest.approx(0.5, abs=0.15)
        assert (found.seen.level < -2.5) == many


def test_the_posterior_has_these_derivatives() -> None:
    kept = drawn(TRUE, np.random.default_rng(2), 60)
    values = {"level": 0.4, "width": 1.7, "odds": 0.1, "rare": 3.0}
    grads = _posterior(kept, 2.0, values).grads
    for name, value in values.items():
        up, down = (_posterior(kept, 2.0, values | {name: value + step}).value for step in (1e-5, -1e-5))
        assert float(grads[name]) == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_a_few_rows_more_never_make_a_prediction_certain() -> None:
    """Rows without a rare one among them leave a share for those to come; so do exact ones, and none."""
    rng = np.random.default_rng(3)
    calm = drawn(Reserve(), rng, 1000)
    assert 1e-4 < learned(calm).new.share < 0.01
    exact = learned(calm._replace(z=np.where(np.arange(1000) < 900, 0.0, calm.z)))
    assert np.all(np.isfinite(exact.new))
    assert learned(calm._replace(z=np.zeros(1000))) == Reserves()


def test_each_row_gets_its_own() -> None:
    reserves = Reserves(new=Reserve(1.0, 2.0, 0.1, 4.0), seen=Reserve(-1.0, 0.5, 0.2, 8.0))
    level, width, share, rare = reserves.of(np.array([True, False]))
    assert_allclose([level, width, share, rare], [[-1, 1], [0.5, 2], [0.2, 0.1], [8, 4]])
