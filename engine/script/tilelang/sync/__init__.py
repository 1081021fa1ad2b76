"""Barriers, flags and waits of a kernel: which block waits for which other ones, and the slots of buffers that they guard."""
