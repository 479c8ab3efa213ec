"""What an experiment consists of, over several commands."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hgpbench.bench import manifest as manifests
from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.errors import RecordError


def make(*entries: tuple[str, int, str]) -> Manifest:
    listed = tuple(
        Entry(label, "gp", seed, f"runs/{setting}-{seed}", setting) for label, seed, setting in entries
    )
    return Manifest("demo", "", {"name": "toy"}, {"train": 1}, listed)


def labels(manifest: Manifest) -> list[tuple[str, int, str]]:
    return [(entry.label, entry.seed, entry.setting) for entry in manifest.entries]


def test_it_comes_back(tmp_path: Path) -> None:
    manifests.write(tmp_path, make(("a", 0, "x")))
    assert manifests.read(tmp_path) == make(("a", 0, "x"))


def test_more_seeds_are_added_in_the_config_s_order() -> None:
    older = make(("a", 0, "x"), ("a", 1, "x"), ("b", 0, "y"))
    newer = make(("b", 1, "y"), ("b", 2, "y"))
    merged = newer.merged_with(older, {"b": "y", "a": "x"})
    assert labels(merged) == [("b", 0, "y"), ("b", 1, "y"), ("b", 2, "y"), ("a", 0, "x"), ("a", 1, "x")]


def test_a_changed_setting_replaces_its_label_and_a_dropped_label_goes() -> None:
    older = make(("a", 0, "x"), ("a", 1, "x"), ("gone", 0, "z"))
    assert labels(make(("a", 0, "new")).merged_with(older, {"a": "new"})) == [("a", 0, "new")]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "[" * 100_000, '{"format": 1}', '{"format": 2, "entries": []}']
)
def test_a_damaged_one_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / manifests.MANIFEST).write_text(text)
    with pytest.raises(RecordError, match=r"experiment\.json"):
        manifests.find(tmp_path)


def test_none_is_none(tmp_path: Path) -> None:
    assert manifests.find(tmp_path) is None


def test_those_who_add_to_it_at_once_keep_each_other_s_entries(tmp_path: Path) -> None:
    labels_ = "abcdefgh"

    def add(label: str) -> None:
        def change(older: Manifest | None) -> Manifest:
            time.sleep(0.01)  # long enough for another to read the same
            return make((label, 0, "x")).merged_with(older, dict.fromkeys(labels_, "x"))

        manifests.update(tmp_path, change)

    with ThreadPoolExecutor(len(labels_)) as pool:
        list(pool.map(add, labels_))
    assert [label for label, _, _ in labels(manifests.read(tmp_path))] == list(labels_)


@pytest.mark.parametrize(("old", "new"), [('"label": "a"', '"label": "b"'), ("runs/x-0", "runs/y-0")])
def test_an_edited_one_is_told_as_damaged(tmp_path: Path, old: str, new: str) -> None:
    manifests.write(tmp_path, make(("a", 0, "x")))
    path = tmp_path / manifests.MANIFEST
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RecordError, match=r"experiment\.json: checksum does not match"):
        manifests.find(tmp_path)


def test_one_without_a_checksum_is_read_and_another_layout_changes_nothing(tmp_path: Path) -> None:
    manifests.write(tmp_path, make(("a", 0, "x")))
    path = tmp_path / manifests.MANIFEST
    body = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(body.items()))))
    assert manifests.find(tmp_path) == make(("a", 0, "x"))
    del body["checksum"]
    path.write_text(json.dumps(body))
    assert manifests.find(tmp_path) == make(("a", 0, "x"))
