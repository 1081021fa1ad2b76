"""The outcome of an input: read, refused with a TilewrightError, or a finding, which is anything else."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tilewright import TilewrightError

Data = str | bytes

INTERNAL = "internal-error"
"""The code that a reader's catch-all gives to a fault that no other check has found."""

ROOT = Path(__file__).parents[3]

SLOW_SECONDS = 1.0
"""CPU seconds for one input of the usual size."""


class FindError(Exception):
    """A reader's result that should have been a refusal."""


class Outcome(NamedTuple):
    """`code` is that of the refusal, "" for an accepted input; `fault` names the place of a finding, else ""."""

    code: str
    fault: str
    seconds: float


def judged(read: Callable[[Data], object], data: Data, slow_seconds: float = SLOW_SECONDS) -> Outcome:
    """Read the input, timed by the CPU of the thread."""
    began = time.thread_time()
    code = fault = ""
    try:
        read(data)
    except TilewrightError as error:
        code = error.code
        if code == INTERNAL:
            fault = fault_of(error.__cause__) if error.__cause__ else f"{INTERNAL}: {_shape(error.refusal.message)}"
        elif not error.refusal.message.strip():
            fault = f"no message: {code}"
    except Exception as error:
        fault = fault_of(error)
    seconds = time.thread_time() - began
    if not fault and seconds > slow_seconds:
        fault = f"slow: {code or 'read'}"
    return Outcome(code, fault, seconds)


def fault_of(error: BaseException) -> str:
    """`KeyError at engine/te/reader.py:120 stage`: the innermost line of Tilewright, so that one fault is one finding."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if Path(f.filename).is_relative_to(ROOT) and ".venv" not in f.filename
    ]
    ours = [f for f in frames if "/tests/" not in f.filename] or frames
    message = _shape(str(error).split("\n")[0])
    if not ours:
        return f"{type(error).__name__}: {message}"
    at = ours[-1]
    return f"{type(error).__name__} at {Path(at.filename).relative_to(ROOT)}:{at.lineno} {at.name}"


def _shape(message: str) -> str:
    return re.sub(r"\d+", "N", message)[-80:]


def minimised(read: Callable[[Data], object], data: Data, fault: str, most: int = 400) -> Data:
    """A smaller input with the same fault: pieces are removed, larger ones first."""
    left = most
    size = max(1, len(data) // 2)
    while size and left > 0:
        at, smaller = 0, False
        while at < len(data) and left > 0:
            tried = data[:at] + data[at + size :]
            left -= 1
            if judged(read, tried).fault == fault:
                data, smaller = tried, True
            else:
                at += size
        if not smaller or size > len(data):
            size //= 2
    return data
