"""TVMScript parser: from text to syntax tree to program, without running the text."""
