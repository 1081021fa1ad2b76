"""Primitives that make one block of many statements: blockize, tensorize."""
