"""Structured fuzz of every file that a user or a damaged disk may hand to a command.

A case is a file made of a good one by a few odd values, and the command that reads it. ``run`` performs any
number of them from a seed; each must end with exit code 0, 2 or 3, without a traceback, and a refusal is one
line; nothing half-written stays. A longer run takes another seed and a larger count; a case is repeated by its
kind, seed and number. A checkpoint has no command of its own: it is read by a fit, which must not heed a bad one.
"""

import copy
import gzip
import hashlib
import io
import json
import lzma
import random
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from hgpbench.bench import manifest, record
from hgpbench.cli import app
from hgpbench.fitting import checkpoint
from hgpbench.models import DVSHGP, SVGP
from hgpbench.report.digest import SCORES
from tests.report.conftest import Fake, Results

Words = tuple[str, ...]

ODD_YAML = [
    "", "~", "yes", "-1", "0", "1.5", "1e400", ".nan", "-.inf", "0x" + "f" * 300, "9" * 500, "1:30:00", "[]", "{}",
    "[1, a]", "{a: 1}", "[" * 60, "{a: " * 60, "!!int ''", "!!bool maybe", "!!float x", "!!timestamp foo",
    "!!binary aGk=", "!!set {a}", "!!python/object:os.system x", "!x y", "*nowhere", "&a [*a]", "<<", "'a\n\n  b'",
    '"\\0"', '"\\udce9"', '"\\e[31m"', '"\\u202e"', "2020-13-45", "../../up", "/etc/passwd", "~nosuchuser", "a:b:c",
    "'$\\frac{a$'", "<script>", "x" * 300, "é", ".x:Y", "os:system", "@", "`", "%", "? a", "- a", "published", "all",
]  # fmt: skip
ODD_JSON: list[Any] = [
    None, True, False, -1, 0, 1.5, 10**20, 10**400, float("nan"), float("inf"), "", "x", "\udce9", "\x1b[31m", "\0",
    "../../up", "/etc", "a\n\nb", "x" * 300, [], [1], ["a"], [[1, 2, 3]], {}, {"a": 1}, {"smse": "a"}, [[]] * 3, "done",
]  # fmt: skip
ODD_BYTES = [
    b"", b"\0", b"\xff", b"\n", b"\r", b",", b",,", b'"', b'"""', b"\t", b";", b"y", b"nan", b"1e999", b"-", b" ",
    b"\xef\xbb\xbf", b"#", b"<html>", b"\x1b[31m", b"9" * 400, b"\x1f\x8b", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"'", b"\\",
]  # fmt: skip

CONFIG: dict[str, Any] = {
    "name": "fuzz", "title": "A title", "dataset": "toy", "split": {"train": 40, "test": 20}, "repeats": 2,
    "limits": {"wall": "1h", "memory": "2GB", "threads": 1},
    "models": {"mean": None, "gp": {"max_iter": 10, "n_restarts": 1}, "fine": {"model": "dvshgp", "skip_tol": 0.1}, "other": {"model": "linear"}},
    "sweep": {"gp": {"max_iter": [5, 6]}},
    "quick": {"repeats": 1, "models": {"gp": {"max_iter": 3}}, "leave_out": ["other"]},
}  # fmt: skip
CARD: dict[str, Any] = {
    "title": "Small", "licence": "CC0", "citation": "Nobody", "homepage": "here", "notes": "none",
    "files": [{"file": "small.csv", "urls": [], "bytes": 36, "part": "train"}],
    "format": {"kind": "csv", "delimiter": ",", "header": True}, "inputs": ["a", "b"], "target": "y",
    "missing": {"values": ["?"], "rule": "drop"}, "rows": 4, "split": {"train": 0.5, "test": "rest"},
    "variants": {"one": {"about": "first"}, "two": {"inputs": ["a"]}}, "default": "one",
}  # fmt: skip
MEMBERS = [
    "table.csv", "table.packed", "a/b.csv", "../up.csv", "/etc/x", "C:/x", ".", "..", "a\\b", "é", "x" * 300,
]  # fmt: skip
ODD_ARRAYS: list[Any] = [
    np.zeros((0, 2)), np.zeros(0), np.zeros((2, 2, 2)), np.arange(6), np.ones(6, bool), np.full(6, np.nan), 3.0, "text",
    np.array([b"a"] * 6), np.full((6, 2), 1e308), np.arange(6) * 1j, np.zeros((6, 1)), np.full(6, 1e-320), np.uint64(2**63),
]  # fmt: skip
FORMATS: tuple[Words, ...] = tuple(("--format", kind) for kind in ("md", "md", "latex", "csv", "json"))
STORED = (manifest.MANIFEST, record.RECORD, SCORES)
TABLE = b"a,b,y\n1,2,3\n4,5,6.5\n7,8,-9\n10,11,12\n"


