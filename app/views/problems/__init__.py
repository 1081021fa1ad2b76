"""The problems pane: errors, lints and their fixes."""
