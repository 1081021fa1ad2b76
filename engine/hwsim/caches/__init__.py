"""Caches: the access stream of a program, hits and misses at each level, and what tasks wait for."""
