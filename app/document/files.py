"""Notebook files on disk: bounded reading, atomic writing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ...engine.ir import Refusal, TilewrightError
from .cells import Document, read_document

MAX_BYTES = 2_000_000
"""Larger files are refused: no notebook written by hand or by drags comes near."""


class DocumentError(TilewrightError):
    """A notebook file that cannot be read, written or edited as asked."""


def load_document(path: str | Path) -> Document:
    """The notebook at `path`. Raises DocumentError "no-such-file", "not-a-file", "file-too-large", "not-utf-8", "unreadable"."""
    path = Path(path)
    try:
        if path.is_dir():
            raise DocumentError(Refusal("not-a-file", f"{path} is a directory", expected="a notebook file"))
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # not by its size: a device or a pipe does not tell
        if len(data) > MAX_BYTES:
            raise DocumentError(
                Refusal("file-too-large", f"{path} is too large", expected=f"at most {MAX_BYTES} bytes")
            )
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise DocumentError(Refusal("no-such-file", f"there is no file {path}")) from None
    except UnicodeDecodeError as error:
        raise DocumentError(
            Refusal("not-utf-8", f"{path} is not UTF-8 text (byte {error.start})", expected="a Python file in UTF-8")
        ) from None
    except OSError as error:
        raise DocumentError(Refusal("unreadable", f"cannot read {path}: {error.strerror}")) from None
    return read_document(text, str(path))


def save_document(document: Document, path: str | Path | None = None) -> Document:
    """Write the document to `path` (or where it came from) so that a reader sees the old file or the new one, never a part.

    The text goes to a temporary file beside the target, is flushed to the disk, then renamed over it. Returns the document with its path.
    """
    target = Path(path or document.path or "")
    if not target.name:
        raise DocumentError(Refusal("no-path", "the notebook has no file yet", expected="a path to save it to"))
    # A link is written through, so that it stays a link.
    real = Path(os.path.realpath(target))
    try:
        _replace_file(real, document.text.encode("utf-8"))
    except OSError as error:
        raise DocumentError(Refusal("unwritable", f"cannot write {target}: {error.strerror}")) from error
    return Document(document.cells, str(target))


def _replace_file(target: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), _mode_for(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _mode_for(target: Path) -> int:
    """The permissions of the file that is replaced; readable by all for a new one, as editors do."""
    return target.stat().st_mode & 0o777 if target.exists() else 0o644


def _sync_directory(folder: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
