"""TVMScript read as data: text to syntax tree to program."""
