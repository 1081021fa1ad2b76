"""The text of a TileLang kernel as its schedule: the literals that feed its values, and edits of its statements."""
