"""A program as tasks: its loop nest, the work of each leaf, the engine that runs it, and classes of equivalent iterations."""
