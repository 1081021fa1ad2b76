"""Drafts: notebooks that were edited, pasted or uploaded and are in no file of the user's. The server keeps each draft in a separate file
in the user's state folder until the notebook is saved elsewhere or discarded."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..folders.user import state_folder

FOLDER = "drafts"

_NAME = re.compile(r"[0-9a-f]{12}")


def drafts_folder() -> Path | None:
    """The folder of this user's drafts; None if the state folder cannot be used. Edits then stay on their page."""
    try:
        folder = state_folder() / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return None if folder.is_symlink() else folder


def new_draft(folder: Path) -> Path:
    """A path for a new draft."""
    return folder / f"{secrets.token_hex(6)}.py"


def draft_file(folder: Path | None, name: str) -> Path:
    """The file of the draft that an address names. Raises DocumentError "no-such-draft"."""
    if folder is None or not _NAME.fullmatch(name):
        raise no_such_draft(name)
    return folder / f"{name}.py"


def no_such_draft(name: str) -> DocumentError:
    """The error for an address without a draft."""
    return DocumentError(Refusal("no-such-draft", f"this server has no draft {name[:40]!r}"))


__all__ = ["draft_file", "drafts_folder", "new_draft", "no_such_draft"]
