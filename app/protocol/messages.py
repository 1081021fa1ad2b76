"""Conversion of a view's message to an intent with loop and block handles. Nothing is executed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from ...engine.ir import PrimFunc, Refusal
from ..actions.cell_actions import edit_of
from ..actions.exploring import exploring_of
from ..actions.machine_actions import PickMachine, ResetKnob, TurnKnob
from ..actions.opening import opened_text
from ..actions.table import (
    ApplyFix,
    Blame,
    Call,
    Calls,
    Dismiss,
    LookAt,
    OpenText,
    Redo,
    Rename,
    Repair,
    Select,
    SetTheme,
    ShowGallery,
    ShowPane,
    Undo,
    ViewStep,
)
from ..actions.text_edits import DraftCell, DraftItem, DropDraft, EditCell, EditItem, EditProse, SetText
from ..document import DocumentError, Notebook
from ..document.files.history import Version
from ..jobs.drop_preview import move_of
from ..state.addresses import NEW_DRAFT
from ..state.comparison import EndCompare, ShowSpan, side_of, usual_sides
from ..state.intents import Intent
from ..state.model import Blamed, Look, Pane, Side, State
from ..views.labels.row_ids import Handle, row_ids
from ..views.machine.parameters import figure_value
from ..views.menus import call_arguments, handle_of
from .message_fields import Fields

Message = dict[str, Any]

COMPARISONS = ("compare", "compare_text")

FILES = (
    "save",
    "save_as",
    "new_file",
    "discard_draft",
    "download",
    "resolve",
    "heard",
    "versions",
    "version",
    "no_versions",
)

OF_THE_TREE = ("move", "moves", "call", "calls", "reorder", "rename")
"""Messages whose refusal is shown beside the tree."""

LOOKS = (
    "select",
    "blame",
    "look",
    "span",
    "pane",
    "theme",
    "dismiss",
    "grabbed",
    "near",
    "released",
    "give_up",
    "resume",
    "explore",
    "stop_exploring",
    "go_on_exploring",
    "trial",
    "commands",
)
"""Messages that do not change the program, so that background analyses of it continue."""

IN_HAND = ("grabbed", "near")
"""Messages of a drag in progress; the preview of its drop has priority."""

MOVED = ("block", "loop")
MOVES = ("compute_at", "reverse_compute_at")


def intent_of(message: Message, state: State) -> Intent | None:
    """The intent of a view's message, with row ids resolved to loop and block handles. None for an unknown kind.

    The message must come from `fields_of`, which checks its fields. Raises TilewrightError, for example for a row that no longer exists.
    """
    match message["kind"]:
        case "move" | "call" | "reorder":
            return call_of(message, state)
        case "moves" | "calls":
            return _calls_of(message, state)
        case "rename":
            return Rename(handle_in(state, str(message["id"])), str(message["name"]))
        case "select":
            return Select(str(message.get("id", "")), str(message.get("buffer", "")))
        case "blame":
            wait = Blamed(*(str(message[part]) for part in ("engine", "cause", "buffer", "block")))
            return Blame(wait, str(message["row"]))
        case "look":
            return LookAt(msgspec.convert(message["look"], Look))
        case "undo":
            return Undo()
        case "redo":
            return Redo()
        case "machine":
            return PickMachine(str(message["name"]))
        case "gallery":
            return ShowGallery()
        case "open_text":
            return OpenText(str(message["text"]), address=None if message.get("linked") is True else NEW_DRAFT)
        case "view":
            return ViewStep(None if message["count"] is None else int(message["count"]))
        case "repair":
            return Repair(call_of(Fields({**message, "kind": "move"}), state))
        case "fix":
            return ApplyFix(tuple(map(str, message["calls"])), str(message.get("replaces", "")))
        case "theme":
            return SetTheme("dark" if message["theme"] == "dark" else "light")
        case "pane":
            return ShowPane(message["pane"] if message["pane"] in get_args(Pane) else "script")
        case "uncompare":
            return EndCompare()
        case "span":
            return ShowSpan(message["start"], message["end"])
        case "knob":
            path = str(message["path"])
            return TurnKnob(path, figure_value(path.rpartition(".")[2], str(message["text"])))
        case "unknob":
            return ResetKnob(None if message["path"] is None else str(message["path"]))
        case "dismiss":
            return Dismiss()
        case _:
            return _typed_of(message, state) or exploring_of(message) or edit_of(message)


def _version_of(message: Message, state: State) -> Version:
    """The version that the message names, among those shown. Raises DocumentError if it is not there."""
    for version in () if state.looked_back is None else state.looked_back.versions:
        if version.number == message["version"]:
            return version
    raise DocumentError(Refusal("no-such-version", "this version is not there", found=str(message["version"])))


def _typed_of(message: Message, state: State) -> Intent | None:
    match message["kind"]:
        case "draft_cell":
            return DraftCell(int(message["cell"]), str(message["text"]))
        case "draft_item":
            return DraftItem(int(message["item"]), str(message["text"]))
        case "drop_draft":
            return DropDraft()
        case "edit":
            return EditCell(int(message["cell"]), str(message["body"]))
        case "edit_prose":
            return EditProse(int(message["cell"]), str(message["text"]))
        case "edit_item":
            return EditItem(int(message["item"]), str(message["text"]))
        case "go_back":
            return SetText(_version_of(message, state).text)
        case _:
            return None


def sides_asked(message: Message, state: State, opened: Callable[[str], tuple[str, Notebook]]) -> tuple[Side, Side]:
    """The two sides to compare, by their keys "a" and "b". A side without a key defaults to the one shown, else to the usual one;
    "compare_text" opens a text as one side. `opened` and the errors are those of `side_of`."""
    shown = state.comparison
    sides = [shown.a, shown.b] if shown is not None else list(usual_sides(state))
    for n, name in enumerate(("a", "b")):
        if name in message:
            sides[n] = side_of(str(message[name]), state, opened)
    if message["kind"] == "compare_text":
        title, notebook = opened_text(str(message["text"]), str(message["name"]))
        sides[1 if message["side"] == "b" else 0] = Side(f"file:{title}", title, notebook)
    return sides[0], sides[1]


def _func_of(state: State) -> PrimFunc:
    if state.moment is None:
        raise DocumentError(Refusal("no-notebook", "no notebook is open"))
    return state.moment.schedule.func


def handle_in(state: State, row: str) -> Handle:
    """The loop or block of a row in the view. Raises TilewrightError."""
    return handle_of(row_ids(_func_of(state)), row)


def _calls_of(message: Message, state: State) -> Calls:
    """The calls for a drop of several blocks on a loop, or for one primitive on several rows."""
    func = _func_of(state)
    if message["kind"] == "moves":
        assert state.moment is not None
        move = move_of(row_ids(func), state.moment.schedule, message)
        return move if isinstance(move, Calls) else Calls((move,))
    method = str(message["method"])
    made = [call_arguments(func, method, str(target), message["arguments"]) for target in message["targets"]]
    return Calls(tuple(Call(method, args, tuple(kwargs.items())) for args, kwargs in made))


def call_of(message: Message, state: State) -> Call:
    """The schedule call of a drop, a menu's form or a reorder of loops."""
    func = _func_of(state)
    ids = row_ids(func)
    if message["kind"] == "reorder":
        return Call("reorder", tuple(handle_of(ids, row) for row in message["loops"]))
    if message["kind"] == "move":
        primitive = str(message["primitive"])
        if primitive not in MOVES:
            raise DocumentError(
                Refusal("unknown-method", f"a drop cannot be {primitive!r}", expected=" or ".join(MOVES))
            )
        return Call(primitive, (handle_of(ids, message["block"]), handle_of(ids, message["loop"])))
    args, kwargs = call_arguments(func, str(message["method"]), message["target"], message["arguments"])
    return Call(str(message["method"]), args, tuple(kwargs.items()))
