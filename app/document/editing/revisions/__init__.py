"""Revisions of steps: other arguments or another place for a line, with the later lines applied again."""
