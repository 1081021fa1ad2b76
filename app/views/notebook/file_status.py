"""The status of the notebook's file on the page: saving, changes by other programs, and merge conflicts."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ...document.files.history import BUSY
from ...document.files.merging import MergeConflict, Part
from ...state.model import FileStatus, State
from ..labels.values import Value

_SHORT = {
    "no-space": "the disk is full",
    "disk-error": "the disk reports an error",
    "read-only": "read-only",
    "gone": "the file was deleted or moved",
    "not-a-file": "the path is a folder",
    "no-folder": "its folder does not exist",
    "not-utf-8": "not UTF-8 text",
    "file-too-large": "too large",
}

MOST_LINES = 400
"""The maximum number of lines shown for each side of a conflict."""


SaveStatus = Literal["none", "new", "saving", "saved", "failed", "asking"]


class Reader(Value, frozen=True):
    """Another page on the file: its reader's name, the selected step, counted from 1 (0: the last), and the selected row of the tree."""

    name: str
    step: int
    row: str


class FileLabel(Value, frozen=True):
    """The notebook's file: its name, "" without one, its status with text and hint; `folder`: there is a place to save it to; `others` are
    the other pages on it."""

    name: str
    status: SaveStatus
    text: str
    hint: str
    folder: bool
    others: Sequence[Reader] = ()


class OtherProgram(Value, frozen=True):
    """Another program of the text that was opened."""

    number: int
    label: str


class PageLink(Value, frozen=True):
    """A worked example or a page of the guide: its address or its name, and its title."""

    path: str
    title: str


class Banner(Value, frozen=True, omit_defaults=True):
    """A message above the notebook. `others` are the other programs of the text that was opened; `model`: its graph
    can be opened as a model. `links` are worked examples, `guide` pages of the guide, `calls` primitives of a post, whose documentation
    is offered."""

    kind: str
    text: str
    count: int | None
    others: tuple[OtherProgram, ...] = ()
    model: bool = False
    links: tuple[PageLink, ...] = ()
    guide: tuple[PageLink, ...] = ()
    calls: tuple[str, ...] = ()


class ConflictPlace(msgspec.Struct, frozen=True):
    """A place of a merge conflict: its line in our text, our lines and theirs."""

    line: int
    ours: str
    theirs: str


class FileConflict(msgspec.Struct, frozen=True):
    """The merge conflicts of a file: an `id` for all of them, and `who` made the other text, "page" or "program"."""

    id: str
    who: Literal["page", "program"]
    places: list[ConflictPlace]


class Clash(Value, frozen=True):
    """A merge conflict with the line above and below it, which both sides have."""

    line: int
    ours: list[str]
    theirs: list[str]
    above: list[str]
    below: list[str]


class ConflictQuestion(Value, frozen=True):
    """The question about the merge conflicts of the file `name`."""

    who: Literal["page", "program"]
    name: str
    clashes: list[Clash]


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """The file for programs."""

    name: str = ""
    draft: bool = False
    status: SaveStatus = "none"
    durable: bool = False
    error: Any = None
    notice: str = ""
    conflict: FileConflict | None = None


def file_value(state: State) -> FileLabel:
    """The status of the notebook's file, for the top bar."""
    folder = bool(state.folder)
    if state.file is None:
        hint = "This notebook has no file. Its edits exist on this page only."
        hint += " Save it to the served folder, or download it." if folder else " Download it to keep it."
        return FileLabel("", "none", "No file", hint, folder)
    status, text, hint = _draft_words(state.file, folder) if state.is_draft else _words(state.file)
    others = [Reader(other.name, other.step, other.row) for other in state.file.others]
    return FileLabel("" if state.is_draft else state.file.name, status, text, hint, folder, others)


def _draft_words(file: FileStatus, folder: bool) -> tuple[SaveStatus, str, str]:
    status, text, hint = _words(file)
    if status not in ("saved", "saving", "new") or file.save.no_history is not None:
        return status, text, hint
    saving = "Save writes it to the served folder." if folder else "Download it to get a file."
    return "none", "Draft", f"The server keeps every edit, and the start screen lists this draft. {saving}"


