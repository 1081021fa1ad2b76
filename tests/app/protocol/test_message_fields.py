"""Malformed messages: each missing or ill-typed field is refused by name, before any effect."""

from __future__ import annotations

from typing import Any

import pytest
from support.sessions.hostile import NoClock

from tilewright.app.actions.cell_actions import MoveItem
from tilewright.app.actions.exploring import Explore, OpenPoint, ShowTrial
from tilewright.app.protocol.messages import MESSAGES, decode
from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_examples


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"kind": "move_cell", "cell": 1}, "to"),
        ({"kind": "move_cell", "cell": "x", "to": 1}, "cell"),
        ({"kind": "move_cell", "cell": 10**400, "to": 1}, "cell"),
        ({"kind": "move_item", "item": 1, "target": "x", "after": True}, "target"),
        ({"kind": "begin_drag", "rows": 3}, "rows"),
        ({"kind": "reorder", "loops": [["ko"]]}, "loops"),
        ({"kind": "call", "method": "split", "target": "ko", "arguments": []}, "arguments"),
        ({"kind": "repair"}, "method"),
        ({"kind": "undo", "more": 1}, "more"),
        ({"kind": "restore_version", "version": "x"}, "version"),
        ({"kind": "export", "to": [[1]]}, "to"),
        ({"kind": "show_layout", "look": {"row": -1}}, "look"),
        ({"kind": "explore", "budgets": {"cycles": "x"}}, "budgets"),
        ({"kind": "view"}, "count"),
        ({"kind": "edit", "base": [], "cell": 1, "body": ""}, "base"),
        ({}, "kind"),
    ],
)
def test_the_notice_of_a_malformed_message_names_the_field(message: dict[str, Any], field: str) -> None:
    session = Session(NoClock(), load_examples())
    session.receive({"kind": "open", "name": "place_the_copies"})
    before = session.state.notebook
    session.receive(message)
    notice = session.state.notice
    assert notice is not None and notice.code == "bad-message" and repr(field) in notice.message
    assert session.state.notebook is before
    session.close()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"kind": "open", "name": "nothing"}, "no-such-notebook"),
        ({"kind": "compare", "a": "example:nothing", "b": "now"}, "no-such-notebook"),
        ({"kind": "compare", "a": "step:" + "9" * 5000, "b": "now"}, "no-such-side"),
        ({"kind": "compare", "a": "branch:nothing", "b": "now"}, "no-such-branch"),
        ({"kind": "moves", "rows": ["C"], "loop": "gone"}, "unknown-row"),
        ({"kind": "moves", "rows": ["C"], "loop": "C"}, "unknown-row"),
        ({"kind": "call", "method": "fuse", "target": "", "arguments": {"loops": 3}}, "bad-arguments"),
        ({"kind": "call", "method": "unroll", "target": "ko", "arguments": {"loop": []}}, "unknown-row"),
        ({"kind": "call", "method": "transform_layout", "target": "C", "arguments": {"index_map": 3}}, "bad-index-map"),
        ({"kind": "call", "method": "split", "target": "ko", "arguments": {"factors": 3}}, "bad-arguments"),
        (
            {"kind": "call", "method": "unroll", "target": "ko", "arguments": {"method": "", "notebook": 1}},
            "bad-arguments",
        ),
        ({"kind": "set_parameter", "path": "memories.vtcm.banks", "value": "9" * 400 + ".0"}, "bad-figure"),
        ({"kind": "export", "to": "nothing"}, "no-such-export"),
        ({"kind": "restore_version", "version": 3}, "no-such-version"),
    ],
)
def test_the_notice_of_a_missing_object_names_it(message: dict[str, Any], code: str) -> None:
    session = Session(NoClock(), load_examples())
    session.receive({"kind": "open", "name": "place_the_copies"})
    session.receive(message)
    assert session.state.notice is not None and session.state.notice.code == code, session.state.notice
    session.close()


def test_integral_javascript_numbers_become_integers() -> None:
    message = {"kind": "move_item", "item": 1.0, "target": 3, "after": True, "base": 7}
    assert decode(message) == MoveItem(1, 3, True, base=7)


def test_each_kind_has_one_documented_message() -> None:
    assert len(MESSAGES) == len(set(MESSAGES.values())) > 80
    silent = [kind for kind, message in MESSAGES.items() if not message.__doc__]
    assert not silent, "a docstring says what the message does"


def test_messages_of_a_search_decode_to_intents() -> None:
    message = {"kind": "explore", "objectives": ["cycles"], "budgets": {"peak": 5}, "trials": 7, "seed": 1}
    assert decode(message) == Explore(("cycles",), {"peak": 5.0}, 7, 1)
    assert decode({**message, "seconds": 20}) == Explore(("cycles",), {"peak": 5.0}, 7, 1, 20.0)
    assert decode({"kind": "open_point", "point": [0, 1]}) == OpenPoint((0, 1))
    assert decode({"kind": "show_trial", "trial": None}) == ShowTrial(None)