@dataclass(frozen=True)
class Case:
    """Content for a file, and what will read it: commands, or a step that gives the exit code of one."""

    path: Path
    content: bytes
    commands: tuple[Words | Callable[[], int], ...]


def run(seed: int, count: int, folder: Path, kinds: tuple[str, ...] = ()) -> Counter[str]:
    """Perform so many cases of each kind in an empty current folder; how many ended in which way."""
    endings: Counter[str] = Counter()
    for kind in kinds or tuple(KINDS):
        home = folder / kind
        home.mkdir(parents=True)
        for number, case in zip(
            range(cases_of(kind, count)), KINDS[kind](home, random.Random(f"{kind} {seed}")), strict=False
        ):
            before = case.path.read_bytes() if case.path.exists() else None
            case.path.write_bytes(case.content)
            name = f"{kind}, seed {seed}, case {number}"
            for command in case.commands:
                code = command() if callable(command) else _performed(command, name, case)
                assert code in {0, 2, 3}, f"{name}: other bits than without the file"
                endings[f"{kind} {code}"] += 1
            assert not _half_written(Path()), f"{name}: left {_half_written(Path())}"
            if before is None:
                case.path.unlink(missing_ok=True)
            else:
                case.path.write_bytes(before)
    return endings


def cases_of(kind: str, count: int) -> int:
    """How many cases of a kind stand for so many: fewer where each is slow, but one at least."""
    return max(1, round(count * SHARE.get(kind, 1.0)))


def _half_written(folder: Path) -> list[str]:
    """Files and scratch folders that a command has not finished with."""
    return [str(path) for path in folder.rglob(".*") if path.suffix in {".part", ".fetch"}]


def _performed(words: tuple[str, ...], what: str, case: Case) -> int:
    result = CliRunner().invoke(app, list(words))
    shown = f"{what}: {words}\n{case.content[:2000]!r}\n{result.stderr}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"traceback: {shown}") from result.exception
    assert result.exit_code in {0, 2, 3}, shown
    assert result.exit_code == 0 or result.stderr.count("\n") == 1, shown
    assert not {"\x1b", "\u202e", "\0"} & set(result.stdout + result.stderr), shown
    return result.exit_code


def _configs(home: Path, chance: random.Random) -> Iterator[Case]:
    path = home / "mutant.yaml"
    while True:
        quick = ("--quick",) if chance.random() < 0.3 else ()
        yield Case(path, _mutant(CONFIG, chance), (("run", str(path), "--dry-run", *quick),))


def _cards(home: Path, chance: random.Random) -> Iterator[Case]:
    (home / "small.csv").write_bytes(TABLE)
    path = home / "small.yaml"
    where = ("--from", str(home / "small.csv"))
    while True:
        commands = ("fetch", str(path), *where, "--force"), ("datasets",)
        yield Case(path, _mutant(CARD, chance), commands)


def _tables(home: Path, chance: random.Random) -> Iterator[Case]:
    path = home / "table.csv"
    while True:
        content = bytearray(TABLE)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(content) + 1)
            content[place : place + chance.choice((0, 0, 1, 3))] = chance.choice(ODD_BYTES)
        yield Case(
            path, bytes(content), (("fetch", "--csv", str(path), "--target", "y", "--name", "t", "--force"),)
        )


