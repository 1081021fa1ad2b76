"""Where buffers are allocated and how large they are: PlanAndUpdateBufferAllocationLocation, CompactBufferAllocation."""
