"""The documentation site: `make docs`, without a network; a warning is an error.

Sphinx, and not MkDocs: the docstrings are numpydoc, which Sphinx reads as scikit-learn's own site does; MyST
has the Markdown that the pages were written in already; and MyST-NB runs the notebooks, which are text that a
diff can show, whenever the site is built.
"""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from hgpbench import __version__
from hgpbench.models import MODELS

project = "hgpbench"
author = "The hgpbench developers"
copyright = "the hgpbench developers, MIT licence"  # Sphinx asks for this name
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "mathml"]
exclude_patterns = ["_build", "_ext", "results/*.md"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 900  # seconds a cell, which takes ten on an idle core
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types of parameters in words
numpydoc_show_class_members = False
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"hgpbench {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Take entries of the index that end in a question mark where there is such a page; list all models."""

    def choose(app: Sphinx, name: str, source: list[str]) -> None:
        if name == "index":
            source[0] = re.sub(r"^(\w+)\?\n", _where_there_is_one, source[0], flags=re.MULTILINE)

        if name == "api":
            listed = "\n".join(f".. autoclass:: {model.__name__}" for model in MODELS.values())
            source[0] = source[0].replace("every model\n", f"{listed}\n")

    app.connect("source-read", choose)


def _where_there_is_one(entry: re.Match[str]) -> str:
    page = Path(__file__).parent / f"{entry[1]}.md"
    return f"{entry[1]}\n" if page.is_file() else ""
