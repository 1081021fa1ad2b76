"""What is shown, as one frozen value, and the results that are derived from it."""
