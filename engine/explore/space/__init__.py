"""The search space: a schedule whose lines have holes, the values of each, and spaces that are derived from a program and a machine."""
