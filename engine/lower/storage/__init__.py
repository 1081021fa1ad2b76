"""Placement and size of buffers: PlanAndUpdateBufferAllocationLocation, CompactBufferAllocation."""
