"""Reports on stored runs: scores computed from predictions, tables, tests, plots, one page of HTML."""

from hgpbench.report.assemble import FOLDER, Report, build
from hgpbench.report.render import brief

__all__ = ["FOLDER", "Report", "brief", "build"]
