"""The title of a notebook."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from msgspec.structs import replace

from .cells import Document, read_document
from .workload import program_names

LONGEST = 200
"""The maximum length of a heading's line in characters; title bars, lists and file names show the title."""


LONGEST_SENTENCE = 80
"""The maximum length of a sentence that serves as a title."""

_POLITE = re.compile(r"(?:hey|hi|hello|dear|thanks|thank you|please|good (?:morning|day))\b", re.IGNORECASE)
_SENTENCE = re.compile(r"\w+\W+\w+\W+\w+")


def title_of(document: Document, named: str = "", *, in_file: bool = True) -> str:
    """The first heading of a notebook; else `named`, the file's stem (if `in_file`; False for drafts), or the program's name."""
    heading = heading_of(document)
    if heading is not None:
        return heading
    if named or (document.path and in_file):
        return named or Path(document.path or "").stem
    names = program_names(document)
    return first_sentence(document) or (names[-1] if names else "Untitled")


def first_sentence(document: Document) -> str:
    """The first sentence of the prose that says something, shortened; "" without prose. Greetings and thanks say nothing."""
    cells = document.of_kind("markdown")
    prose = _without_code(cells[0].prose) if cells else ""
    for paragraph in re.split(r"\n\s*\n", prose):
        for sentence in re.split(r"(?<=[.!?])(?<!\bQ\d\.)\s+(?=[A-Z])", plain(paragraph)):
            if _SENTENCE.search(sentence) and not _POLITE.match(sentence):
                return textwrap.shorten(sentence.rstrip(" .:"), LONGEST_SENTENCE, placeholder="…")
    return ""


def _without_code(prose: str) -> str:
    """The prose without its fenced code."""
    return re.sub(r"^ *(```+|~~~+).*?(?:^ *\1|\Z)", "", prose, flags=re.MULTILINE | re.DOTALL)


def heading_of(document: Document) -> str | None:
    """The first level-1 heading as plain text."""
    for cell in document.of_kind("markdown"):
        for line in _without_code(cell.prose).splitlines():
            if line.startswith("# ") and (words := plain(line[2:LONGEST])):
                return words
    return None


def with_heading(document: Document, title: str) -> Document:
    """The document with `title` as its heading."""
    line = f"# {plain(title)}"
    for cell in document.of_kind("markdown"):
        mark = "" if cell.body.lstrip().startswith(('"""', "'''")) else "# "
        body = re.sub(rf"^{mark}# \S.*", lambda _: mark + line, cell.body, count=1, flags=re.MULTILINE)  # noqa: B023 - called at once
        if body != cell.body or heading_of(Document((cell,))) == plain(title):
            cells = tuple(replace(one, text=cell.marker + body) if one is cell else one for one in document.cells)
            return replace(document, cells=cells)
    newline = document.newline
    return read_document(f"# %% [markdown]{newline}# {line}{newline}{newline}{document.text}", document.path)


def plain(markdown: str) -> str:
    """The Markdown text without emphasis and code marks, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"\*\*|`|(?<!\w)\*|\*(?!\w)", "", markdown)).strip()


__all__ = ["heading_of", "plain", "title_of", "with_heading"]
