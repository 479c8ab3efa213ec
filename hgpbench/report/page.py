"""The report as one self-contained page: no script, no address of anything else."""

import base64

from jinja2 import Environment, PackageLoader, StrictUndefined

from hgpbench import __version__
from hgpbench.report.document import Document
from hgpbench.report.pictures import Drawn, Picture
from hgpbench.words import printable

TEMPLATE = "page.html.j2"
_MOST_SVG_BYTES = 400_000  # a larger drawing is smaller, and quicker to show, as pixels


def page(document: Document, drawn: Drawn) -> str:
    """Render the page."""
    environment = Environment(
        loader=PackageLoader("hgpbench.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    pictures = {name: [(each, _address(each)) for each in shown] for name, shown in drawn.items()}
    template = environment.get_template(TEMPLATE)
    return template.render(
        sections=document.sections,
        pictures=pictures,
        problems=document.problems,
        closings=[closing for closing in document.closings if closing.tables],
        version=__version__,
    )


def _shown(value: object) -> object:
    """Text of others cannot steer the page; what jinja has rendered already is a type of its own."""
    return printable(value) if type(value) is str else value


def _address(picture: Picture) -> str:
    """A data address: an image of its own, so that ids of several drawings cannot clash."""
    small = len(picture.svg) <= _MOST_SVG_BYTES
    kind, content = ("svg+xml", picture.svg) if small else ("png", picture.png)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
