"""First guesses: they follow the units of the data, and the authors' are theirs."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.fitting.start import authors_values, guess, perturbed, spread
from tests.models.zoo import draw


def test_a_guess_follows_the_units_of_the_data():
    X, y = draw(50)
    first, moved = guess(X, y), guess(1e3 * X - 5.0, 10.0 * y)
    assert_allclose(moved["ell"], 1e3 * first["ell"])
    for name in ("s2_k", "sigma2"):
        assert_allclose(moved[name], 100.0 * first[name])


def test_a_constant_column_has_a_spread_of_one():
    X = np.column_stack([np.full(9, 4.0), np.arange(9.0)])
    assert_array_equal(spread(X), [1.0, X[:, 1].std()])


def test_a_column_of_round_off_starts_with_a_lengthscale_of_its_unit():
    # Equal numbers whose mean is rounded, as those of a rare event in a sample without it.
    X, y = draw(999)
    ell = guess(np.column_stack([X, np.full(999, -0.3)]), y)["ell"]
    assert_allclose(ell[2], 0.5 * np.sqrt(3))


def test_another_start_is_near_positive_and_repeats():
    first = guess(*draw(30))
    again = [perturbed(first, np.random.default_rng(4)) for _ in range(2)]
    for name, value in first.items():
        assert_array_equal(again[0][name], again[1][name])
        assert np.all(np.abs(np.log(again[0][name] / value)) <= 1.2)


def test_the_authors_values_are_those_of_standardised_data():
    values = authors_values(np.ones(3))
    assert_array_equal(values["ell_f"], [0.5] * 3)
    assert_array_equal(values["ell_g"], [0.2] * 3)
    assert (float(values["s2_kf"]), float(values["s2_kg"])) == (1.0, 1.0)
    assert float(values["mu0"]) == np.log(0.25)
    stretched = authors_values(np.array([2.0]), variance=9.0)
    assert_allclose([stretched["ell_f"][0], stretched["s2_kf"], np.exp(stretched["mu0"])], [1.0, 9.0, 2.25])