def _archives(home: Path, chance: random.Random) -> Iterator[Case]:
    """Tables in one wrapping or several, whose members have odd names and whose bytes are odd here and there."""
    path = home / "table.packed"
    words = ("fetch", "--csv", str(path), "--target", "y", "--name", "t", "--force")
    while True:
        content = TABLE
        for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
            wrap = chance.choice((_gzipped, lzma.compress, partial(_zipped, chance=chance)))
            content = wrap(content)
        yield Case(path, _damaged(content, chance) if chance.random() < 0.8 else content, (words,))


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)  # the same bytes at any time


def _zipped(content: bytes, chance: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name in chance.sample(MEMBERS, chance.choice((1, 1, 2))):
            archive.writestr(zipfile.ZipInfo(name), content)  # of no particular time
    return file.getvalue()


def _hdf5(home: Path, chance: random.Random) -> Iterator[Case]:
    """Tables in HDF5: odd shapes and types of X and y, or a good file with odd bytes."""
    path, good = home / "table.h5", home / "good.h5"
    words = ("fetch", "--csv", str(path), "--name", "t", "--force")
    while True:
        X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0) ** 2
        with h5py.File(good, "w") as file:
            for name, values in {"X": X, "y": y}.items():
                odd = chance.choice(ODD_ARRAYS) if chance.random() < 0.2 else values
                packed = {"compression": "gzip"} if np.ndim(odd) and chance.random() < 0.5 else {}
                file.create_dataset(name, data=odd, **packed)
        content = good.read_bytes()
        yield Case(path, _damaged(content, chance) if chance.random() < 0.8 else content, (words,))


def _predictions(home: Path, chance: random.Random) -> Iterator[Case]:
    """Predictions with odd bytes, for which the record of a careful forger vouches in every second case."""
    results = _results(home)
    folder = results.folder("gp", 0)
    good, vouching = (
        (folder / record.PREDICTIONS).read_bytes(),
        json.loads((folder / record.RECORD).read_text()),
    )
    words = ("report", str(results.root), "--out", str(home / "out"))
    while True:
        content = _damaged(good, chance)
        if chance.random() < 0.5:
            vouching["predictions_sha256"] = hashlib.sha256(content).hexdigest()
        (folder / record.RECORD).write_text(json.dumps(_sealed(vouching)))
        yield Case(folder / record.PREDICTIONS, content, (words,))


def _pages(home: Path, chance: random.Random) -> Iterator[Case]:
    """Odd manifests, records and scores shown as a page with all plots; slow, so one case stands for many."""
    kinds = [_stored(file, (("--html",),))(home / file, chance) for file in STORED]
    while True:
        yield next(chance.choice(kinds))


