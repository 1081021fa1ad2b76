"""Primitives that move or inline blocks: compute_at, inline, rolling buffers; and the targets of a move."""
