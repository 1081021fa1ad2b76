"""Processes for work that must not harm the one that asks: confined readers of files that libraries parse."""
