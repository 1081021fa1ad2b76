"""The earlier versions of the notebook's file: time and changes of each, and the diff of a restore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...document.files.history import Version
from ...state.model import State
from ..labels.values import Value
from .code import CodeLine, marked

AROUND = 2
"""Lines that stay, above and below those that would change."""


class FileVersion(Value, frozen=True):
    """A version with its time in milliseconds since 1970 and its changes; `now`: it is the current text."""

    number: int
    at: int
    what: str
    now: bool


class FileVersions(Value, frozen=True):
    """The earlier versions of the file `name`, and the diff of the chosen one against the notebook."""

    name: str
    chosen: int
    versions: list[FileVersion]
    lines: list[CodeLine]


def versions_value(state: State) -> FileVersions | None:
    """The versions; None while they are hidden."""
    if state.looked_back is None or state.notebook is None:
        return None
    found, chosen = state.looked_back.versions, state.looked_back.version
    now = state.notebook.document.text
    return FileVersions(
        state.file.name if state.file is not None else "",
        state.looked_back.chosen,
        [
            FileVersion(version.number, round(version.at * 1000), what, version.text == now)
            for version, what in zip(found, state.looked_back.changes, strict=True)
        ],
        [] if chosen is None else _changes(now, chosen.text),
    )


def changes_of(versions: Sequence[Version]) -> tuple[str, ...]:
    """A one-line summary of each version's changes. Slow for long texts; computed once, in a thread."""
    lines = {version.number: version.text.splitlines() for version in versions}
    return tuple(_what(version, lines) for version in versions)


def _what(version: Version, lines: dict[int, list[str]]) -> str:
    """The first line that a version added or removed, and the number of further ones."""
    old, new = lines.get(version.parent), lines[version.number]
    if old is None:
        return "first version" if not version.parent else "edited"
    added, gone = _only_in(new, old), _only_in(old, new)
    if not added and not gone:
        return "reordered or blank lines"
    sign, line = ("+", added[0]) if added else ("−", gone[0])
    more = len(added) + len(gone) - (2 if added and gone else 1)
    return f"{sign} {line}" + (f", and {more} more line{'s' if more > 1 else ''}" if more > 0 else "")


def _only_in(lines: list[str], others: list[str]) -> list[str]:
    """Lines with something in them that the others do not have, or not so often."""
    left = Counter(others)
    found: list[str] = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        elif line.strip():
            found.append(line.strip())
    return found


def _changes(now: str, then: str) -> list[CodeLine]:
    """The lines that a restoration would change, their neighbours, and a gap for omitted lines."""
    lines = marked(now, then)
    near = {m for n, line in enumerate(lines) if line.mark for m in range(n - AROUND, n + AROUND + 1)}
    shown: list[CodeLine] = []
    for n, line in enumerate(lines):
        if n in near:
            shown.append(line)
        elif shown and shown[-1].mark != "gap":
            shown.append(CodeLine(None, "", "gap"))
    return shown[:-1] if shown and shown[-1].mark == "gap" else shown
