"""One reader of a closed subset of Python: the text of programs, schedules and what is around them. Nothing is executed."""
