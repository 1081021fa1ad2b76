"""Primitives that copy buffers: caches, copies at a loop, reindexed copies, index tables."""
