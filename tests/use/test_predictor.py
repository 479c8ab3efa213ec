"""A model and its preprocessing are fitted, saved and asked as one."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hgpbench
from hgpbench.data.frames.choices import Choices
from hgpbench.errors import DataError, RecordError
from hgpbench.models import VSGP, Linear, saving
from hgpbench.use.predictor import Predictor, load_for_tables
from tests.use.conftest import draw

NEW = draw(30, seed=2).drop(columns="price")


def test_a_predictor_is_the_same_after_loading(home: Path) -> None:
    choices = Choices(missing="flag", date_parts=("month",))
    before = Predictor.fit("mine.csv", "price", VSGP(n_inducing=10, max_iter=10, random_state=0), choices)
    before.save("m.h5")
    after = hgpbench.load("m.h5")
    assert after.preprocessing == before.preprocessing
    assert before.preprocessing.inputs[-3:] == ("size missing", "when", "when month")
    for name, values in before.predict_dist(NEW).arrays().items():
        np.testing.assert_array_equal(after.predict_dist(NEW).arrays()[name], values)
    np.testing.assert_array_equal(after.predict(NEW[NEW.columns[::-1]]), before.predict(NEW))
    with pytest.raises(DataError, match="has no column 'city'"):
        after.predict(NEW.drop(columns="city"))


def test_a_frame_and_its_file_fit_the_same_model(home: Path) -> None:
    by_file = Predictor.fit("mine.csv", "price", Linear(), Choices(missing="mean"))
    by_frame = Predictor.fit(draw(150), "price", Linear(), Choices(missing="mean"))
    assert by_file.preprocessing == by_frame.preprocessing
    np.testing.assert_array_equal(by_file.predict(NEW), by_frame.predict(NEW))


def test_rules_for_new_rows_can_be_changed_but_not_invented(home: Path) -> None:
    strict = Predictor.fit(draw(150).dropna(), "price", Linear())
    with pytest.raises(DataError, match=r"the value is missing; say --missing drop or mean"):
        strict.predict(NEW)
    with pytest.raises(DataError, match="has a missing cell"):
        strict.ruled(missing="drop").predict(NEW)
    assert np.isfinite(strict.ruled(missing="mean").predict(NEW)).all()
    with pytest.raises(DataError, match="was not fitted with it"):
        strict.ruled(missing="flag")
    other = NEW.dropna().assign(city="Paris")
    with pytest.raises(DataError, match="'Paris' is none of its categories"):
        strict.predict(other)
    assert np.isfinite(strict.ruled(unseen="other").predict(other)).all()


def test_a_model_saved_alone_is_asked_by_the_names_that_it_knows(home: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    Linear().fit(frame, y).save("named.h5")
    Linear().fit(X, y).save("plain.h5")
    found = load_for_tables(Path("named.h5"))
    np.testing.assert_array_equal(found.predict(frame), hgpbench.load("named.h5").predict(frame))
    with pytest.raises(RecordError, match="without the names of its inputs"):
        load_for_tables(Path("plain.h5"))


def test_a_forged_preprocessing_is_told(home: Path) -> None:
    made = Predictor.fit("mine.csv", "price", Linear(), Choices(missing="mean"))
    body = json.loads(made.preprocessing.to_json())
    body["columns"].pop()
    for text in ("", "{}", json.dumps(body), "[" * 100_000):
        saving.save(made.model, Path("odd.h5"), {"preprocessing": text})
        with pytest.raises(RecordError, match=r"odd\.h5: its preprocessing"):
            hgpbench.load("odd.h5")
