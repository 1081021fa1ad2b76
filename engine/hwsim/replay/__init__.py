"""The replay: tasks against the clocks of engines, ports and cells, the timeline and the occupancy of memories."""
