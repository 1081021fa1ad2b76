"""Lines of a record under the names of another program."""

from __future__ import annotations

import ast
from io import StringIO
from tokenize import NAME, STRING, TokenError, TokenInfo, generate_tokens

from .record import Names

SCHEDULE = "sch"
"""The variable of the schedule in the lines of records."""


def renamed_lines(text: str, names: Names, schedule: str, new_schedule: str) -> str:
    """The lines with the names of blocks, buffers and loops exchanged, which are words in strings, and the variable of the schedule.

    Text that is no Python stays as it is, for the reader of schedules to refuse.
    """
    lines = text.splitlines(keepends=True)
    try:
        tokens = list(generate_tokens(StringIO(text).readline))
    except (TokenError, SyntaxError):
        return text
    for token in reversed(tokens):
        new = _renamed(token, names, schedule, new_schedule)
        (row, begin), (last, end) = token.start, token.end
        if new != token.string and row == last <= len(lines):
            line = lines[row - 1]
            lines[row - 1] = f"{line[:begin]}{new}{line[end:]}"
    return "".join(lines)


def renamed_words(text: str, names: Names) -> str:
    """A text, such as the name of a hole, with each word exchanged that is a name."""
    return " ".join(names.get(word, word) for word in text.split(" "))


def _renamed(token: TokenInfo, names: Names, schedule: str, new_schedule: str) -> str:
    if token.type == NAME and token.string == schedule:
        return new_schedule
    if token.type != STRING or len(token.string) < 3 or token.string[0] not in "\"'":
        return token.string
    try:
        content = ast.literal_eval(token.string)
    except (ValueError, SyntaxError):
        return token.string
    new = renamed_words(content, names) if isinstance(content, str) else content
    return token.string if new == content else f'"{new}"'


__all__ = ["SCHEDULE", "renamed_lines", "renamed_words"]
