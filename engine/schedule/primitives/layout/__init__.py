"""Primitives on layouts and memory: transform_layout, scopes, alignment, padding."""
