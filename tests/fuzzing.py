"""Structured fuzz of every file that a user or a damaged disk may hand to a command.

A case is a file made of a good one by a few odd values, and the command that reads it. ``run`` performs any
number of them from a seed; each must end with exit code 0, 2 or 3, without a traceback, and a refusal is one
line. A longer run takes another seed and a larger count; a case is repeated by its kind, seed and number.
"""

import copy
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from hgpbench.bench import manifest, record
from hgpbench.cli import app
from hgpbench.report.digest import SCORES
from tests.report.conftest import Fake, Results

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
    "models": {"mean": None, "gp": {"max_iter": 10, "restarts": 1}, "fine": {"model": "dvshgp", "skip_tol": 0.1}, "other": {"model": "linear"}},
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
TABLE = b"a,b,y\n1,2,3\n4,5,6.5\n7,8,-9\n10,11,12\n"


@dataclass(frozen=True)
class Case:
    """Content for a file, and the commands that will read it."""

    path: Path
    content: bytes
    commands: tuple[tuple[str, ...], ...]


def run(seed: int, count: int, folder: Path, kinds: tuple[str, ...] = ()) -> Counter[str]:
    """Perform so many cases of each kind in an empty current folder; how many ended in which way."""
    endings: Counter[str] = Counter()
    for kind in kinds or tuple(KINDS):
        home = folder / kind
        home.mkdir(parents=True)
        for number, case in zip(
            range(count), KINDS[kind](home, random.Random(f"{kind} {seed}")), strict=False
        ):
            before = case.path.read_bytes() if case.path.exists() else None
            case.path.write_bytes(case.content)
            for words in case.commands:
                code = _performed(words, f"{kind}, seed {seed}, case {number}", case)
                endings[f"{kind} {code}"] += 1
            if before is None:
                case.path.unlink(missing_ok=True)
            else:
                case.path.write_bytes(before)
    return endings


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


def _stored(file: str) -> Callable[[Path, random.Random], Iterator[Case]]:
    """Cases of a JSON file of a results folder; half of them with the checksum of a careful forger."""

    def cases(home: Path, chance: random.Random) -> Iterator[Case]:
        results = Results(home / "results", n_test=12, n_train=20)
        results.experiment("demo", [Fake("gp"), Fake("linear")], seeds=1)
        results.experiment("other", [Fake("linear")], seeds=1)
        CliRunner().invoke(app, ["report", str(results.root)])
        folder = results.root / "demo" if file == manifest.MANIFEST else results.folder("gp", 0)
        good = json.loads((folder / file).read_text())
        while True:
            body = copy.deepcopy(good)
            for _ in range(chance.randint(1, 3)):
                body = _with(body, chance, copy.deepcopy(chance.choice(ODD_JSON)))
            if chance.random() < 0.7 and isinstance(body, dict):
                body.pop("checksum", None)
                text = json.dumps(body, sort_keys=True, separators=(",", ":"))
                body["checksum"] = hashlib.sha256(text.encode()).hexdigest()
            content = json.dumps(body).encode()
            if chance.random() < 0.1:
                content = content[: chance.randrange(len(content))]
            kind = chance.choice(["md", "md", "latex", "csv", "json"])
            where = ("report", str(results.root), "--out", str(home / "out"))
            yield Case(folder / file, content, ((*where, "--format", kind),))

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
}
