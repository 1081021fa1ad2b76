"""Machines: their parts and parameters as values, the TOML file, and its validation."""
