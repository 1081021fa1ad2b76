"""The database of found schedules that a search uses: that of the notebook's folder, unless a file is named or it is switched off.

The folder's database is in the user's private state folder, beside the history of the folder: nothing is read from or written to other
folders without a request, and no file that somebody else put into a folder is read.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..document.networks.folder import KERNELS, MODEL
from ..folders.state import folder_state, state_path

FOUND = "found.sqlite3"


class DatabaseChoice(msgspec.Struct, frozen=True):
    """Which database searches use: `file`, that of each notebook's folder without one, none at all if it `is_off`."""

    file: str = ""
    is_off: bool = False

    def path_for(self, notebook: str | Path | None) -> Path | None:
        """The database for the notebook, model or folder at a path; its folder is created. None for a notebook without a file.

        Raises OSError if the state folder cannot be used.
        """
        if self.is_off:
            return None
        if self.file:
            return Path(self.file)
        if notebook is None:
            return None
        folder_state(notebook_folder(notebook))
        return folder_database(notebook)


def folder_database(notebook: str | Path) -> Path:
    """The database of the folder of a notebook or model, or of a folder. Raises OSError if the state folder cannot be used."""
    return state_path(notebook_folder(notebook)) / FOUND


def notebook_folder(notebook: str | Path) -> Path:
    """The folder of a notebook; that of the model for one of its kernels."""
    path = Path(notebook).resolve()
    folder = path if path.is_dir() else path.parent
    is_kernel = folder.name == KERNELS and (folder.parent / MODEL).is_file()
    return folder.parent if is_kernel else folder


__all__ = ["FOUND", "DatabaseChoice", "folder_database", "notebook_folder"]
