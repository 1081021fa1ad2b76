"""The state of a page as one frozen value, and the results that are derived from it."""
