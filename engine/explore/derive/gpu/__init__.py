"""Rules for machines whose work is done by threads, as of a GPU."""
