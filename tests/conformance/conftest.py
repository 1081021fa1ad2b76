"""Shared set-up of the tests against TVM."""

from __future__ import annotations

import inspect
import sys

import pytest

NEAREST = 4


@pytest.fixture(autouse=True)
def nearest_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `T.prim_func` only the nearest frames of its caller.

    It requests all frames with their source lines and reads the nearest; under pytest, with its many frames, this takes most of the time.
    """
    monkeypatch.setattr(inspect, "stack", stack)


def stack(context: int = 1) -> list[inspect.FrameInfo]:
    """`inspect.stack` without the distant frames."""
    found: list[inspect.FrameInfo] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < NEAREST:
        seen = inspect.getframeinfo(frame, context)
        found.append(inspect.FrameInfo(frame, *seen, positions=seen.positions))
        frame = frame.f_back
    return found
