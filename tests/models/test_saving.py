"""Every model as a file and back: the same to the bit, or one line."""

import inspect
import json
import random
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from hgpbench import sealed
from hgpbench.errors import RecordError
from hgpbench.models import MODELS, Estimator, Linear, Passes, parts, saving
from hgpbench.models.saving import TITLE
from tests.models import zoo

X, Y = zoo.draw(90)
NEW = zoo.draw(40, seed=1)[0] * 1.3


def load(path: Path) -> Estimator:
    return saving.load(path, KINDS).model


def takes_checkpoint(name: str) -> bool:
    return "checkpoint" in inspect.signature(type(zoo.make(name)).fit).parameters


KINDS = {kind.__name__: kind for kind in MODELS.values()}


def same(first: Any, second: Any) -> None:
    """All moments, to the bit."""
    one, other = first.predict_dist(NEW).arrays(), second.predict_dist(NEW).arrays()
    assert set(one) == set(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


@pytest.mark.parametrize("name", zoo.VARIANTS)
@pytest.mark.parametrize("standardize", [True, False])
def test_a_loaded_model_predicts_the_same_to_the_bit(name: str, standardize: bool, tmp_path: Path) -> None:
    model = zoo.make(name, standardize=standardize).fit(X, Y)
    model.save(tmp_path / "before.h5")
    model.predict(NEW)  # what a prediction keeps for the next is no part of the model
    model.save(tmp_path / "m.h5")
    loaded = load(tmp_path / "m.h5")
    same(model, loaded)
    same(loaded, load(tmp_path / "before.h5"))
    assert loaded.get_params() == model.get_params()
    assert set(vars(loaded)) == set(vars(model))
    for attribute in ("elbo_", "trace_", "outcome_", "starts_", "kernel_densities_", "explained_"):
        if hasattr(model, attribute):
            np.testing.assert_equal(getattr(loaded, attribute), getattr(model, attribute))
    loaded.save(tmp_path / "again.h5")
    same(model, load(tmp_path / "again.h5"))
    assert loaded.fit(X, Y) is loaded  # and it can be fitted anew


@pytest.mark.parametrize("name", [name for name in zoo.VARIANTS if takes_checkpoint(name)])
def test_a_fit_with_a_checkpoint_can_be_saved(name: str, tmp_path: Path) -> None:
    model = zoo.make(name).fit(X, Y, checkpoint=tmp_path / "states.h5")
    model.save(tmp_path / "m.h5")
    same(model, load(tmp_path / "m.h5"))
    assert str(tmp_path).encode() not in (tmp_path / "m.h5").read_bytes()


def test_parameters_may_be_objects(tmp_path: Path) -> None:
    model = zoo.make("dvshgp").set_params(optimizer=Passes(n_passes=2)).fit(X, Y)
    model.save(tmp_path / "m.h5")
    assert load(tmp_path / "m.h5").get_params() == model.get_params()


def test_inputs_are_checked_by_name(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    Linear().fit(frame, Y).save(tmp_path / "m.h5")
    loaded = load(tmp_path / "m.h5")
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(loaded.predict(frame[:3]), loaded.predict(frame)[:3])
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a"]])


def test_what_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        Linear().save(tmp_path / "m.h5")
    assert not list(tmp_path.iterdir())


def test_what_no_file_can_hold_is_named(tmp_path: Path) -> None:
    model = Linear().fit(X, Y)
    model.odd_ = object()
    with pytest.raises(TypeError, match=r"odd_ is a builtins.object"):
        model.save(tmp_path / "m.h5")
    assert not list(tmp_path.iterdir())


def test_every_part_is_what_it_says() -> None:
    for name in (*parts.CLASSES, *parts.FORGETFUL):
        assert parts.name_of(parts.find(name)) == name
    for name in ("object", "Popen", "__import__", ""):
        with pytest.raises(ValueError, match="no part of a model"):
            parts.find(name)


# Hostile files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("good")
    for name in ("linear", "vshgp", "dvshgp", "gpvc"):
        zoo.make(name).fit(X, Y).save(folder / f"{name}.h5")
    return {path.stem: path for path in folder.iterdir()}


def refused(path: Path) -> bool:
    """Whether a file is told in one line; a model that is none the worse is loaded."""
    try:
        loaded = load(path)
    except RecordError as error:
        told = str(error)
        return "\n" not in told and len(told) < 600
    assert np.isfinite(loaded.predict(NEW)).all()
    return False


def test_any_changed_byte_is_found(good: dict[str, Path], tmp_path: Path) -> None:
    chance = random.Random(0)
    path = tmp_path / "m.h5"
    for number in range(150):
        content = bytearray(good[chance.choice(sorted(good))].read_bytes())
        place = chance.randrange(len(content))
        if number % 3 == 0:
            del content[place:]
        else:
            content[place] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        assert refused(path) or place < sealed.SEAL_BYTES  # zeros that fill the seal up say nothing


def forged(good: Path, path: Path, change: Any) -> None:
    """A file whose seal is right and whose content is not."""
    shutil.copy(good, path)
    with h5py.File(path, "r+") as file:
        body = json.loads(file["json"][...].tobytes())
        body = change(body, file)
        del file["json"]
        file["json"] = np.frombuffer(json.dumps(body).encode(), dtype=np.uint8)
    sealed.seal(path, TITLE)


ODD: list[Any] = [
    None, True, -1, 0, 10**400, 1.5, "x", "", [], {}, [1], ["array", 0], ["array", 10**9], ["turned", 1], ["scalar", 0],
    ["part", "Scaling", {}], ["part", "object", {}], ["part", "os.system", {"command": "x"}], ["class", "SEARD"],
    ["class", "Popen"], ["dict", [[["list", []], 1]]], ["list", [1, 2]], ["names", ["a", 3]], ["float", "nan"],
    ["float", "x"], ["array", "../json"], ["array", -1], ["part", "Recent", {}], "VSHGP", ["tuple", 5],
]  # fmt: skip


def mutated(body: Any, chance: random.Random) -> Any:
    """The JSON with something in it replaced, removed or renamed."""
    place, parent, key = body, None, None
    while isinstance(place, dict | list) and place and (parent is None or chance.random() < 0.75):
        parent, key = place, chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place = parent[key]
    kind = chance.choice(["replace", "replace", "remove", "rename"])
    if kind == "remove":
        del parent[key]
    elif kind == "rename" and isinstance(parent, dict):
        parent[chance.choice(["x", "fit", "__class__", "a b", "predict_dist", "get_params", "_fit"])] = (
            parent.pop(key)
        )
    else:
        parent[key] = chance.choice(ODD)
    return body


def test_forged_content_is_told_or_harmless(good: dict[str, Path], tmp_path: Path) -> None:
    chance, told = random.Random(1), 0
    for _ in range(250):
        source = good[chance.choice(sorted(good))]
        forged(source, tmp_path / "m.h5", lambda body, file: mutated(body, chance))
        told += refused(tmp_path / "m.h5")
    assert 100 < told < 250


def test_forged_arrays_are_told(good: dict[str, Path], tmp_path: Path) -> None:
    def replaced(body: Any, file: Any) -> Any:
        name = chance.choice(sorted(file["arrays"]))
        odd = chance.choice(
            [
                np.zeros(0),
                np.full((3, 3), np.nan),
                np.zeros((2, 2, 2)),
                np.float64(2),
                np.arange(5),
                "text",
                None,
            ]
        )
        del file["arrays"][name]
        if odd is not None:
            file["arrays"][name] = odd
        else:
            file["arrays"][name] = h5py.ExternalLink("/etc/passwd", "/")
        return body

    chance, told = random.Random(2), 0
    for _ in range(100):
        forged(good[chance.choice(sorted(good))], tmp_path / "m.h5", replaced)
        told += refused(tmp_path / "m.h5")
    assert told > 50


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a model of hgpbench"),
        (b"a,b\n1,2\n", "not a model of hgpbench"),
        (b"hgpbench model 99\nabc", "a model of another format"),
        (TITLE.encode() + b"\n" + b"0" * 64 + b"\n", "a damaged model"),
    ],
)
def test_other_files_are_told_apart(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "m.h5").write_bytes(content)
    with pytest.raises(RecordError, match=complaint):
        load(tmp_path / "m.h5")
    with pytest.raises(RecordError, match="no such file"):
        load(tmp_path / "none.h5")


def test_a_model_of_another_version_is_told(good: dict[str, Path], tmp_path: Path) -> None:
    def older(body: Any, file: Any) -> Any:
        del body["state"]["_fit"][2]["tried"]
        return body

    forged(good["vshgp"], tmp_path / "m.h5", older)
    with pytest.raises(RecordError, match="the fields of VshgpFit are others in this version"):
        load(tmp_path / "m.h5")
