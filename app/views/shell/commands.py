"""The command palette's entries besides the tree's actions: examples, machines, schedule steps, page and export commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ....engine.hwsim import preset_names
from ...state.model import State
from ..labels.buffer_ids import buffer_ids
from ..labels.values import Answer, Value
from ..menus import BLOCK_ITEMS, LOOP_ITEMS
from ..menus.entry import MenuItem
from .export_kinds import EXPORT_KINDS
from .gallery import Example


class Command(Value, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of the palette; the view sends `message`. A primitive has its `method`; `disabled` names the action
    that it requires first."""

    label: str
    group: str
    help: str
    key: str
    message: dict[str, str | int]
    method: str = ""
    disabled: str = ""


class Commands(Answer, frozen=True, tag="commands"):
    """The commands of the palette."""

    commands: list[Command]


MOST_BUFFERS = 200
MOST_STEPS = 200


def commands_value(state: State, examples: Sequence[Example]) -> list[Command]:
    """The commands of the page that is shown."""
    known = [e for e in examples if e.obstacle is None]
    opening = [_command(f"Open: {e.title}", "Examples", e.sentence, {"kind": "open", "name": e.name}) for e in known]
    theme = "light" if state.theme == "dark" else "dark"
    switch_theme = _command(
        f"{theme.capitalize()} theme", "Page", "switch the colour theme", {"kind": "theme", "theme": theme}
    )
    if state.notebook is None:
        return [*opening, switch_theme]
    commands = [
        *_page_commands(state),
        switch_theme,
        *_machine_commands(state),
        *_buffer_commands(state),
        *_step_commands(state),
        *opening,
    ]
    return [*commands, *_primitives("loop", LOOP_ITEMS), *_primitives("block", BLOCK_ITEMS)]


def _primitives(kind: str, items: Sequence[MenuItem]) -> list[Command]:
    """Disabled entries for all primitives, so that a search finds each. The entries of the selected row replace them."""
    why = f"select a {kind} in the tree"
    return [
        replace(_command(i.label, f"{kind.capitalize()} primitives", i.help, {}), method=i.method, disabled=why)
        for i in items
    ]


def _page_commands(state: State) -> list[Command]:
    found: list[Command] = []
    if state.past:
        found.append(_command("Undo", "Page", "revert the last edit", {"kind": "undo"}, "Ctrl Z"))
    if state.future:
        found.append(_command("Redo", "Page", "repeat the edit that was undone", {"kind": "redo"}, "Ctrl Y"))
    return [
        *found,
        _command("Save", "Page", "write the notebook's file", {"kind": "save"}, "Ctrl S"),
        _command("Download the notebook", "Page", "download its current text", {"kind": "download"}),
        _comparison(state),
        _command("Make it fast", "Page", "derive a schedule as a branch, and search its values", {"kind": "make_fast"}),
        *(_command(label, "Page", text, {"kind": "pane", "pane": pane}) for pane, label, text in PANES),
        *(_command(f"Export {k.label}", "Page", k.help, {"kind": "export", "to": k.key}) for k in EXPORT_KINDS),
        _command("Copy link", "Page", "copy a link that contains the notebook", {"kind": "link"}),
        *(
            [_command(f"Back to {state.model.title}", "Page", "show the model", {"kind": "model"})]
            if state.model
            else []
        ),
        _command("Back to the gallery", "Page", "show the examples and the paste field", {"kind": "gallery"}),
    ]


PANES = (
    ("machine", "Machine parameters", "edit parameters, and find the one that limits the program"),
    ("traffic", "Traffic and roofline", "show the bytes copied between scopes, and the roofline"),
    ("explore", "Explore", "search for the best values of the schedule's parameters"),
    ("next", "Next step", "show what limits the program, and calls that improve it"),
    ("problems", "Problems", "show errors, findings and fixes"),
)


def _comparison(state: State) -> Command:
    if state.comparison is not None:
        return _command(
            "Close the A/B comparison", "Page", "return to the tree and the timeline", {"kind": "end_compare"}, "Esc"
        )
    return _command("Compare (A/B)", "Page", "compare two steps, branches or files side by side", {"kind": "compare"})


def _machine_commands(state: State) -> list[Command]:
    assert state.notebook is not None
    now = state.notebook.machine.name if state.notebook.machine is not None else ""
    return [
        _command(f"Machine: {name}", "Machines", "simulate on this machine", {"kind": "machine", "name": name})
        for name in preset_names()
        if name != now
    ]


def _buffer_commands(state: State) -> list[Command]:
    if state.moment is None:
        return []
    names = list(buffer_ids(state.moment.schedule.func))[:MOST_BUFFERS]
    text = "show its layout, its accesses and alternative layouts"
    return [_command(f"Layout of {name}", "Buffers", text, {"kind": "select", "buffer": name}) for name in names]


def _step_commands(state: State) -> list[Command]:
    assert state.notebook is not None
    steps = state.notebook.steps[:MOST_STEPS]
    applied = [step for step in steps if step.status == "applied"]
    first = _command("Show the program before the schedule", "Steps", "the program before step 1", _view(0))
    return [first] * bool(applied) + [
        _command(f"Show step {s.index + 1}: {s.text}", "Steps", "the program after this line", _view(s.index + 1))
        for s in applied
    ]


def _view(count: int) -> dict[str, str | int]:
    return {"kind": "view", "count": count}


def _command(label: str, group: str, text: str, message: Mapping[str, str | int], key: str = "") -> Command:
    return Command(label=label, group=group, help=text, key=key, message=dict(message))
