"""The authors' first values, and the words for them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hgpbench.fitting import authors
from hgpbench.scaling import Scaling
from tests.models.zoo import draw


def test_they_are_those_of_the_release_for_standardised_data():
    X, y = draw(40)
    scaling = Scaling.of(X, y)
    values = authors.values(scaling.inputs(X), scaling, None, None)
    assert_allclose(values["ell_f"], [0.5, 0.5])
    assert_allclose(values["ell_g"], [0.2, 0.2])
    assert (float(values["s2_kf"]), float(values["s2_kg"])) == (1.0, 1.0)
    assert float(values["mu0"]) == np.log(0.25)


def test_numbers_are_in_the_units_of_the_inputs_and_text_in_standard_deviations():
    X, y = draw(40)
    X = X * [1.0, 100.0]
    scaling = Scaling.of(X, y)
    values = authors.values(scaling.inputs(X), scaling, 5.0, "2 sd")
    assert_allclose(values["ell_f"] * scaling.x_scale, [5.0, 5.0])
    assert_allclose(values["ell_g"], [2.0, 2.0])
    as_given = authors.values(X, Scaling.identity(2), 5.0, "2 sd")
    assert_array_equal(as_given["ell_f"], [5.0, 5.0])
    assert_allclose(as_given["ell_g"], 2.0 * X.std(axis=0))


@pytest.mark.parametrize(("text", "same"), [("0.5 sd", "0.5 sd"), (" 5e-1sd ", "0.5 sd"), ("2 sd", "2 sd")])
def test_one_text_for_one_length(text: str, same: str):
    assert authors.write(text) == same


@pytest.mark.parametrize(
    "text", ["", "sd", "0.5", "0 sd", "-1 sd", "nan sd", "1e999 sd", "1.2.3 sd", "0.5 cm"]
)
def test_other_text_is_refused_with_what_is_allowed(text: str):
    with pytest.raises(ValueError, match=r"text such as '0\.5 sd'"):
        authors.check_length("initial_lengthscale_f", text, "paper")
