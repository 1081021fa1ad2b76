"""Reading and writing of notebook files: bounded reads, and atomic writes that never silently overwrite another program's changes."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ....engine.adopt import archive_text, is_carrier
from ....engine.ir import Refusal, TilewrightError
from ...folders.state import sync_folder
from ...limits import LIMITS
from ..cells import Document, read_document

MAX_BYTES = LIMITS.file_bytes
"""The maximum file size in bytes; notebooks written by hand or by drags are far smaller."""

STALE_SECONDS = 60
"""The age from which a temporary file counts as left by a server that was killed between write and rename."""

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
"""Python's declaration of an encoding, in one of the first two lines (PEP 263)."""

_UTF8 = frozenset({"utf-8", "utf8", "utf_8", "utf-8-sig", "ascii", "us-ascii"})

_WHY = {
    errno.ENOSPC: ("no-space", "the disk is full", "free disk space; then the file is saved automatically"),
    errno.EDQUOT: ("no-space", "the disk quota is exceeded", "free disk space; then the file is saved automatically"),
    errno.EFBIG: ("no-space", "the file would exceed the size limit of the disk", "a larger limit, or another folder"),
    errno.EIO: ("disk-error", "the disk reports an error", "a working disk; use Save as"),
    errno.EROFS: ("read-only", "the disk is read-only", "another folder; use Save as"),
    errno.EACCES: (
        "read-only",
        "no permission to write to the folder",
        "write permission, or another folder; use Save as",
    ),
    errno.EPERM: ("read-only", "no permission to replace the file", "write permission, or another folder; use Save as"),
    errno.ENOENT: ("no-folder", "its folder does not exist", "the folder, or another one; use Save as"),
    errno.ENOTDIR: ("no-folder", "its folder does not exist", "the folder, or another one; use Save as"),
}


class DocumentError(TilewrightError):
    """A notebook file that cannot be read, written or edited as requested."""


class FileVersion(NamedTuple):
    """The metadata that identifies a file's state; a difference means that the text may have changed."""

    inode: int
    size: int
    mtime_ns: int


def stamp_of(path: Path, *, follow: bool = True) -> FileVersion | None:
    """The version of a file; None if there is no file. Raises DocumentError "unreadable"; "not-a-file" for a folder, and if not `follow`,
    also for a link or a pipe."""
    try:
        found = path.stat() if follow else path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DocumentError(Refusal("unreadable", f"cannot read {path.name}: {error.strerror}")) from error
    if stat.S_ISDIR(found.st_mode):
        raise DocumentError(Refusal("not-a-file", f"{path} is a directory", expected="a notebook file"))
    if not follow:
        _require_regular(found.st_mode, path)
    return FileVersion(found.st_ino, found.st_size, found.st_mtime_ns)


