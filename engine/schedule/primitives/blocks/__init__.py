"""Primitives that wrap statements in one block: blockize, tensorize."""
