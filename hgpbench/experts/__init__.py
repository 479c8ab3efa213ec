"""Rows in groups, and who works on them: experts, their owners in processes, and the fits of all together."""
