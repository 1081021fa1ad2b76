"""The contents of a cache that all cores share, by the order in which blocks are handed out."""
