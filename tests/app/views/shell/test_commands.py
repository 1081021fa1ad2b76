"""Entries of the palette besides the tree's actions."""

from __future__ import annotations

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.protocol.messages import decode
from tilewright.app.state.intents import Message
from tilewright.app.state.model import State
from tilewright.app.views.menus import BLOCK_ITEMS, LOOP_ITEMS
from tilewright.app.views.shell.commands import commands_value
from tilewright.app.views.shell.gallery import load_examples

EXAMPLES = load_examples()


def opened() -> State:
    example = next(e for e in EXAMPLES if e.name == "place_the_copies")
    return act(State(), OpenText(example.text, example.title))


def test_the_palette_finds_examples_and_the_theme_in_the_gallery() -> None:
    found = commands_value(State(), EXAMPLES)
    assert {c.message["name"] for c in found if c.group == "Examples"} == {e.name for e in EXAMPLES}
    assert all(c.message["kind"] in ("open", "theme") for c in found)


def test_the_palette_finds_primitives_machines_steps_and_examples() -> None:
    state = opened()
    found = commands_value(state, EXAMPLES)
    assert {c.method for c in found if c.method} == {item.method for item in (*LOOP_ITEMS, *BLOCK_ITEMS)}
    assert all(c.disabled for c in found if c.method)
    groups = {c.group for c in found}
    assert {"Page", "Machines", "Steps", "Examples"} <= groups
    layouts = [c.message for c in found if c.group == "Buffers"]
    assert {"kind": "select", "buffer": "A_local.vtcm"} in layouts and len(layouts) == 6
    assert state.notebook is not None
    assert sum(c.group == "Steps" for c in found) == len(state.notebook.steps) + 1


def test_the_session_decodes_each_palette_message() -> None:
    state = opened()
    for command in commands_value(state, EXAMPLES):
        message = command.message
        if message:
            assert isinstance(decode(message), Message), command
