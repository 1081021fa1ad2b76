"""The open files of a server: shared text, history writer, file on disk, and the registry of open files."""
