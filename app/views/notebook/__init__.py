"""The notebook column: cells, schedule steps with what each changed, versions and the status of the file."""
