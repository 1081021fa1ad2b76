"""The Explore pane: the space, the progress of the search, and its candidates."""
