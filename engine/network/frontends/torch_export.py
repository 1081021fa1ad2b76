"""Programs of torch.export through TVM's frontend. A file that would run code when PyTorch reads it is refused first.

PyTorch's reader unpickles objects in an archive and evaluates the texts of symbolic sizes. Only tensors are unpickled here, and sizes are
checked to be arithmetic.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ...ir import Refusal, TilewrightError

OBJECTS = ("custom_obj", "opaque_obj")
"""Names of entries that PyTorch unpickles without a restriction."""

WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""The variable with which PyTorch unpickles nothing but tensors, whatever the caller asks for."""

_SIZE = re.compile(
    r"(?:Symbol\('[a-z]+\d+'(?:, [a-z_]+=(?:True|False))*\)|[A-Z][A-Za-z]*\(|[a-z]+\d+|\d+|[-+*/(),<>= ])*"
)
"""Arithmetic on names such as s0 or Symbol('s0', integer=True), numbers, and functions such as Max(…) or FloorDiv(…)."""

MODEL_BYTES = 64 << 20


def load_torch_export(path: Path) -> Any:
    """Return the relax module of an exported program. Raises TilewrightError "unsafe-model"."""
    require_no_code(path)
    torch = import_module("torch")
    with _tensors_only():
        program = torch.export.load(str(path))
    return import_module("tvm.relax.frontend.torch").from_exported_program(program)


# No entry of the archive is code for PyTorch's reader.
def require_no_code(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename.rsplit("/", 1)[-1]
            if any(part in entry.filename for part in OBJECTS):
                raise _unsafe(path, f"{entry.filename} is a pickled object")
            if name.endswith(".json"):
                if entry.file_size > MODEL_BYTES:
                    raise _unsafe(path, f"{entry.filename} has {entry.file_size:,} B")
                for text in _expressions(json.loads(archive.read(entry))):
                    if not isinstance(text, str) or _SIZE.fullmatch(text) is None:
                        raise _unsafe(path, f"the size {str(text)[:60]!r} is not arithmetic")


def _expressions(value: Any) -> Iterator[Any]:
    """Yield the texts that PyTorch evaluates."""
    match value:
        case {"expr_str": text, **others}:
            yield text
            yield from _expressions(list(others.values()))
        case {**others}:
            yield from _expressions(list(others.values()))
        case [*parts]:
            for part in parts:
                yield from _expressions(part)
        case _:
            pass


@contextmanager
def _tensors_only() -> Generator[None]:
    before = os.environ.get(WEIGHTS_ONLY)
    os.environ[WEIGHTS_ONLY] = "1"
    try:
        yield
    finally:
        os.environ.pop(WEIGHTS_ONLY)
        if before is not None:
            os.environ[WEIGHTS_ONLY] = before


def _unsafe(path: Path, found: str) -> TilewrightError:
    message = f"{path.name} could run code when PyTorch reads it: {found}"
    return TilewrightError(Refusal("unsafe-model", message, expected="tensors and arithmetic on sizes alone"))


__all__ = ["load_torch_export", "require_no_code"]
