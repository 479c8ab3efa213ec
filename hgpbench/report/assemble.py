"""Build the report: read the runs, write the tables, plots and page that were asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hgpbench import files
from hgpbench.errors import ConfigError
from hgpbench.report import latex, render
from hgpbench.report.collect import Collection, Progress, collect
from hgpbench.report.document import Closing, Section, closing, section
from hgpbench.report.render import Pictures

FOLDER = "report"

Sections = Sequence[Section]
Texts = dict[str, str]  # by file name, the one to print first


@dataclass(frozen=True)
class Report:
    """What to print, what was written, and what could not be read."""

    text: str
    files: tuple[Path, ...]
    problems: tuple[str, ...]


def build(
    path: Path,
    out: Path | None = None,
    formats: Sequence[str] = ("md",),
    plot: bool = False,
    html: bool = False,
    names: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Report on a results folder, or the named experiments in it, or one experiment's folder.

    The text is that of the first format. Files are written to ``out``; without it only plots and page are, to
    ``report`` inside ``path``.
    """
    _check(formats)
    collection = collect(path, progress, names)
    sections = [section(experiment) for experiment in collection.experiments]
    end = closing(collection.experiments)
    folder = out if out is not None else path / FOLDER
    written: list[Path] = []
    pictures: Pictures = {}
    if plot or html:
        # Loaded here, because matplotlib takes a second that a plain table need not wait for.
        from hgpbench.report.page import page
        from hgpbench.report.pictures import draw, save

        drawn = draw(collection.experiments)
        if plot:
            pictures, written = save(drawn, folder)
        if html:
            written.append(_write(folder / "report.html", page(sections, drawn, collection.problems, end)))
    if out is not None:
        for name in formats:
            tables = _TEXTS[name](collection, sections, pictures, end)
            written += [_write(folder / file, text) for file, text in tables.items()]
    texts = _TEXTS[formats[0]](collection, sections, {}, end)
    return Report(next(iter(texts.values())), tuple(written), collection.problems)


def _markdown(collection: Collection, sections: Sections, pictures: Pictures, end: Closing) -> Texts:
    return {"report.md": render.markdown(sections, pictures, collection.problems, end)}


def _latex(collection: Collection, sections: Sections, pictures: Pictures, end: Closing) -> Texts:
    return {"report.tex": latex.latex(sections, end)}


def _json(collection: Collection, sections: Sections, pictures: Pictures, end: Closing) -> Texts:
    return {"report.json": render.as_json(sections, collection.problems, end)}


def _csv(collection: Collection, sections: Sections, pictures: Pictures, end: Closing) -> Texts:
    return {
        "summary.csv": render.summary_csv(collection.experiments),
        "runs.csv": render.runs_csv(collection.experiments),
        "comparisons.csv": render.comparisons_csv(collection.experiments),
    }


_TEXTS: dict[str, Callable[[Collection, Sections, Pictures, Closing], Texts]] = {
    "md": _markdown,
    "csv": _csv,
    "latex": _latex,
    "json": _json,
}


def _check(formats: Sequence[str]) -> None:
    unknown = [name for name in formats if name not in _TEXTS]
    if unknown or not formats:
        named = f"format {unknown[0]!r}" if unknown else "no format"
        raise ConfigError(f"{named}: allowed are {', '.join(_TEXTS)}")


def _write(path: Path, text: str) -> Path:
    files.write_text(path, text)
    return path
