"""Notebooks on disk: reading, writing, edit history, and three-way merge."""
