"""Analyses of the visible views: what each computes, piece by piece in a thread."""
