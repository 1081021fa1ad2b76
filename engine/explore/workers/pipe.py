"""Messages through a pipe: four bytes with the length, then as many."""

from __future__ import annotations

from typing import IO

HEAD_BYTES = 4

READY = b"ready"
"""A worker's first word: it has read its job."""


def send(pipe: IO[bytes], data: bytes) -> None:
    """Raises OSError where nobody reads any more."""
    pipe.write(len(data).to_bytes(HEAD_BYTES, "big") + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """The next message; None where the other end is closed, were it in the middle of one."""
    head = pipe.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return None
    size = int.from_bytes(head, "big")
    data = pipe.read(size)
    return data if len(data) == size else None
