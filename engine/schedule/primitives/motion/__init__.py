"""Primitives that move or dissolve blocks: compute_at, inline, rolling buffers; and the targets of a move."""
