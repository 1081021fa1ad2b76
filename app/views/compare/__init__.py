"""The comparison of two programs: aligned trees, differences of figures, both timelines on one scale."""
