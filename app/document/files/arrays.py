"""Files of integers: `.npy` of NumPy, for the data of a program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....engine.data import MOST_ELEMENTS
from ....engine.ir import Refusal
from .read_write import DocumentError

MOST_BYTES = 8 * MOST_ELEMENTS + 4096


def read_integers(path: Path) -> tuple[int, ...]:
    """The integers of a `.npy` file, row-major. Raises DocumentError "no-such-file", "bad-array"."""
    if not path.is_file():
        raise DocumentError(Refusal("no-such-file", f"there is no file {path}"))
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise _bad(path, f"{size:,} bytes", f"at most {MOST_ELEMENTS:,} integers")
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _bad(path, str(error)[:200], "a .npy file of integers") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iu" or found.size > MOST_ELEMENTS:
        raise _bad(path, f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "an archive",
                   f"at most {MOST_ELEMENTS:,} integers")  # fmt: skip
    return tuple(found.reshape(-1).tolist())


def beside(document_path: str | None, name: str) -> Path:
    """The path of a file in a notebook's folder or below. Raises DocumentError "bad-array" for another, or without a folder."""
    if not document_path:
        raise DocumentError(Refusal("bad-array", f"{name} needs a notebook that is saved to a file", found=name,
                                    fix=(f"--data NAME={name}",)))  # fmt: skip
    folder = Path(document_path).resolve().parent
    found = (folder / name).resolve()
    if not found.is_relative_to(folder):
        raise DocumentError(Refusal("bad-array", f"{name} is not in the notebook's folder", found=name))
    return found


def _bad(path: Path, found: str, expected: str) -> DocumentError:
    return DocumentError(Refusal("bad-array", f"{path.name} is no array of integers", found=found, expected=expected))


__all__ = ["beside", "read_integers"]
