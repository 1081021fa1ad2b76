"""Caches: the access stream of a program, hits and misses at each level, and the stall cycles of tasks."""
