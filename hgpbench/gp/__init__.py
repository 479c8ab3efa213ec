"""The equations: numpy and scipy only, functions and small frozen results; no files, no printing."""
