"""TVMScript printer."""
