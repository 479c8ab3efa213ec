"""Experiment files: YAML in, a frozen Experiment out, or one line that says what is wrong and where."""

from hgpbench.config.experiment import (
    MAX_RUNS,
    QUICK,
    Entry,
    Experiment,
    TablePath,
    check,
    load,
    load_all,
)
from hgpbench.config.schema import CLASS, Limits, SplitConfig, json_schema

__all__ = [
    "CLASS",
    "MAX_RUNS",
    "QUICK",
    "Entry",
    "Experiment",
    "Limits",
    "SplitConfig",
    "TablePath",
    "check",
    "json_schema",
    "load",
    "load_all",
]
