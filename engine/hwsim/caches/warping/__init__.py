"""Misses of levels by warping: trees of loops, the classes of a level, and what the levels request from each other."""
