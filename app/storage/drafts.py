"""Drafts: notebooks that were edited, pasted or uploaded and are in no file of the user's. The server keeps each draft in a separate file
in the user's state folder until the notebook is saved elsewhere or discarded."""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import sys
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError, load_document
from ..document.files.read_write import replace_text, stamp_of, temporary_name
from ..document.networks import is_model
from ..document.title import plain, with_heading
from ..folders.user import state_folder

FOLDER = "drafts"

_NAME = re.compile(r"[0-9a-f]{12}")


def drafts_folder() -> Path | None:
    """The folder of this user's drafts; None if the state folder cannot be used, which is reported on standard error. Edits then stay on
    their page."""
    try:
        folder = state_folder() / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        print(f"tilewright: no drafts and no models on the page: {error.strerror or error}", file=sys.stderr)
        return None
    return None if folder.is_symlink() else folder


def new_draft(folder: Path) -> Path:
    """A path for a new draft."""
    return folder / f"{secrets.token_hex(6)}.py"


def opened_draft(folder: Path, text: str) -> Path:
    """A path for a text that was opened and not edited yet. Equal texts have one path, unless the draft there was edited."""
    path = folder / f"{_digest(text)}.py"
    return new_draft(folder) if path.exists() and not is_untouched(path.stem, _text(path)) else path


def is_untouched(name: str, text: str) -> bool:
    """Whether a draft has the text with which it was opened."""
    return name == _digest(text)


def equal_drafts(path: Path) -> tuple[Path, ...]:
    """The draft, and the others with the same text, which the start page lists as one."""
    text = _text(path)
    others = (other for other in path.parent.glob("*.py") if other != path and text and not other.is_symlink())
    return (path, *(other for other in others if _text(other) == text))


def discard_model(folder: Path | None, name: str) -> None:
    """Delete the folder of a model among the drafts. Raises DocumentError "no-such-draft"."""
    path = None if folder is None else folder / name
    if path is None or path.parent != folder or path.is_symlink() or not (path.is_dir() and is_model(path)):
        raise no_such_draft(name)
    shutil.rmtree(path, ignore_errors=True)


def rename_draft(path: Path, title: str) -> None:
    """Give a draft, or the file of a model among the drafts, a heading. A page that has it open merges the change. Raises the errors of
    `load_document` and `replace_text`, DocumentError "bad-name"."""
    if not plain(title):
        raise DocumentError(Refusal("bad-name", "a draft needs a name"))
    known = stamp_of(path, follow=False)
    replace_text(path, with_heading(load_document(path), title).text, known, temporary_name(path))


def _text(path: Path) -> str:
    try:
        return load_document(path).text
    except DocumentError:
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def draft_file(folder: Path | None, name: str) -> Path:
    """The file of the draft that an address names. Raises DocumentError "no-such-draft"."""
    if folder is None or not _NAME.fullmatch(name):
        raise no_such_draft(name)
    return folder / f"{name}.py"


def no_such_draft(name: str) -> DocumentError:
    """The error for an address without a draft."""
    return DocumentError(Refusal("no-such-draft", f"this server has no draft {name[:40]!r}"))


__all__ = [
    "discard_model",
    "draft_file",
    "drafts_folder",
    "equal_drafts",
    "is_untouched",
    "new_draft",
    "no_such_draft",
    "opened_draft",
    "rename_draft",
]
