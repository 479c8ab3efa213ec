"""This one paper: its experiments, its printed numbers and its claims, set against the runs."""
