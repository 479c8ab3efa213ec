"""The report as one self-contained page: no script, no address of anything else."""

import base64
from collections.abc import Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from hgpbench import __version__
from hgpbench.report.document import BEYOND, CLOSING, NO_CLAIMS, Closing, Section
from hgpbench.report.pictures import Picture

TEMPLATE = "page.html.j2"
_MOST_SVG_BYTES = 400_000  # a larger drawing is smaller, and quicker to show, as pixels


def page(
    sections: Sequence[Section],
    drawn: Mapping[str, Sequence[Picture]],
    problems: Sequence[str],
    closing: Closing = NO_CLAIMS,
) -> str:
    """Render the page."""
    environment = Environment(
        loader=PackageLoader("hgpbench.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pictures = {name: [(each, _address(each)) for each in shown] for name, shown in drawn.items()}
    template = environment.get_template(TEMPLATE)
    return template.render(
        sections=sections,
        pictures=pictures,
        problems=problems,
        closing=closing,
        titles={"beyond": BEYOND, "closing": CLOSING},
        version=__version__,
    )


def _address(picture: Picture) -> str:
    """A data address: an image of its own, so that ids of several drawings cannot clash."""
    small = len(picture.svg) <= _MOST_SVG_BYTES
    kind, content = ("svg+xml", picture.svg) if small else ("png", picture.png)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
