"""A drop passes few modules of the app before it reaches the engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.sessions.hostile import EXAMPLES, NoClock

from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.document.editing import lines
from tilewright.app.session.session import Session

APP = Path(lines.__file__).parents[2]

THREADS = {"jobs/background_job.py", "session/state_queue.py"}
"""Modules that execute any message, in order and in a thread."""


def callers() -> list[str]:
    """The modules of the app on the stack, outermost first."""
    found: list[str] = []
    frame = sys._getframe(1)
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(APP):
            found.append(file.relative_to(APP).as_posix())
        frame = frame.f_back
    return list(dict.fromkeys(reversed(found)))


def test_a_drop_passes_five_modules_before_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    stacks: list[list[str]] = []

    def watched(of: object, name: str) -> None:
        original = getattr(of, name)

        def call(*args: object, **named: object) -> object:
            stacks.append(callers())
            return original(*args, **named)

        monkeypatch.setattr(of, name, call)

    session = Session(NoClock(), EXAMPLES)
    session.receive({"kind": "open", "name": "place_the_copies"})
    watched(Session, "perform")
    watched(lines, "make_call")
    tree = LoopTree()
    tree.on_message(session.receive)
    tree.receive({"kind": "move", "block": "A_local.vtcm", "loop": "ko", "primitive": "compute_at"})
    assert session.state.notice is None
    passed = list(dict.fromkeys(module for stack in stacks for module in stack if module not in THREADS))
    assert passed == [
        "components/component.py",
        "session/session.py",
        "actions/table.py",
        "actions/drops.py",
        "document/editing/lines.py",
    ]
    session.close()
