"""The file that a measurement gives to the confined process, and the answer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import IO, Any

import msgspec
import numpy as np

from .measured import Measured

HEAD = "request"
"""The member of the archive with the `Request`; the others are arrays."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a program: its name, and the array of the archive with its first contents."""

    name: str
    array: str
    is_scalar: bool = False


class Program(msgspec.Struct, frozen=True):
    """A program to measure: its text, and its parameters in the order of a call. `is_comparable`: with the layouts of the first program."""

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    is_comparable: bool


class Request(msgspec.Struct, frozen=True):
    """Programs of equal meaning, and how long they may run: `seconds` of processor time for all."""

    programs: tuple[Program, ...]
    cpu: str
    seconds: float
    with_assembly: bool = False


def write_request(request: Request, arrays: Mapping[str, Any], to: IO[bytes]) -> None:
    """Write the archive."""
    members: Any = {HEAD: np.frombuffer(msgspec.json.encode(request), np.uint8), **arrays}
    np.savez(to, **members)


def read_request(data: bytes) -> tuple[Request, Mapping[str, Any]]:
    """The request of an archive, and its arrays by name."""
    arrays = np.load(io.BytesIO(data), allow_pickle=False)
    return msgspec.json.decode(arrays[HEAD].tobytes(), type=Request), arrays


def answer_text(measured: Measured) -> str:
    return msgspec.json.encode(measured).decode()


def read_answer(text: str) -> Measured:
    return msgspec.json.decode(text, type=Measured)


__all__ = ["Parameter", "Program", "Request", "answer_text", "read_answer", "read_request", "write_request"]
