"""What the palette finds besides the tree's own actions."""

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


def test_given_the_gallery_then_examples_and_the_theme_are_found() -> None:
    found = commands_value(State(), EXAMPLES)
    assert {c["message"]["name"] for c in found if c["group"] == "Examples"} == {e.name for e in EXAMPLES}
    assert all(c["message"]["kind"] in ("open", "theme") for c in found)


def test_given_a_notebook_then_every_primitive_machine_step_and_example_is_found() -> None:
    state = opened()
    found = commands_value(state, EXAMPLES)
    assert {c["method"] for c in found if "method" in c} == {item.method for item in (*LOOP_ITEMS, *BLOCK_ITEMS)}
    assert all(c["disabled"] for c in found if "method" in c)
    groups = {c["group"] for c in found}
    assert {"Page", "Machines", "Steps", "Examples"} <= groups
    layouts = [c["message"] for c in found if c["group"] == "Buffers"]
    assert {"kind": "select", "buffer": "A_local.vtcm"} in layouts and len(layouts) == 6
    assert state.notebook is not None
    assert sum(c["group"] == "Steps" for c in found) == len(state.notebook.steps) + 1


def test_given_each_message_then_the_session_knows_it() -> None:
    state = opened()
    for command in commands_value(state, EXAMPLES):
        message = command["message"]
        if message:
            assert isinstance(decode(message), Message), command
