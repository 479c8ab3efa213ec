"""Tables as people write them, whose numbers are known, and damaged ones: through ``compare`` to its answer.

``run`` draws any number of them from a seed. A table that is only written oddly must be stored as the numbers
that it was made of, and its answer must be the right one; one that is damaged must end as well, or in one line
and exit code 2. Runs are performed in this process, without pictures: the import, the plan, the fits, records,
scores and the answer are those of the command.
"""

import bz2
import csv
import gzip
import io
import lzma
import math
import random
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hgpbench.bench import campaign, child, forks
from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record
from hgpbench.cli import app
from hgpbench.data import store
from hgpbench.report import pictures
from tests.fuzzing import ODD_BYTES

CITIES = ("Bonn", "Lima", "Oslo", "Rome")
EFFECT = dict(zip(CITIES, (0.0, 1.5, 3.0, -2.0), strict=True))
MARKERS = ("", "NA", "?", "nan", "NULL")
RULES = ("drop", "mean", "flag")
PACKED = {".csv": bytes, ".csv.gz": gzip.compress, ".csv.xz": lzma.compress, ".csv.bz2": bz2.compress}
REFUSED = {  # what makes a table one that must be refused, and what the line must say
    "text in numbers": "is not a number",
    "one cell more": "more cells",
    "two of a name": "more than once",
    "no target": "has no column 'y'",
    "infinite": "not finite",
    "missing": "--missing drop",
    "short": "too few to compare",
}


@dataclass(frozen=True)
class Table:
    """What a file is made of: rows of a, b, c, d and y, None where a cell is missing."""

    a: list[float | None]
    b: list[float]
    c: list[str | None]
    d: list[int]  # days since 2021-01-01
    y: list[float]

    def numbers(self, rule: str) -> tuple[np.ndarray, np.ndarray]:
        """The inputs and targets that an import should find, written here once more."""
        a = np.array([np.nan if cell is None else cell for cell in self.a])
        c = np.array(["" if cell is None else cell for cell in self.c])
        fine = ~np.isnan(a) & (c != "")
        seen = [city for city in CITIES if city in self.c]
        one_hot = np.array([[float(cell == city) for city in seen] for cell in c])
        one_hot[c == ""] = one_hot[c != ""].mean(axis=0)
        filled = np.where(np.isnan(a), np.nanmean(a), a)
        flags = {"a": [np.isnan(a)], "c": [c == ""]} if rule == "flag" else {}
        days = np.array(self.d, dtype=float) - min(self.d)
        asked = [name for name, has in (("a", np.isnan(a).any()), ("c", (c == "").any())) if has]
        columns = [filled, *(flags.get("a", []) if "a" in asked else []), np.array(self.b), *one_hot.T]
        columns += [*(flags.get("c", []) if "c" in asked else []), days]
        kept = fine if rule == "drop" else np.ones(len(a), dtype=bool)
        return np.column_stack(columns).astype(float)[kept], np.array(self.y)[kept]


@dataclass(frozen=True)
class Case:
    """A file, the options to read it by, and what should become of it."""

    suffix: str
    content: bytes
    words: tuple[str, ...]
    table: Table | None = None  # its numbers, where it is only written oddly
    rule: str = "error"
    refusal: str = ""


def drawn(chance: random.Random) -> Table:
    """A table of which a linear model explains most."""
    n = chance.randint(58, 75)
    a, b = ([round(chance.uniform(-3, 3), 3) for _ in range(n)] for _ in range(2))
    c = [CITIES[place % 4] for place in range(n)]
    chance.shuffle(c)
    d = [chance.randint(0, 500) for _ in range(n)]
    y = [round(2 * a[i] - 3 * b[i] + EFFECT[c[i]] + 0.01 * d[i] + chance.gauss(0, 0.2), 4) for i in range(n)]
    return Table([*a], b, [*c], d, y)


def case(chance: random.Random) -> Case:
    """One table, written in one of many ways; half of them are damaged besides."""
    table, rule = drawn(chance), "error"
    if chance.random() < 0.5:
        rule = chance.choice(RULES)
        a: list[float | None] = [None if chance.random() < 0.05 else cell for cell in table.a]
        c: list[str | None] = [None if chance.random() < 0.05 else cell for cell in table.c]
        table = replace(table, a=a, c=c)
        if rule == "drop" and sum(x is not None and z is not None for x, z in zip(a, c, strict=True)) < 52:
            rule = "mean"
    kind = chance.choice(("written", "written", "damaged", "damaged", "refused"))
    if kind == "refused":
        return _refused(table, rule, chance)
    content, suffix, words = _written(table, rule, chance)
    if kind == "written":
        return Case(suffix, PACKED[suffix](content), words, table, rule)
    plain = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(plain) + 1)
        plain[place : place + chance.choice((0, 0, 1, 3, 40))] = chance.choice(ODD_BYTES)
    packed = PACKED[suffix](bytes(plain))
    return Case(suffix, packed[: len(packed) - 9] if chance.random() < 0.05 else packed, words)


def _refused(table: Table, rule: str, chance: random.Random) -> Case:
    why = chance.choice(sorted(REFUSED))
    rows = _rows(table, "NA")
    at = chance.randrange(1, len(rows))
    words = ("--missing", rule) if rule != "error" else ()
    if why == "text in numbers":
        rows[at][1] = "hello"
    elif why == "one cell more":
        rows[at].append("7")
    elif why == "two of a name":
        rows[0][0] = "b"
    elif why == "no target":
        rows[0][4] = "z"
    elif why == "infinite":
        rows[at][chance.choice((1, 4))] = "inf"
    elif why == "missing":
        rows[at][1], words = "NA", ()
    else:
        rows = rows[:40]
        words = ("--missing", "mean")
    text = "".join(f"{','.join(row)}\n" for row in rows)
    return Case(".csv", text.encode(), words, rule=rule, refusal=REFUSED[why])


