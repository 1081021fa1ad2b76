"""Replay of a program on the cores of a chip."""
