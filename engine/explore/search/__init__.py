"""Which candidates are evaluated: sampling, local search on estimates, the candidate pool, and the loop over batches."""
