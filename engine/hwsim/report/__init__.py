"""The report: metrics of a replay and findings."""
