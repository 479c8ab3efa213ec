"""Experiment files for the tests: one with every key, one with a quick variant."""

from pathlib import Path

from hgpbench import config
from hgpbench.config import yamlfile

GOOD = """\
name: demo
title: A demonstration
dataset: sarcos:subset
split: {train: 500, test: 0.25}
repeats: 3
limits: {wall: 1h30m, memory: 16GB, threads: 2}
models:
  mean:
  linear: {}
  fine: {model: gp, max_iter: 100, tol: 1e-3}
  coarse: {model: gp}
sweep:
  fine: {max_iter: [10, 20], tol: [0.1, 1e-2]}
  coarse: [{max_iter: 5}, {max_iter: 6, tol: 1}]
"""

QUICK = """\
name: demo
dataset: sarcos
split: {train: 40000, test: 8933}
repeats: 10
models:
  mean:
  fine: {model: gp, max_iter: 100, tol: 0.1}
  coarse: {model: gp}
sweep:
  fine: {max_iter: [10, 20]}
quick:
  dataset: sarcos:subset
  split: {train: 300, test: 100}
  repeats: 2
  models: {fine: {tol: 0.5}}
  sweep: {fine: {max_iter: [3]}}
  leave_out: [coarse]
"""


def parse(text: str, quick: bool = False) -> config.Experiment:
    return config.check(yamlfile.parse(text, Path("mine.yaml")), quick)
