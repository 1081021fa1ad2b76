"""Memory accesses: where buffers lie, bank conflicts, descriptors, vector lanes and ports."""
