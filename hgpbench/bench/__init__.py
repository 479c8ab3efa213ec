"""Runs: what they are, how they are planned, executed under supervision and recorded."""
