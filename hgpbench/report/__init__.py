"""Reports on stored runs: scores computed from predictions, tables, tests, plots, one page of HTML."""

from hgpbench.report.assemble import Report, build
from hgpbench.report.render import FORMATS

__all__ = ["FORMATS", "Report", "build"]
