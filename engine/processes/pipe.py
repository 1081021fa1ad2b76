"""Messages through a pipe: four bytes of length, then the data."""

from __future__ import annotations

from typing import IO

HEAD_BYTES = 4

READY = b"ready"
"""The first message of a child process: it can accept requests."""


def send(pipe: IO[bytes], data: bytes) -> None:
    """Write a message. Raises OSError if the reading end is closed."""
    pipe.write(len(data).to_bytes(HEAD_BYTES, "big") + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Return the next message; None if the other end is closed, even in the middle of a message."""
    head = pipe.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return None
    size = int.from_bytes(head, "big")
    data = pipe.read(size)
    return data if len(data) == size else None


__all__ = ["READY", "receive", "send"]
