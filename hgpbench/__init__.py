"""hgpbench: benchmarks for large-scale heteroscedastic Gaussian-process regression."""

__version__ = "0.1.0"