def _checkpoints(home: Path, chance: random.Random) -> Iterator[Case]:
    """States of small fits with odd bytes: the fit must end as it does without them."""
    rng = np.random.default_rng(chance.randrange(2**31))
    X = rng.uniform(-2, 2, (24, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(24)
    passes = "natural(n_passes=2)"
    models: list[Any] = [
        SVGP(n_inducing=4, batch_size=8, max_iter=4, random_state=0),
        DVSHGP(n_experts=2, n_inducing_f=4, n_inducing_g=4, n_jobs=1, optimizer=passes, random_state=0),
    ]  # fmt: skip
    path, states = home / "checkpoint.h5", []
    for model in models:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "EVERY", 0.0)
            expected = model.fit(X, y, checkpoint=path).predict(X).tobytes()
        states.append((model, path.read_bytes(), expected))
        path.unlink()

    while True:
        model, good, expected = chance.choice(states)

        def fit(model: Any = model, expected: bytes = expected) -> int:
            return 0 if model.fit(X, y, checkpoint=path).predict(X).tobytes() == expected else 1

        yield Case(path, _damaged(good, chance), (fit,))


def _damaged(content: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, removed, added or cut off."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        place, kind = (
            chance.randrange(len(damaged) + 1),
            chance.choice(["flip", "flip", "odd", "cut", "zeros"]),
        )
        if kind == "flip" and place < len(damaged):
            damaged[place] ^= 1 << chance.randrange(8)
        elif kind == "odd":
            damaged[place : place + chance.choice((0, 1, 8))] = chance.choice(ODD_BYTES)
        elif kind == "cut":
            del damaged[place if chance.random() < 0.5 else max(place, len(damaged) - 8) :]
        else:
            damaged[place : place + 64] = bytes(min(64, len(damaged) - place))
    return bytes(damaged)


def _results(home: Path) -> Results:
    """A results folder with two small experiments, and their scores."""
    results = Results(home / "results", n_test=12, n_train=20)
    results.experiment("demo", [Fake("gp"), Fake("linear")], seeds=1)
    results.experiment("other", [Fake("linear")], seeds=1)
    CliRunner().invoke(app, ["report", str(results.root)])
    return results


def _sealed(body: dict[str, Any]) -> dict[str, Any]:
    """A body with the checksum that it should have."""
    bare = {key: value for key, value in body.items() if key != "checksum"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return {**bare, "checksum": hashlib.sha256(text.encode()).hexdigest()}


def _stored(
    file: str, formats: tuple[Words, ...] = FORMATS
) -> Callable[[Path, random.Random], Iterator[Case]]:
    """Cases of a JSON file of a results folder; half of them with the checksum of a careful forger."""

    def cases(home: Path, chance: random.Random) -> Iterator[Case]:
        results = _results(home)
        folder = results.root / "demo" if file == manifest.MANIFEST else results.folder("gp", 0)
        good = json.loads((folder / file).read_text())
        while True:
            body = copy.deepcopy(good)
            for _ in range(chance.randint(1, 3)):
                body = _with(body, chance, copy.deepcopy(chance.choice(ODD_JSON)))
            if chance.random() < 0.7 and isinstance(body, dict):
                body = _sealed(body)
            content = json.dumps(body).encode()
            if chance.random() < 0.1:
                content = content[: chance.randrange(len(content))]
            where = ("report", str(results.root), "--out", str(home / "out"))
            yield Case(folder / file, content, ((*where, *chance.choice(formats)),))

    return cases


def _mutant(good: dict[str, Any], chance: random.Random) -> bytes:
    """YAML of a good body in which a few values, keys or pieces of text are odd."""
    body: Any = copy.deepcopy(good)
    marks = {f"odd{number}odd": chance.choice(ODD_YAML) for number in range(chance.randint(1, 3))}
    for mark in marks:
        body = _with(body, chance, mark)
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True)
    for mark, odd in marks.items():
        text = text.replace(mark, odd)
    if chance.random() < 0.2:
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(ODD_YAML) + text[place + chance.randint(0, 3) :]
    return text.encode("utf-8", errors="surrogatepass")


def _with(body: Any, chance: random.Random, odd: Any) -> Any:
    """The body with one thing in it replaced, removed, renamed or added."""
    if not isinstance(body, dict | list) or not body or chance.random() < 0.02:
        return odd
    keys = list(body) if isinstance(body, dict) else list(range(len(body)))
    key = chance.choice(keys)
    deeper = isinstance(body[key], dict | list) and body[key] and chance.random() < 0.7
    kind = "deeper" if deeper else chance.choice(["replace", "replace", "replace", "remove", "rename", "add"])
    if kind == "deeper":
        body[key] = _with(body[key], chance, odd)
    elif kind == "remove":
        del body[key]
    elif kind == "rename" and isinstance(body, dict):
        body[str(odd)] = body.pop(key)
    elif kind == "add" and isinstance(body, list):
        body.append(odd)
    else:
        body[key] = odd
    return body


KINDS: dict[str, Callable[[Path, random.Random], Iterator[Case]]] = {
    "configs": _configs,
    "cards": _cards,
    "tables": _tables,
    "manifests": _stored(manifest.MANIFEST),
    "records": _stored(record.RECORD),
    "scores": _stored(SCORES),
    "archives": _archives,
    "hdf5": _hdf5,
    "predictions": _predictions,
    "checkpoints": _checkpoints,
    "pages": _pages,
}
SHARE = {"pages": 0.02}  # of the cases of other kinds: each takes seconds
