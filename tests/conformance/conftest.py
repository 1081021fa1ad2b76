"""Shared set-up of the tests against TVM."""

from __future__ import annotations

import inspect
import linecache
import sys

import pytest

NEAREST = 4


@pytest.fixture(autouse=True)
def nearest_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `T.prim_func` only the nearest frames of its caller.

    It requests all frames with their source lines and reads the nearest; under pytest, with its many frames, this takes most of the time.
    """
    monkeypatch.setattr(inspect, "stack", stack)


def stack() -> list[inspect.FrameInfo]:
    """`inspect.stack` without the distant frames, and without a search of all modules for the source of each."""
    found: list[inspect.FrameInfo] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < NEAREST:
        file, line = frame.f_code.co_filename, frame.f_lineno
        context = linecache.getlines(file)[line - 1 : line] or None
        found.append(inspect.FrameInfo(frame, file, line, frame.f_code.co_name, context, context and 0))
        frame = frame.f_back
    return found
