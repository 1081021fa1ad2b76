"""The page of a model: its figures, its kernels as a list, its graph, and an inference over time."""
