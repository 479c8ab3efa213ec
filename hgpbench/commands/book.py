"""The page of ``hgpbench report LINES --page FILE``: its pictures, and its text."""

from pathlib import Path

from hgpbench.commands import ledgers
from hgpbench.commands.leads import supplement
from hgpbench.errors import ConfigError
from hgpbench.paper import book, figures
from hgpbench.report import ledger
from hgpbench.report.document import Document, write_up

PICTURES = "figures"


def read(lines: Path, mixed: bool) -> Document:
    """All that the page tells; RecordError where lines of one table do not belong together."""
    if not ledger.is_ledger(lines) or not lines.is_dir():
        raise ConfigError(f"{lines}: --page is made of a folder of lines; `hgpbench export` makes one")
    names = book.ordered(ledger.names(lines))
    return write_up(ledgers.reader(mixed, clean=True)(lines, None, names), supplement(lines))


def draw(document: Document, page: Path) -> list[Path]:
    """Draw the pictures that the paper's figures ask for; those of earlier runs go."""
    from hgpbench import files
    from hgpbench.report import pictures

    experiments = document.experiments
    headings = {each.name: figures.heading(each) for each in experiments}
    drawn = pictures.draw(experiments, kinds=figures.wanted(experiments), headings=headings)
    folder = page.with_suffix("") / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, made in drawn.items():
        for picture in made:
            path = folder / f"{name}-{picture.name}.png"
            with files.replacing(path) as part:
                part.write_bytes(picture.png)
            written.append(path)
    for old in set(folder.glob("*.png")) - set(written):
        old.unlink()
    return written


def text(document: Document, page: Path, lines: Path) -> str:
    """The page with the pictures that are there, and the words by hand that stand beside them."""
    folder = page.with_suffix("")
    hand = (folder / name for name in (book.PREFACE, book.CRITERIA))
    written = book.Written(*(each.read_text(encoding="utf-8") if each.is_file() else "" for each in hand))
    drawn = sorted(path.stem for path in (folder / PICTURES).glob("*.png"))
    place = lines.as_posix()
    command = f"hgpbench report {place} --page {page.as_posix()}"
    return book.text(document, written, drawn, f"{folder.name}/{PICTURES}", command)
