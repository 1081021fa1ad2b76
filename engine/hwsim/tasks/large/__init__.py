"""Tasks of more points than are evaluated at once."""