def _rows(table: Table, marker: str) -> list[list[str]]:
    start = np.datetime64("2021-01-01")
    rows = [["a", "b", "c", "d", "y"]]
    for a, b, c, d, y in zip(table.a, table.b, table.c, table.d, table.y, strict=True):
        rows.append(
            [
                marker if a is None else repr(a),
                repr(b),
                marker if c is None else c,
                str(start + np.timedelta64(d, "D")),
                repr(y),
            ]
        )
    return rows


def _written(table: Table, rule: str, chance: random.Random) -> tuple[bytes, str, tuple[str, ...]]:
    """The table as text, with everything that may differ drawn."""
    marker = chance.choice((*MARKERS, "-99"))
    rows, words = _rows(table, marker), ["--missing", rule] if rule != "error" else []
    if marker == "-99":
        words += ["--na", "-99"]
    delimiter = chance.choice(",;\t|")
    if delimiter != "," and chance.random() < 0.4:
        for row in rows[1:]:
            for place in (0, 1, 4):
                row[place] = row[place].replace(".", ",")
    if chance.random() < 0.2:  # R's
        for number, row in enumerate(rows):
            row.insert(0, str(number) if number else "")
    if chance.random() < 0.15:
        rows[0] = [f" {name} " for name in rows[0]]
    out = io.StringIO()
    quoting: Any = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    ends = chance.choice(("\n", "\n", "\r\n"))
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ends).writerows(rows)
    text = chance.choice(("", "", ends)) + out.getvalue() + chance.choice(("", "", ends))
    encoding = chance.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16"))
    if chance.random() < 0.2:
        words += ["--delimiter", delimiter]
    return text.encode(encoding), chance.choice((".csv", ".csv", *PACKED)), tuple(words)


class Straight:
    """Performs runs where it is, one after the other; their records are those of a process of their own."""

    def __init__(self, results: Path, origin: dict[str, Any], **_: Any) -> None:
        self.results, self.origin, self.taken = results, origin, set[str]()

    def run(self, jobs: list[Job]) -> dict[str, Record | None]:
        for job in jobs:
            folder = self.results / job.folder
            folder.mkdir(parents=True, exist_ok=True)
            child._run(folder, job, self.origin, lambda *_: None)
        return {job.identity: records.find(self.results / job.folder) for job in jobs}


def run(seed: int, count: int, home: Path) -> Counter[str]:
    """So many tables in an empty current folder; how many ended in which way."""
    endings: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "Supervisor", Straight)
        patch.setattr(forks, "warm", lambda: None)
        patch.setattr(pictures, "PLOTS", ())
        for number in range(count):
            one = case(random.Random(f"{seed} {number}"))
            endings[_ending(one, f"seed {seed}, case {number}", home)] += 1
    return endings


def _ending(one: Case, name: str, home: Path) -> str:
    path = home / f"t{one.suffix}"
    path.write_bytes(one.content)
    words = ("compare", str(path), "--target", "y", *one.words, "--models", "mean,linear", "--repeats", "3")
    result = CliRunner().invoke(app, list(words))
    shown = f"{name}: {words}\n{one.content[:1500]!r}\n{result.stderr}\n{result.stdout}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"traceback: {shown}") from result.exception
    assert result.exit_code in {0, 2}, shown
    assert not {"\x1b", "\u202e", "\0"} & set(result.stdout + result.stderr), shown
    left = [str(path) for path in Path().rglob(".*") if path.suffix in {".part", ".fetch"}]
    assert not left, shown
    if result.exit_code == 2:
        assert result.stderr.count("\n") == 1, shown
        assert not list(Path().rglob("experiment.json")), shown
        assert one.table is None, f"refused: {shown}"
        assert one.refusal in result.stderr, shown
        ended = "refused as it should be" if one.refusal else "damaged: one line"
    else:
        assert not one.refusal, f"taken: {shown}"
        _check(one, result.stdout, shown)
        ended = "the right answer" if one.table else "damaged: an answer"
    for folder in (Path("datasets"), Path("results")):
        shutil.rmtree(folder, ignore_errors=True)
    path.unlink()
    return ended


def _check(one: Case, said: str, shown: str) -> None:
    """The stored numbers are those of the table, and the answer is the right one."""
    stored = store.read(Path("datasets/t.h5"))
    assert np.isfinite(stored.X).all(), shown
    assert np.isfinite(stored.y).all(), shown
    assert f"fits linear to all {len(stored.y):,} rows" in said or "Best: linear" not in said, shown
    assert said.startswith("## t: Which model for y?\n"), shown
    if one.table is None:
        return
    X, y = one.table.numbers(one.rule)
    assert stored.X.shape == X.shape, shown
    np.testing.assert_allclose(stored.X, X, rtol=1e-12, atol=1e-12, err_msg=shown)
    np.testing.assert_array_equal(stored.y, y, err_msg=shown)
    if one.rule == "drop" or not {None} & {*one.table.a, *one.table.c}:  # filled cells may be far off
        assert "- Best: linear. " in said, shown
        explained = float(said.partition("explains ")[2].partition(" %")[0])
        assert math.isclose(explained, 98, abs_tol=3), shown
