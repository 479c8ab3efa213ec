"""Tables of OpenML, from a server on this machine that speaks its API."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import _openml

from hgpbench.data.own import import_openml
from hgpbench.data.source import open_source
from hgpbench.errors import DataError
from tests.data.conftest import Server

ARFF = """@relation small
@attribute size numeric
@attribute kind {a, b, c}
@attribute price numeric
@data
1.5,a,10
2.5,b,20
?,c,30
4.5,a,45
"""
KINDS = {"size": "numeric", "kind": "nominal", "price": "numeric"}


@pytest.fixture
def openml(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The dataset 7, the number of which nothing else has."""
    for name, path in (
        ("_DATA_INFO", "data"),
        ("_DATA_FEATURES", "features"),
        ("_DATA_QUALITIES", "qualities"),
    ):
        monkeypatch.setattr(_openml, name, f"{server.url}/{path}/{{}}")
    features = [
        {"index": str(place), "name": name, "data_type": kind, "is_target": str(name == "price").lower(),
         "is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
        for place, (name, kind) in enumerate(KINDS.items())
    ]  # fmt: skip
    about = {
        "id": "7", "name": "small", "version": "1", "format": "ARFF", "status": "active", "description": "Small",
        "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(), "file_id": "7", "url": f"{server.url}/file/7",
    }  # fmt: skip
    answers: dict[str, Any] = {
        "/data/7": {"data_set_description": about},
        "/features/7": {"data_features": {"feature": features}},
        "/qualities/7": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "4.0"}]}},
    }
    server.answers |= {path: json.dumps(body).encode() for path, body in answers.items()}
    server.answers["/file/7"] = ARFF.encode()
    return server


def test_a_table_of_openml_is_a_dataset_like_any_other(openml: Server, folder: Path) -> None:
    with pytest.raises(DataError, match=r"say --missing drop, mean or flag"):
        import_openml("openml:7")
    from hgpbench.data.frames.choices import Choices

    result = import_openml("openml:7", choices=Choices(missing="mean"))
    assert (result.name, result.rows, result.target) == ("openml:7", 4, "price")
    assert result.columns == ("size", "kind=a", "kind=b", "kind=c")
    source = open_source("openml", "7")
    assert source.columns == result.columns
    asked = len(openml.asked)
    assert import_openml("openml:7").status == "present"
    again = import_openml("openml:7", "size", choices=Choices(missing="drop", drop=("kind",)), force=True)
    assert (again.target, again.rows, again.columns) == ("size", 3, ("price",))
    assert len(openml.asked) == asked  # what was fetched is kept


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("openml:8", r"openml:8: cannot be had"),
        ("openml:boston", r"should be the number of a dataset"),
        ("openml:", "no dataset name"),
    ],
)
def test_what_openml_has_not_is_told(asked: str, complaint: str, openml: Server, folder: Path) -> None:
    with pytest.raises(DataError, match=complaint):
        import_openml(asked)


def test_damage_on_the_way_is_told(openml: Server, folder: Path) -> None:
    openml.answers["/file/7"] = ARFF[:-9].encode()
    with pytest.raises(DataError, match="cannot be had"):
        import_openml("openml:7")
    openml.answers["/data/7"] = b"{"
    with pytest.raises(DataError, match="cannot be had"):
        import_openml("openml:7")


def test_one_that_was_not_fetched_says_how(folder: Path) -> None:
    with pytest.raises(DataError, match="run `hgpbench fetch openml:7`"):
        open_source("openml", "7")
