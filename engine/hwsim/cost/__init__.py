"""The cost of a task on its engine, lower bounds, and estimates without a simulation."""
