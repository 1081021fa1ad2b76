"""The loop tree: rows, costs, drop targets and predictions."""
