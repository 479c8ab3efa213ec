"""A ledger: a folder of lines, one file an experiment, which a report can be made of as of a results folder.

What was run on several machines, or long ago, comes together here. Lines of one table must have been made by
the same code of each model, on the same data, whatever the commit; others are refused, or marked on request.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hgpbench import files
from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.errors import RecordError
from hgpbench.report.collect import Collection, Experiment, Run
from hgpbench.report.lines import Line
from hgpbench.words import listed, printable

SUFFIX = ".jsonl"
Key = tuple[str, int]  # label and seed
Fate = Literal["new", "as it was", "replaced", "kept"]
Stale = Callable[[Line], bool]  # whether other code than today's made a line
_MOST_SEEDS = 12  # in words


@dataclass(frozen=True)
class Plan:
    """What an experiment should have: its title, and the seeds of its labels in their order."""

    title: str = ""
    seeds: Mapping[str, tuple[str, Sequence[int]]] = field(default_factory=dict)  # label: model, seeds


@dataclass(frozen=True)
class Outcome:
    """What became of a line that was brought to a ledger, and why the older one stayed where it did."""

    line: Line
    fate: Fate
    why: str = ""


def is_ledger(path: Path) -> bool:
    """Whether a path is a folder of lines, or one file of them."""
    return path.suffix == SUFFIX or (path.is_dir() and any(path.glob(f"*{SUFFIX}")))


def names(folder: Path) -> list[str]:
    """The experiments that a ledger has lines of."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def read(path: Path) -> list[Line]:
    """The lines of one file; RecordError names the first that is none."""
    lines = []
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: unreadable ({error})") from error
    for number, each in enumerate(text.splitlines(), start=1):
        try:
            line = Line.read(each)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"{path}:{number}: {printable(str(error))[:200]}") from None
        if line.experiment != path.stem:
            raise RecordError(
                f"{path}:{number}: is a run of {printable(line.experiment)}, not of {path.stem}"
            )
        lines.append(line)
    keys = [(line.label, line.seed) for line in lines]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise RecordError(f"{path}: has two lines of {printable(twice[0])}, seed {twice[1]}; remove one")
    return lines


def write(path: Path, lines: Iterable[Line]) -> None:
    """Store the lines of one experiment, by label and seed: the same lines as the same file, none as none."""
    ordered = sorted(lines, key=lambda line: (line.label, line.seed))
    text = "".join(f"{line.text()}\n" for line in ordered)
    if not ordered and not path.exists():
        return
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        files.write_text(path, text)


def merge(known: Sequence[Line], new: Sequence[Line], stale: Stale, replace: bool = False) -> list[Outcome]:
    """What becomes of every line: those known come first; a finished one is never lost to one that is not.

    A line takes the place of an older one where this was made by other code than today's, or did not end
    well, or where ``replace`` says so.
    """
    by_key = {(line.label, line.seed): line for line in known}
    outcomes = dict[Key, Outcome]()
    for line in new:
        key = line.label, line.seed
        outcomes[key] = _fate(by_key.get(key), line, stale, replace)
    rest = [Outcome(line, "as it was") for key, line in by_key.items() if key not in outcomes]
    return [*rest, *outcomes.values()]


def _fate(old: Line | None, new: Line, stale: Stale, replace: bool) -> Outcome:
    if old is None:
        return Outcome(new, "new")
    if old.text() == new.text():
        return Outcome(old, "as it was")
    if replace:
        return Outcome(new, "replaced", "as was asked")
    if old.is_done and not new.is_done:
        return Outcome(old, "kept", f"the other ended otherwise ({new.record.status})")
    if new.is_done and not old.is_done:
        return Outcome(new, "replaced", f"the older ended otherwise ({old.record.status})")
    if stale(old) and (not stale(new) or new.begun > old.begun):
        return Outcome(new, "replaced", "the older was made by other code than today's")
    if old.setting != new.setting and new.begun > old.begun and not stale(new):
        return Outcome(new, "replaced", "the older had other settings")
    return Outcome(old, "kept", "it is finished and not stale; --replace takes the other")


