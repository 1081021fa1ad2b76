"""A folder of programs as one text, which lists and opens each of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from ....engine.adopt import has_records_only, packed
from ....engine.cancellation import checkpoint
from ....engine.ir import Refusal
from ...limits import LIMITS
from ..cells import Document, read_document
from .read_write import DocumentError, load_document

MOST_FILES = 2_000
_SKIPPED = frozenset(("__pycache__", "node_modules", "build", "dist", "site-packages"))
_ENDINGS = frozenset(
    (".py", ".ipynb", ".txt", ".md", ".rst", ".html", ".htm", ".eml", ".diff", ".patch", ".json", ".tir", "")
)


def is_text_file(name: str) -> bool:
    """Whether a file may have programs, by its name."""
    return Path(name).suffix.lower() in _ENDINGS


def folder_text(folder: Path, without: Collection[Path] = ()) -> str:
    """Return the files of a folder that may have programs, as the text of an archive. Hidden folders, links, and the folders `without` are
    passed over. Raises DocumentError "too-large", "unreadable"."""
    found: dict[str, bytes] = {}
    rest = LIMITS.carrier_bytes
    for path in _files(folder, without):
        checkpoint()
        with suppress(OSError), open(path, "rb", opener=_opened) as file:
            data = file.read(rest + 1)
            rest -= len(data)
            if rest < 0 or len(found) >= MOST_FILES:
                expected = f"at most {LIMITS.carrier_bytes} bytes in {MOST_FILES} files of text"
                raise DocumentError(Refusal("too-large", f"the folder {folder} is too large", expected=expected))
            found[path.relative_to(folder).as_posix()] = data
    return packed(found)


def _files(folder: Path, without: Collection[Path]) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        if Path(parent) in without:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(files):
            if is_text_file(name) and not name.startswith("."):
                yield Path(parent, name)


def _opened(path: str, flags: int) -> int:
    """Open a regular file: links, pipes and devices raise OSError."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError
    return descriptor


def with_workloads(document: Document) -> Document:
    """A file of tuning records with the lines of the workloads beside it, if there are any."""
    path = Path(document.path or "")
    if not has_records_only(document.text) or "tuning_record" not in path.name:
        return document
    beside = path.with_name(path.name.replace("tuning_record", "workload"))
    if not beside.is_file():
        return document
    workloads = load_document(beside).text
    return read_document(f"{workloads.rstrip()}\n{document.text}", document.path)


__all__ = ["folder_text", "is_text_file", "with_workloads"]
