"""Build the report: read the runs, write the tables, plots and page that were asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hgpbench import files
from hgpbench.errors import ConfigError
from hgpbench.report import latex, render
from hgpbench.report.collect import Collection, Progress, collect
from hgpbench.report.document import Document, write_up
from hgpbench.report.render import NO_PICTURES, Pictures
from hgpbench.report.supplement import Supplier, nothing

FOLDER = "report"

Texts = dict[str, str]  # by file name, the one to print first
Reader = Callable[[Path, Progress | None, Sequence[str]], Collection]


@dataclass(frozen=True)
class Report:
    """What to print, what was written, and what could not be read; the document is what was rendered."""

    document: Document
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
    supplier: Supplier = nothing,
    wide: bool = False,
    reader: Reader = collect,
) -> Report:
    """Report on a results folder, or the named experiments in it, or one experiment's folder.

    The text is that of the first format. Files are written to ``out``; without it only plots and page are, to
    ``report`` inside ``path``. The supplier adds what is not said by the runs alone. Wide tables of Markdown
    stay in one piece where that is asked for. A reader finds the experiments of what is no results folder.
    """
    _check(formats)
    document = write_up(reader(path, progress, names), supplier)
    folder = out if out is not None else path / FOLDER
    written: list[Path] = []
    pictures = NO_PICTURES
    if plot or html:
        # Loaded here, because matplotlib takes a second that a plain table need not wait for.
        from hgpbench.report.page import page
        from hgpbench.report.pictures import draw, save

        drawn = draw(document.experiments, document.closings)
        if plot:
            pictures, written = save(drawn, folder)
        if html:
            written.append(_write(folder / "report.html", page(document, drawn)))
    if out is not None:
        for name in formats:
            tables = _TEXTS[name](document, pictures, wide)
            written += [_write(folder / file, text) for file, text in tables.items()]
    texts = _TEXTS[formats[0]](document, NO_PICTURES, wide)
    return Report(document, next(iter(texts.values())), tuple(written), document.problems)


def _markdown(document: Document, pictures: Pictures, wide: bool) -> Texts:
    return {"report.md": render.markdown(document, pictures, wide)}


def _latex(document: Document, pictures: Pictures, wide: bool) -> Texts:
    return {"report.tex": latex.latex(document)}


def _json(document: Document, pictures: Pictures, wide: bool) -> Texts:
    return {"report.json": render.as_json(document)}


def _csv(document: Document, pictures: Pictures, wide: bool) -> Texts:
    return {
        "summary.csv": render.summary_csv(document.experiments),
        "runs.csv": render.runs_csv(document.experiments),
        "comparisons.csv": render.comparisons_csv(document.experiments),
    }


_TEXTS: dict[str, Callable[[Document, Pictures, bool], Texts]] = {
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
