"""Edits of a notebook's text: calls, cells, branches, names and parameters, as functions from document to document."""
