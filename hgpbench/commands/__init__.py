"""The commands, one file for each or for those that belong together.

A file that ``hgpbench --help`` has to read imports heavy modules inside its functions.
"""
