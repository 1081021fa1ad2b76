"""The critical path of a replay: the search, the path as a value, and the path through repeats that grow."""
