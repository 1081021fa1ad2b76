"""Places in the served folder for new notebooks and models."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping
from itertools import chain, count
from pathlib import Path

from ...engine.ir import Refusal
from ..document import DocumentError
from ..document.files.read_write import real_path
from ..document.networks import is_model

_NAME = re.compile(r"\w[\w .+-]{0,99}")


def file_place(folder: Path, name: str, *, replacing: bool = False) -> Path:
    """The path for a new notebook. Raises DocumentError "bad-name", "file-exists"."""
    name = name.strip()
    stem = name.removesuffix(".py")
    if not _NAME.fullmatch(stem) or stem != stem.strip(" ."):
        raise DocumentError(
            Refusal(
                "bad-name",
                "this is not a valid file name",
                found=repr(name[:120]),
                expected="letters and digits, such as tiles.py",
            )
        )
    path = folder / f"{stem}.py"
    if path.is_symlink() and ((real := real_path(path)) is None or real.parent != folder.resolve()):
        raise DocumentError(Refusal("bad-name", f"{path.name} is outside of the folder", expected="another name"))
    if path.exists() and not path.is_file():
        raise DocumentError(Refusal("bad-name", f"{path.name} is not a file", expected="another name"))
    if path.exists() and not replacing:
        raise DocumentError(
            Refusal(
                "file-exists",
                f"the file {path.name} already exists",
                found=path.name,
                expected="another name, or to replace it",
            )
        )
    return path


def model_place(folder: Path, title: str, taken: Container[str] = ()) -> Path:
    """An unused path for the folder of a new model, named after `title`, and not one of the names `taken`. Raises DocumentError "no-folder"
    inside of a model."""
    if is_model(folder):
        raise DocumentError(Refusal("no-folder", f"{folder.name} is a model", expected="a folder of notebooks"))
    stem = "_".join(re.findall(r"[A-Za-z0-9]+", title)[:6]).lower()[:40] or "model"
    names = (f"{stem}_{number}" for number in count(2))
    free = (name for name in chain([stem], names) if name not in taken)
    return next(folder / name for name in free if not os.path.lexists(folder / name))


def equal_model(place: Path) -> Path | None:
    """Another model beside the one at `place` with the same files; None if there is none."""
    files = _files_of(place)
    others = (path for path in sorted(place.parent.iterdir()) if path != place and not path.is_symlink())
    return next((path for path in others if is_model(path) and _files_of(path) == files), None)


def _files_of(model: Path) -> Mapping[Path, bytes]:
    """The contents of the files of a model, without hidden ones."""
    paths = ((path, path.relative_to(model)) for path in model.rglob("*.py") if path.is_file())
    return {name: path.read_bytes() for path, name in paths if not any(part.startswith(".") for part in name.parts)}


__all__ = ["equal_model", "file_place", "model_place"]
