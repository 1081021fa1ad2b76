"""The choice of candidates to evaluate: sampling, local search on estimates, the candidate pool, and the loop over batches."""
