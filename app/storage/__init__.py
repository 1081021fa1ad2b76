"""The files that a server has open: shared text, history writer, file on disk, and the registry of open files."""