def collect(
    path: Path,
    plans: Callable[[str], Plan],
    only: Sequence[str] = (),
    mixed: bool = False,
    clean: bool = False,
) -> Collection:
    """The experiments of a ledger: all, or the named ones in their order.

    RecordError where a table would mix code or data, unless that is asked for: then its labels are marked.
    Where it must be ``clean``, so for runs of a source tree with uncommitted changes.
    """
    found = [path] if path.suffix == SUFFIX else [path / f"{name}{SUFFIX}" for name in only or names(path)]
    experiments = []
    for file in found:
        lines = read(file)
        if not lines:
            raise RecordError(f"{file}: no line; bring some by `hgpbench export RESULTS {path}`")
        labels = differing(lines) | (unclean(lines) if clean else {})
        if labels and not mixed:
            said = "; ".join(dict.fromkeys(labels.values()))
            raise RecordError(
                f"{file}: made by different code or data: {said}. Run again what is "
                "old and export it, or say --mixed, which marks them"
            )
        experiments.append(_experiment(lines, plans(file.stem), frozenset(labels)))
    return Collection(tuple(experiments))


def differing(lines: Sequence[Line]) -> dict[str, str]:
    """Labels whose finished runs, or those of the same model, differ in code or data; and in what."""
    groups: dict[tuple[str, str], dict[str, list[Line]]] = {}
    for line in lines:
        if line.is_done:
            data = f"{line.record.dataset.get('sha256')} {sorted(line.record.split.items())}"
            for what, value in ((line.record.model, str(line.record.code)), ("the data", data)):
                groups.setdefault((what, what), {}).setdefault(value, []).append(line)
            asked = "settings of", line.label
            groups.setdefault(asked, {}).setdefault(line.setting, []).append(line)
    found = dict[str, str]()
    for (what, name), parts in groups.items():
        if len(parts) > 1:
            said = f"{what if what == name else f'{what} {name}'} ({_parts(parts.values())})"
            for line in (each for part in parts.values() for each in part):
                found.setdefault(line.label, said)
    return {label: found[label] for label in sorted(found)}


def unclean(lines: Sequence[Line]) -> dict[str, str]:
    """Labels with finished runs of a source tree that had uncommitted changes; and which runs."""
    found = [
        line
        for line in lines
        if line.is_done and (line.record.provenance.get("source") or {}).get("git_dirty")
    ]
    said = f"uncommitted changes ({_parts([found])})" if found else ""
    return dict.fromkeys(sorted({line.label for line in found}), said)


def _parts(parts: Iterable[Sequence[Line]]) -> str:
    """Which runs are of which kind, in few words."""
    return " against ".join(
        listed([f"{line.label} {line.seed}" for line in part], _MOST_SEEDS)
        for part in sorted(parts, key=lambda part: min(line.begun for line in part))
    )


def _experiment(lines: Sequence[Line], plan: Plan, mixed: frozenset[str]) -> Experiment:
    """The lines as an experiment; what its plan has beyond them is not run."""
    runs = {(line.label, line.seed): line.run() for line in lines}
    for label, (model, seeds) in plan.seeds.items():
        for seed in seeds:
            entry = Entry(label, model, seed, "", "")
            runs.setdefault((label, seed), Run(entry, Path(), "not run", is_line=True))
    places = list(dict.fromkeys([*plan.seeds, *sorted(line.label for line in lines)]))
    ordered = tuple(runs[key] for key in sorted(runs, key=lambda key: (places.index(key[0]), key[1])))
    record = next((line for line in lines if line.is_done), lines[0]).record
    about = {name: record.dataset.get(name) for name in ("name", "variant")}
    entries = tuple(run.entry for run in ordered)
    manifest = Manifest(lines[0].experiment, plan.title, about, record.split, entries)
    return Experiment(manifest, ordered, mixed)
