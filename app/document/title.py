"""The title of a notebook."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from .cells import Document, read_document
from .workload import program_names

LONGEST = 200
"""The maximum length of a heading's line in characters; title bars, lists and file names show the title."""


def title_of(document: Document, named: str = "", *, in_file: bool = True) -> str:
    """The first heading of a notebook; else `named`, the file's stem (if `in_file`; False for drafts), or the program's name."""
    heading = heading_of(document)
    if heading is not None:
        return heading
    names = program_names(document)
    return named or (Path(document.path).stem if document.path and in_file else names[-1] if names else "Untitled")


def heading_of(document: Document) -> str | None:
    """The first level-1 heading as plain text."""
    for cell in document.of_kind("markdown"):
        for line in cell.prose.splitlines():
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
