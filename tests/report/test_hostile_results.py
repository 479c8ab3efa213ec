"""Results made to break the report: every planned run is a row, and no table tells what no run said."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

from hgpbench import files, report
from hgpbench.bench import manifest, record
from hgpbench.errors import RecordError
from hgpbench.paper.supplement import supplement
from hgpbench.report.collect import collect
from hgpbench.report.digest import SCORES, of_run


def rewrite(path: Path, change: Any, sign: bool = True) -> None:
    """Change the body of a JSON file and, as a careful forger would, its checksum."""
    body = json.loads(path.read_text())
    body.pop("checksum", None)
    body = change(body) or body
    if sign:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        body["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(body))


def states(root: Path) -> list[str]:
    return [run.state for run in collect(root).experiments[0].runs]


def everything(root: Path, out: Path) -> None:
    """A report in every format, with plots and page."""
    kinds = ("md", "csv", "latex", "json")
    built = report.build(root, out, kinds, plot=True, html=True, supplier=supplement)
    for path in built.files:
        if path.suffix != ".png":
            path.read_text(encoding="utf-8")


# Manifests

ODD: list[Any] = [
    None,
    3,
    -1,
    1.5,
    True,
    "x",
    "",
    [],
    {},
    ["a"],
    {"a": 1},
    "\udce9",
    "\x1b[31m",
    "../../up",
    "/etc",
]


@pytest.mark.parametrize("key", ["name", "title", "dataset", "split", "entries"])
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_an_odd_manifest_is_a_problem_or_harmless(
    key: str, value: Any, results, fake, tmp_path: Path
) -> None:
    results.experiment("good", [fake("gp")], seeds=1)
    results.plan("odd", [results.entry("gp", 0)])
    rewrite(results.root / "odd" / manifest.MANIFEST, lambda body: body.update({key: value}))
    found = collect(results.root)
    assert "good" in [experiment.name for experiment in found.experiments]
    assert len(found.experiments) + len(found.problems) == 2
    report.build(results.root, tmp_path / "out", ("md", "csv", "latex", "json"), supplier=supplement)


@pytest.mark.parametrize("key", ["label", "model", "seed", "folder", "setting"])
@pytest.mark.parametrize("value", [*ODD, "x" * 300, "a/../../b", "runs/gp"], ids=lambda v: repr(v)[:20])
def test_an_odd_entry_is_a_problem_or_a_row(key: str, value: Any, results, fake, tmp_path: Path) -> None:
    results.experiment("good", [fake("gp")], seeds=1)
    results.plan("odd", [results.entry("gp", 0)])
    rewrite(results.root / "odd" / manifest.MANIFEST, lambda body: body["entries"][0].update({key: value}))
    found = collect(results.root)
    assert len(found.experiments) + len(found.problems) == 2
    report.build(results.root, tmp_path / "out", ("md", "csv", "latex", "json"), supplier=supplement)


def test_a_manifest_that_was_edited_is_not_believed_and_an_old_one_is(results, fake) -> None:
    results.experiment("demo", [fake("gp"), fake("linear")], seeds=1)
    path = results.root / "demo" / manifest.MANIFEST
    rewrite(path, lambda body: body["entries"][0].update(label="other"), sign=False)
    assert [run.entry.label for run in collect(results.root).experiments[0].runs] == ["other", "linear"]
    rewrite(path, lambda body: None)
    path.write_text(path.read_text().replace('"other"', '"better"'))
    with pytest.raises(RecordError, match="checksum"):
        collect(results.root)


def test_later_versions_may_add_fields(results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    rewrite(results.root / "demo" / manifest.MANIFEST, lambda body: body.update(colour="blue"))
    rewrite(results.folder("gp", 0) / record.RECORD, lambda body: body.update(colour="blue"))
    assert states(results.root) == ["done"]


def test_a_name_that_leads_elsewhere_writes_nothing_there(results, fake, tmp_path: Path) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    rewrite(results.root / "demo" / manifest.MANIFEST, lambda body: body.update(name="../../x"))
    with pytest.raises(RecordError, match="name"):
        report.build(results.root, tmp_path / "a" / "b", plot=True)
    assert not list(tmp_path.glob("**/x-*"))


@pytest.mark.parametrize("file", [manifest.MANIFEST, record.RECORD, SCORES])
def test_brackets_without_end_are_told(file: str, results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    results.experiment("good", [fake("linear")], seeds=1)
    collect(results.root)
    place = results.root / "demo" if file == manifest.MANIFEST else results.folder("gp", 0)
    (place / file).write_text("[" * 100_000)
    found = collect(results.root)
    assert len(found.experiments) + len(found.problems) == 2


# Records


@pytest.mark.parametrize("key", sorted(record.Record.__dataclass_fields__))
@pytest.mark.parametrize(
    "value",
    [None, 3, -1, 1.5, True, "x", [], {}, ["a", 1], {"a": [1]}, "\udce9", 10**400],
    ids=lambda v: repr(v)[:9],
)
def test_an_odd_record_is_a_row(key: str, value: Any, results, fake) -> None:
    results.experiment("demo", [fake("gp"), fake("linear")], seeds=1)
    rewrite(results.folder("gp", 0) / record.RECORD, lambda body: body.update({key: value}))
    built = report.build(results.root, formats=("md",), supplier=supplement)
    assert "linear" in built.text
    built.text.encode("utf-8")


@pytest.mark.parametrize("key", sorted(record.Record.__dataclass_fields__))
def test_a_record_without_a_field_is_a_row(key: str, results, fake) -> None:
    results.experiment("demo", [fake("gp"), fake("linear")], seeds=1)

    def without(body: dict[str, Any]) -> None:
        del body[key]

    rewrite(results.folder("gp", 0) / record.RECORD, without)
    report.build(results.root, formats=("md", "latex"), supplier=supplement)


def test_swapped_folders_are_seen(results, fake) -> None:
    labels = {"gp": "ab" * 32, "mean": "cd" * 32}
    folders = {label: f"runs/{label}/{identity[:16]}-seed0" for label, identity in labels.items()}
    entries = [replace(results.entry(label, 0), folder=folders[label], model=label) for label in labels]
    results.plan("demo", entries)
    for label, identity in labels.items():
        results.finish(fake(label), 0, identity=identity, model=label)
        results.folder(label, 0).rename(results.root / folders[label])
    assert states(results.root) == ["done", "done"]
    one, two = (results.root / folder for folder in folders.values())
    one.rename(one.with_name("aside"))
    two.rename(one)
    one.with_name("aside").rename(two)
    for run in collect(results.root).experiments[0].runs:
        assert run.state == "damaged"
        assert "another run" in (run.reason or "")


@pytest.mark.parametrize(("key", "value"), [("seed", 1), ("model", "other")])
def test_a_record_of_another_seed_or_model_is_seen(key: str, value: Any, results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    rewrite(results.folder("gp", 0) / record.RECORD, lambda body: body.update({key: value}))
    [run] = collect(results.root).experiments[0].runs
    assert (run.state, "another run" in (run.reason or "")) == ("damaged", True)


def test_a_run_that_cannot_be_read_is_a_row(results, fake, monkeypatch) -> None:
    results.experiment("demo", [fake("gp"), fake("linear")], seeds=1)
    real = files.sha256_of

    def forbidden(path: Path) -> str:
        if "gp" in path.parts and path.name == record.PREDICTIONS:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(files, "sha256_of", forbidden)
    assert states(results.root) == ["damaged", "done"]


# Scores


def test_scores_that_were_edited_are_made_afresh(results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    [run] = collect(results.root).experiments[0].runs
    path = run.folder / SCORES
    for sign in (True, False):  # one without a checksum is of an older version
        body = json.loads(path.read_text())
        body["scores"]["smse"] = 0.0001
        if not sign:
            del body["checksum"]
        path.write_text(json.dumps(body))
        assert of_run(run.folder, run.record) == run.digest
        assert "checksum" in json.loads(path.read_text())


@pytest.mark.parametrize(
    "key", ["scores", "is_mixture", "pit", "log_noise", "log_noise_truth", "trace", "facts", "log_latent"]
)
@pytest.mark.parametrize(
    "value",
    [None, 3, "x", [], {}, ["a"], [[1, 2]], {"smse": "a"}, [1] * 200, {"smse": [1]}],
    ids=lambda v: repr(v)[:9],
)
def test_scores_of_another_shape_are_made_afresh(key: str, value: Any, results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    [run] = collect(results.root).experiments[0].runs
    rewrite(run.folder / SCORES, lambda body: body.update({key: value}))
    made = of_run(run.folder, run.record)
    assert set(made.scores) == set(run.digest.scores)
    report.build(results.root, formats=("md",), supplier=supplement)


# Predictions


@pytest.mark.parametrize(
    "odd",
    ["text", "complex", "short", "extra", "group", "claim", "link", "index", "trace", "X_test", "names"],
)
def test_odd_predictions_are_a_row(odd: str, results, fake, tmp_path: Path) -> None:
    results.experiment("demo", [fake("gp"), fake("linear")], seeds=1)
    folder = results.folder("gp", 0)
    with h5py.File(folder / record.PREDICTIONS, "r+") as file:
        spoil(file, odd)
    digest = files.sha256_of(folder / record.PREDICTIONS)
    rewrite(folder / record.RECORD, lambda body: body.update(predictions_sha256=digest))
    everything(results.root, tmp_path / "out")
    assert states(results.root)[1] == "done"
    assert states(results.root)[0] == ("done" if odd == "names" else "damaged")


def spoil(file: Any, odd: str) -> None:
    new: dict[str, Any] = {"text": ("prediction/mean", ["a"] * 400), "complex": ("prediction/mean", np.ones(400) * 1j),
        "short": ("y", np.ones(3)), "extra": ("prediction/colour", np.ones(400)), "index": ("index", np.ones((2, 2))),
        "trace": ("trace", np.ones(4)), "X_test": ("extras/X_test", np.ones(400)),
        "names": ("extras/input_names", np.array([b"\xff\xfe$\\frac{a$"]))}  # fmt: skip
    if odd in new:
        name, values = new[odd]
        if name in file:
            del file[name]
        file[name] = values
    elif odd == "group":
        del file["extras"]
    elif odd == "claim":
        del file["y"]
        file.create_dataset("y", shape=(10**12,), dtype="f8", chunks=(1000,))
    else:
        del file["y"]
        file["y"] = h5py.SoftLink("/index")


# Words

HARMFUL = "red \x1b[31m caf\udce9 \u202e <script>alert(1)</script> $\\frac{a$ | `x`\n\n# heading"


def test_names_can_be_anything(results, fake, tmp_path: Path) -> None:
    odd = replace(results, dataset={"name": "bumps", "variant": None, "target": HARMFUL})
    odd.experiment("demo", [fake("gp"), fake("linear")], seeds=1)
    odd.stop("boom", 0, "failed", HARMFUL)
    odd.plan("demo", [odd.entry(label, 0) for label in ("gp", "linear", "boom")])
    rewrite(odd.root / "demo" / manifest.MANIFEST, lambda body: body.update(title=HARMFUL))
    for label in ("gp", "linear"):
        folder = odd.folder(label, 0)
        with h5py.File(folder / record.PREDICTIONS, "r+") as file:
            del file["extras/input_names"]
            file["extras/input_names"] = np.array([b"price $\\frac{a$"])
        digest = files.sha256_of(folder / record.PREDICTIONS)
        rewrite(folder / record.RECORD, lambda body, digest=digest: body.update(predictions_sha256=digest))
    everything(odd.root, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in {".md", ".tex", ".html", ".csv", ".svg"}:
            text = path.read_text(encoding="utf-8")
            assert not {"\x1b", "\u202e"} & set(text), path
            assert "<script>" not in text.replace("\\<script>", "") or path.suffix == ".csv", path
        if path.suffix == ".svg":
            ElementTree.fromstring(path.read_bytes())
    tex = (tmp_path / "out" / "report.tex").read_text()
    assert "\n\n# heading" not in tex.replace("\\#", "#")


def test_a_very_long_reason_is_shortened(results) -> None:
    results.plan("demo", [results.entry("boom", 0)])
    results.stop("boom", 0, "failed", "x" * 5_000_000)
    assert len(report.build(results.root).text) < 20_000


# Places


def test_an_experiment_folder_that_is_a_link_finds_its_runs(results, fake, tmp_path: Path) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    (results.root / "demo").rename(tmp_path / "elsewhere")
    (results.root / "demo").symlink_to(tmp_path / "elsewhere")
    assert states(results.root) == ["done"]
    assert states(results.root / "demo") == ["done"]
    shortcut = tmp_path / "shortcut"
    shortcut.symlink_to(results.root)
    assert states(shortcut) == ["done"]
