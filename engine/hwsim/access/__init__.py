"""Memory accesses: placement of buffers, bank conflicts, descriptors, vector lanes and ports."""
