"""Processes that evaluate candidates: on this machine, and on a Dask cluster."""
