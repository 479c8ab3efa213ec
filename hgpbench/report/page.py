"""The report as one self-contained page: its data, its own script, and no address of anything else.

The script is ours rather than a library's: what it draws takes some 60 kB where plotting libraries take from
300 kB to 4 MB in every report; points and curves can be reached by keyboard; no text becomes markup. Without
it the page has the tables and pictures that it has in print.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hgpbench import __version__
from hgpbench.metrics import LEVELS, METRICS
from hgpbench.report import render, summary, tables
from hgpbench.report.document import Document
from hgpbench.report.pictures import Drawn, Picture, styles_of
from hgpbench.report.styles import FAMILIES
from hgpbench.words import printable

TEMPLATE = "page.html.j2"
SCRIPTS = ("tools", "axes", "state", "legend", "table", "scatter", "curves", "drawer", "across", "page")
RANKED_BY = "msll"  # the first column, since it tells of mean and variance at once
LOOKED_AT = ("tradeoff", "noise", "calibration")  # pictures that the script draws anew
_WEB = Path(__file__).with_name("web")
_MOST_SVG_BYTES = 400_000  # a larger drawing is smaller, and quicker to show, as pixels


def page(document: Document, drawn: Drawn) -> str:
    """Render the page."""
    environment = Environment(
        loader=PackageLoader("hgpbench.report", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    pictures = {name: [(each, _address(each)) for each in shown] for name, shown in drawn.items()}
    script = _script()
    return environment.get_template(TEMPLATE).render(
        sections=document.sections,
        pictures=pictures,
        looked_at=LOOKED_AT,
        problems=document.problems,
        closings=[closing for closing in document.closings if closing.tables],
        version=__version__,
        data=render.body(document),
        looks=_looks(document),
        style=(_WEB / "page.css").read_text(encoding="utf-8"),
        script=script,
        # The browser runs this script and no other, whatever a label or a log should smuggle in.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )


def _script() -> str:
    """The parts of the script as one, in a scope of its own."""
    parts = [(_WEB / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n(() => {\n" + "\n".join(parts) + "})();\n"


def _looks(document: Document) -> dict[str, Any]:
    """What quantities are called and how models are drawn: as in the tables and pictures."""
    experiments = document.experiments
    mixtures = any(experiment.has_mixtures for experiment in experiments)
    return {
        "quantities": [_quantity(name, mixtures) for name in dict.fromkeys((RANKED_BY, *summary.QUANTITIES))],
        "styles": {label: style.table() for label, style in styles_of(experiments).items()},
        "families": {name: kin.words for name, kin in FAMILIES.items()},
    }


def _quantity(name: str, has_mixtures: bool) -> dict[str, Any]:
    metric = METRICS.get(name)
    by_level = name in {f"coverage{percent}" for percent in LEVELS if percent != LEVELS[-1]}
    group = "cost" if metric is None else "level" if by_level else "score"
    title = tables.heading(name, has_mixtures)
    return {
        "name": name,
        "title": f"{title} [%]" if by_level else title,
        "scale": 100.0 if by_level else tables.scale(name),
        "group": group,
        "direction": "lower" if metric is None else metric.direction,
        "target": None if metric is None else metric.target,
        "trivial": None if metric is None else metric.trivial,
        "digits": tables.digits(name),
        "log": name in tables.LOGS,
        "unit": metric is not None and metric.in_units,
    }


def _shown(value: object) -> object:
    """Text of others cannot steer the page; what jinja has rendered already is a type of its own."""
    return printable(value) if type(value) is str else value


def _address(picture: Picture) -> str:
    """A data address: an image of its own, so that ids of several drawings cannot clash."""
    small = len(picture.svg) <= _MOST_SVG_BYTES
    kind, content = ("svg+xml", picture.svg) if small else ("png", picture.png)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
