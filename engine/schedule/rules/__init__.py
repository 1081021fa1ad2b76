"""Preconditions of schedule calls: affine bindings, block motion, concurrent loops, vectors, layouts."""
