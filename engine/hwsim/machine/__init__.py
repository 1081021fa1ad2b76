"""Machines: their parts and figures as values, the TOML file, and its validation."""
