"""The database of found schedules: records by structure of the program and by machine, and their use as starting points."""
