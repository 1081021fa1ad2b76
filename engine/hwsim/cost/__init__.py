"""What a task costs on its engine, lower bounds, and estimates without a simulation."""
