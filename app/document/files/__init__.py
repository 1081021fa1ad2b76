"""Notebooks on disk: reading and writing, the history of a file, and three-way merge."""
