"""Times that were measured on this computer, kept for each folder of notebooks: by the program's text, host, compiler and flags."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ...engine.ir import PrimFunc
from ...engine.measure import Host, Measured, Measurement
from ...engine.script import to_script
from ..folders.state import folder_state, state_path

FILE = "measured.jsonl"

MOST_BYTES = 16 << 20
"""Maximum size of the file that is read: a measurement has about 500 B."""


class Kept(msgspec.Struct, frozen=True):
    """A measurement of a program, which `program` identifies."""

    program: str
    host: Host
    measurement: Measurement


def keep_measured(notebook: Path, programs: Sequence[PrimFunc], measured: Measured) -> None:
    """Add the times of programs to those of the notebook's folder. Raises OSError if the state folder cannot be used."""
    lines = [
        msgspec.json.encode(Kept(program_id(func), measured.host, row)) + b"\n"
        for func, row in zip(programs, measured.rows, strict=True)
        if row.warm is not None
    ]
    file = folder_state(notebook.resolve().parent) / FILE
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"".join(lines))  # one write, so that lines of two processes are not mixed
    finally:
        os.close(descriptor)


def kept_for(notebook: Path, func: PrimFunc) -> Kept | None:
    """The latest measurement of a program; None without one, or if the file cannot be read."""
    known = _kept(notebook)
    wanted = program_id(func) if known else ""
    return next((kept for kept in reversed(known) if kept.program == wanted), None)


def program_id(func: PrimFunc) -> str:
    """A digest of the program's text."""
    return hashlib.sha256(to_script(func).encode()).hexdigest()[:32]


def _kept(notebook: Path) -> list[Kept]:
    try:
        file = state_path(notebook.resolve().parent) / FILE
        if file.stat().st_size > MOST_BYTES:
            return []
        lines: Iterable[bytes] = file.read_bytes().splitlines()
    except OSError:
        return []
    found: list[Kept] = []
    for line in lines:
        with suppress(msgspec.DecodeError):  # a line that was cut off
            found.append(msgspec.json.decode(line, type=Kept))
    return found


__all__ = ["Kept", "keep_measured", "kept_for", "program_id"]
