"""Lints of TileLang kernels, whose fixes are edits of the person's text."""
