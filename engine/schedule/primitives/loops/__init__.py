"""Primitives on loops: split, fuse, reorder, tile, kinds of loops, pipelines."""
