"""The equations, in the symbols of NOTATION.md: numpy, scipy and `la` only; no files, no printing."""
