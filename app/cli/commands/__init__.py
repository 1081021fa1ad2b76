"""One module for each command: `EXAMPLES`, `add_arguments` and `run` (`CommandModule` in `cli/table.py`)."""