def _words(file: FileStatus) -> tuple[SaveStatus, str, str]:
    save, name = file.save, file.name
    if file.apart:
        return "asking", "Merge conflict", f"{name}: another page changed the same lines. Choose the version to keep."
    match save.status:
        case "asking":
            return (
                "asking",
                "Merge conflict",
                f"{name}: another program changed the same lines. Choose the version to keep.",
            )
        case "failed":
            assert save.why is not None
            where = (
                "The file's history has your edits."
                if save.durable
                else "Your edits are only in the memory of the server."
            )
            short = _SHORT.get(save.why.code, "see the reason")
            return "failed", f"Not saved: {short}", f"{save.why.message}. {where}"
        case "new":
            return "new", "Not written yet", f"{name} is created at the first edit."
        case "saving":
            return "saving", "Saving…", f"{name}: the last edit is being written."
        case "saved":
            if save.no_history is not None and save.no_history.code == BUSY:
                hint = f"All edits are in {name}. The history is in use by another process and receives them later."
                return "saved", "Saved, history in use", hint
            if save.no_history is not None:
                hint = f"All edits are in {name}. Undo is lost when the server stops: {save.no_history.message}"
                return "saved", "Saved", hint
            return "saved", "Saved", f"All edits are in {name}. Undo works after a restart."


def file_banners(state: State) -> list[Banner]:
    """The banners above the notebook: a failed save with its reason, an open merge conflict, changes by others."""
    if state.file is None:
        return []
    status, _, hint = _words(state.file)
    if status == "failed":
        why = state.file.save.why
        needed = f" Required: {why.expected}." if why is not None and why.expected else ""
        return [Banner("unsaved", f"Not saved: {hint}{needed}", None)]
    if status == "asking":
        return [Banner("conflict", hint, None)]
    notice = state.file.save.notice
    return [Banner("notice", notice, None)] if notice else []


def file_state(state: State) -> FileState:
    """The file for programs: name, draft, status, durable, error, notice, and the conflict with another writer."""
    if state.file is None:
        return FileState()
    save, conflict = state.file.save, merge_conflict_value(state.file)
    why = save.why or save.no_history
    return FileState(
        name=state.file.name,
        draft=state.file.is_draft,
        status=save.status if conflict is None else "asking",
        durable=save.durable,
        error=None if why is None else why.to_json(),
        notice=save.notice,
        conflict=conflict,
    )


def merge_conflict_value(file: FileStatus) -> FileConflict | None:
    """The merge conflicts; None without a conflict."""
    who, parts = _conflict_parts(file)
    places = [part for part in parts if isinstance(part, MergeConflict)]
    if not places:
        return None
    found = [ConflictPlace(part.line, part.ours, part.theirs) for part in places]
    return FileConflict(f"{zlib.crc32(repr(parts).encode('utf-8', 'surrogatepass')):08x}", who, found)


def _conflict_parts(file: FileStatus) -> tuple[Literal["page", "program"], tuple[Part, ...]]:
    return ("page", file.apart) if file.apart else ("program", file.save.conflicts)


def question_value(state: State) -> ConflictQuestion | None:
    """The question about merge conflicts; None without a conflict."""
    if state.file is None:
        return None
    who, parts = _conflict_parts(state.file)
    if not _places(parts):
        return None
    return ConflictQuestion(who, state.file.name, [_place(n, parts) for n in _places(parts)])


def _places(parts: tuple[Part, ...]) -> list[int]:
    return [n for n, part in enumerate(parts) if isinstance(part, MergeConflict)]


def _place(at: int, parts: tuple[Part, ...]) -> Clash:
    part = parts[at]
    assert isinstance(part, MergeConflict)
    above, below = parts[at - 1] if at else "", parts[at + 1] if at + 1 < len(parts) else ""
    return Clash(
        part.line,
        _lines(part.ours),
        _lines(part.theirs),
        _lines(above)[-1:] if isinstance(above, str) else [],
        _lines(below)[:1] if isinstance(below, str) else [],
    )


def _lines(text: str) -> list[str]:
    lines = text.splitlines()
    return [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else lines


__all__ = ["file_banners", "file_state", "file_value", "merge_conflict_value", "question_value"]
