"""Edits of a notebook's text: calls, cells, branches, names and parameters, each a function from document to document."""