def _require_regular(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "not a regular file"
        raise DocumentError(Refusal("not-a-file", f"{path} is {kind}", expected="a notebook file"))


def load_document(path: str | Path) -> Document:
    """The notebook at `path`. Raises DocumentError "no-such-file", "not-a-file", "file-too-large", "not-utf-8", "name-not-utf-8",
    "unreadable"."""
    require_utf8_name(path)
    return read_document(read_text(Path(path))[0], str(path))


def shown_path(path: str | Path) -> str:
    """The path for people: bytes of a name that are not UTF-8 are escaped, as in caf\\xe9.py."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def require_utf8_name(path: str | Path) -> None:
    """Raise DocumentError "name-not-utf-8" if the path has bytes that are not UTF-8: no page, address or JSON answer can contain it."""
    shown = shown_path(path)
    if shown != str(path):
        raise DocumentError(
            Refusal(
                "name-not-utf-8", "the file's name is not UTF-8", found=shown, expected="a name in UTF-8: rename it"
            )
        )


def real_path(path: Path) -> Path | None:
    """The path with links resolved; None for a link cycle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def read_text(path: Path, *, follow: bool = True) -> tuple[str, FileVersion]:
    """The text of a file, and the file's version before the read. Raises the errors of `load_document`.

    If not `follow`, only a regular file is read: links are not followed, and pipes and devices cannot block.
    """
    try:
        stamp = stamp_of(path, follow=follow)
        if stamp is None:
            raise DocumentError(Refusal("no-such-file", f"there is no file {path}"))
        with open(path, "rb", opener=None if follow else _open_regular) as file:
            return read_stream(file, str(path)), stamp
    except OSError as error:
        raise DocumentError(Refusal("unreadable", f"cannot read {path}: {error.strerror}")) from None


def _open_regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _require_regular(os.fstat(descriptor).st_mode, Path(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of an open file or pipe, called `name` in messages. Raises DocumentError "file-too-large", "not-utf-8"; OSError."""
    most = LIMITS.carrier_bytes
    data = stream.read(most + 1)  # devices and pipes report no size
    archive = archive_text(data) if len(data) <= most else None
    if archive is not None:
        return archive
    if len(data) > MAX_BYTES and (len(data) > most or not is_carrier(data.decode("utf-8", "replace"))):
        most = most if len(data) > most else MAX_BYTES
        raise DocumentError(Refusal("file-too-large", f"{name} is too large", expected=f"at most {most} bytes"))
    return _decoded(data, name)


def _decoded(data: bytes, path: str) -> str:
    """The text of UTF-8 bytes. Raises DocumentError "not-utf-8" with the apparent encoding."""
    expected = "a Python file in UTF-8"
    declared = _declared(data)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentError(
            Refusal("not-utf-8", f"{path} is UTF-16 text", found="its byte order mark", expected=expected)
        )
    if declared is not None and not data.isascii():
        raise DocumentError(
            Refusal("not-utf-8", f"{path} is not UTF-8 text", found=f"it declares {declared}", expected=expected)
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            Refusal("not-utf-8", f"{path} is not UTF-8 text (byte {error.start}, line {line})", expected=expected)
        ) from None


def _declared(data: bytes) -> str | None:
    """The declared encoding of a Python file, if it is not UTF-8."""
    for line in data.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line.removeprefix(b"\xef\xbb\xbf"))
        if found is not None:
            name = found[1].decode("ascii", "replace")
            return None if name.lower().replace("_", "-") in _UTF8 or name.lower() in _UTF8 else name
        if line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None


def encoded(text: str) -> bytes:
    """The bytes of a text. Raises DocumentError "not-utf-8" for lone surrogates, and for non-ASCII text with another declared encoding."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DocumentError(
            Refusal("not-utf-8", "the text contains an unpaired surrogate", found=ascii(text[error.start]))
        ) from None
    declared = None if data.isascii() else _declared(data)
    if declared is not None:
        raise DocumentError(
            Refusal(
                "not-utf-8",
                f"the file declares {declared}, but the text has non-ASCII characters",
                expected="utf-8 in the declaration",
            )
        )
    return data


def save_document(document: Document, path: str | Path | None = None) -> Document:
    """Write the document to `path` (default: its own path) with `write_text`. Returns the document with its path."""
    target = Path(path or document.path or "")
    if not target.name:
        raise DocumentError(Refusal("no-path", "the notebook has no file yet", expected="a path to save it to"))
    write_text(target, document.text)
    return Document(document.cells, str(target))


ANY = FileVersion(-1, -1, -1)
"""A value for `known` that disables the check for foreign changes."""


def write_text(target: Path, text: str, known: FileVersion | None = ANY) -> FileVersion:
    """Write the file with `replace_text`; for a link, write its target, so that the link stays."""
    return replace_text(Path(os.path.realpath(target)), text, known, temporary_name(target), shown=target)


def replace_text(
    target: Path, text: str, known: FileVersion | None, temporary: str, *, shown: Path | None = None
) -> FileVersion:
    """Write the file atomically, so that a reader sees the old or the new text, also after a crash. Returns its version.

    The text is written to the file `temporary` beside the target, synced, then renamed over the target; links are not followed. Messages
    call the file `shown`. Raises DocumentError: "changed-on-disk" if the file's version differs from `known` (None: no file),
    "read-only", "no-space", "no-folder", "disk-error", "not-a-file", "not-utf-8", "file-too-large", "unwritable".
    """
    shown = shown or target
    data = encoded(text)
    if len(data) > MAX_BYTES:
        raise DocumentError(
            Refusal("file-too-large", "the notebook is too large", f"{len(data)} bytes", f"at most {MAX_BYTES} bytes")
        )
    try:
        before = stamp_of(target, follow=False)
        if before is not None and not target.lstat().st_mode & 0o222:
            raise DocumentError(
                Refusal(
                    "read-only",
                    f"{shown.name} is read-only",
                    expected="write permission, or another folder; use Save as",
                )
            )
        return _replace_file(target, data, known, target.parent / temporary)
    except OSError as error:
        code, words, expected = _WHY.get(error.errno or 0, ("unwritable", str(error.strerror), ""))
        raise DocumentError(Refusal(code, f"cannot write {shown}: {words}", f"{error.strerror}", expected)) from error


def temporary_name(target: Path) -> str:
    """An unused name for a temporary file beside the target; it contains the target's name."""
    return f".{target.name[:50]}.{secrets.token_hex(8)}.tmp"


def _replace_file(target: Path, data: bytes, known: FileVersion | None, temporary: Path) -> FileVersion:
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _look_like(target, file.fileno(), temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            made = os.fstat(file.fileno())
        if known is not ANY and stamp_of(target, follow=False) != known:  # as late as possible
            raise DocumentError(Refusal("changed-on-disk", f"another program changed {target.name}"))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)
    return FileVersion(made.st_ino, made.st_size, made.st_mtime_ns)


def _look_like(target: Path, descriptor: int, temporary: Path) -> None:
    """Copy permissions, owner and extended attributes of the replaced file; a new file is readable by all, as with editors."""
    try:
        before = target.lstat()
    except FileNotFoundError:
        os.fchmod(descriptor, 0o644)
        return
    with suppress(OSError):  # only root can change the owner
        os.fchown(descriptor, before.st_uid, before.st_gid)
    try:
        shutil.copystat(target, temporary, follow_symlinks=False)
    except OSError:
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def clear_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove temporary files of these names that a killed server left in the folder. Links are not followed."""
    for name in names:
        path = folder / name
        with suppress(OSError):  # another process may have removed it
            found = path.lstat()
            if path.parent == folder and stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > STALE_SECONDS:
                path.unlink()
