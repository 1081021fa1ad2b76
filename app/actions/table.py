"""The intents of a user on the page, and the handler of each. Pure: this module depends on no screen or server.

A drag, a menu and an edit all change the document's text; the program follows from its evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec.structs import replace

from ...engine.adopt import call_method
from ...engine.ir import Proposal, Refusal, TilewrightError, called_with
from ...engine.lint import Fix
from ..document import (
    DocumentError,
    Notebook,
    apply_call,
    apply_fix,
    apply_lint,
    evaluate,
)
from ..document.editing.rename import renamed
from ..state.comparison import COMPARING, EndCompare, ShowSpan
from ..state.intents import Intent
from ..state.model import Blamed, Look, Notice, Pane, State, Theme
from .cell_actions import EDITS, edited, open_notebook, picture, settled
from .exploring import EXPLORING
from .exploring import QUICK as EXPLORED
from .machine_actions import MACHINE_EDITS
from .opening import OpenNotebook, OpenText, notebook_opened, opened
from .text_edits import TYPING


class ShowGallery(Intent, frozen=True):
    """Return to the start screen."""


class Call(Intent, frozen=True, eq=False):
    """A schedule call with handles of the visible program: a loop is its Var, a block its name.

    `made` is the precomputed notebook after the call, from a prediction.
    """

    method: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()
    made: Notebook | None = None


class Calls(Intent, frozen=True, eq=False):
    """Several calls as one move: all of them or none. `made` as in `Call`."""

    calls: tuple[Call, ...]
    made: Notebook | None = None


class Rename(Intent, frozen=True, eq=False):
    """Rename a loop or a block wherever it occurs in the notebook's text."""

    handle: Any
    name: str


class ApplyFix(Intent, frozen=True, eq=False):
    """Add the calls of a finding's fix, as texts: all of them or none. `replaces` is the text of the call that they replace; `fix` is the
    same fix with handles of the visible program, if the lints found it."""

    calls: tuple[str, ...]
    replaces: str = ""
    fix: Fix | None = None


class Repair(Intent, frozen=True, eq=False):
    """Add a refused call after the calls that make it legal: all of them or none."""

    call: Call


class ViewStep(Intent, frozen=True):
    """Show the program after `count` schedule lines; None is now."""

    count: int | None


class Undo(Intent, frozen=True):
    """Return to the previous document."""


class Redo(Intent, frozen=True):
    """Restore the document that was undone."""


class Select(Intent, frozen=True):
    """Choose a row of the tree, or a buffer, which leaves the row as it is; "" chooses none."""

    row: str = ""
    buffer: str = ""


class Blame(Intent, frozen=True):
    """Select a stall of an engine; `row` is that of the block that holds the awaited resource."""

    wait: Blamed
    row: str = ""


class LookAt(Intent, frozen=True):
    """Show another part of the chosen buffer, follow another access to it, or type an index map."""

    look: Look


class SetTheme(Intent, frozen=True):
    """Light or dark."""

    theme: Theme


class ShowPane(Intent, frozen=True):
    """Show another pane beside the timeline. The machine pane computes the gain from each machine parameter while it is open."""

    pane: Pane


class Dismiss(Intent, frozen=True):
    """Remove the notice."""


class Saved(Intent, frozen=True):
    """Record that the file has this text."""

    text: str


class Say(Intent, frozen=True, eq=False):
    """Show a refusal from outside the actions."""

    refusal: Refusal
    where: Literal["tree", "page"] = "page"


def act(state: State, intent: Intent) -> State:
    """The state after `intent`. A refused intent leaves everything unchanged, with a notice; no TilewrightError escapes."""
    try:
        return _ACTIONS[type(intent)](settled(state) if type(intent) in _SETTLING else state, intent)
    except TilewrightError as error:
        notice = notice_of(error.refusal)
        return replace(
            state, notice=replace(notice, where="tree") if isinstance(intent, Call | Calls | Rename) else notice
        )


def is_quick(intent: Intent) -> bool:
    """Whether the state after the intent is immediate: it requires no evaluation and no trial."""
    return isinstance(intent, _QUICK) or (isinstance(intent, Call | Calls) and intent.made is not None)


def notice_of(refusal: Refusal) -> Notice:
    """A refusal as a notice for the page."""
    place = refusal.place
    return Notice(
        code=refusal.code,
        message=_sendable(refusal.message),
        found=_sendable(refusal.found),
        expected=_sendable(refusal.expected),
        fix=(*map(str, refusal.repair), *refusal.fix),
        place=f"line {place.line}" if place is not None else "",
    )


def _sendable(text: str) -> str:
    """The text without lone surrogates, which a message may contain but UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _gallery(state: State, _: Intent) -> State:
    return State(theme=state.theme, pane=state.pane)


def _call(state: State, intent: Call) -> State:
    notebook = _latest(state)
    return edited(state, intent.made or apply_call(notebook, intent.method, *intent.args, **dict(intent.kwargs)))


def _calls(state: State, intent: Calls) -> State:
    notebook = _latest(state)
    if intent.made is not None:
        return edited(state, intent.made)
    for call in intent.calls:
        notebook = apply_call(notebook, call.method, *call.args, **dict(call.kwargs))
    return edited(state, notebook)


def _rename(state: State, intent: Rename) -> State:
    return edited(state, renamed(_latest(state), intent.handle, intent.name))


def _apply_fix(state: State, intent: ApplyFix) -> State:
    notebook = _latest(state)
    if intent.fix is not None:
        return edited(state, apply_lint(notebook, intent.fix))
    if intent.replaces or not intent.calls:
        raise DocumentError(Refusal("stale-fix", "the schedule is another one than the fix was found for"))
    return edited(state, apply_fix(notebook, intent.calls))


def repair_of(state: State, call: Call) -> tuple[Proposal, ...]:
    """The calls that make a refused one legal; empty if it is legal, or if no repair is known."""
    if state.moment is None or state.looks_back:
        return ()
    try:
        call_method(state.moment.schedule.copy(), call.method, call.args, dict(call.kwargs))
    except TilewrightError as error:
        return error.refusal.repair
    return ()


def _repair(state: State, intent: Repair) -> State:
    notebook = _latest(state)
    for proposal in repair_of(state, intent.call):
        args, keywords = called_with(dict(proposal.arguments))
        notebook = apply_call(notebook, proposal.method, *args, **keywords)
    call = intent.call
    return edited(state, apply_call(notebook, call.method, *call.args, **dict(call.kwargs)))


def _latest(state: State) -> Notebook:
    """The notebook to add a call to. The visible program must be of its last line, so that the handles are valid in it."""
    notebook = open_notebook(state)
    if state.looks_back:
        raise DocumentError(
            Refusal(
                "looking-back",
                f"this is the program after step {state.step_count}; new steps go to the end",
                expected="the last step chosen, or a branch from here",
            )
        )
    if notebook.unread or not notebook.states:
        refusal = notebook.error.refusal if notebook.error is not None else None
        place = refusal.place if refusal is not None else None
        raise DocumentError(
            Refusal(
                "broken-text",
                "the text cannot be read, so nothing can be added",
                expected="its error mended",
                place=place,
            )
        )
    return notebook


def _undo(state: State, _: Intent) -> State:
    if not state.past or state.notebook is None:
        return state
    return _went_to(state, state.past[-1], state.past[:-1], (state.notebook, *state.future))


def _redo(state: State, _: Intent) -> State:
    if not state.future or state.notebook is None:
        return state
    return _went_to(state, state.future[0], (*state.past, state.notebook), state.future[1:])


def _went_to(state: State, notebook: Notebook, past: tuple[Notebook, ...], future: tuple[Notebook, ...]) -> State:
    if not notebook.evaluated:
        notebook = evaluate(notebook.document, state.notebook)
    shown = picture(state, notebook)
    return replace(state, notebook=notebook, shown=shown, past=past, future=future, chosen_step=None, notice=None)


def _view_step(state: State, intent: ViewStep) -> State:
    if state.shown is None:
        return state
    last = len(state.shown.states) - 1
    count = intent.count if intent.count is not None and 0 <= intent.count <= last else None
    return replace(state, chosen_step=count, notice=None)


def _select(state: State, intent: Select) -> State:
    if not intent.buffer:
        return replace(state, selected=intent.row, buffer="", blamed=None)
    look = state.look if intent.buffer == state.buffer else Look()
    return replace(state, selected=intent.row or state.selected, buffer=intent.buffer, look=look)


def _blame(state: State, intent: Blame) -> State:
    return replace(state, blamed=intent.wait, selected=intent.row, buffer="")


_ACTIONS: dict[type[Intent], Callable[[State, Any], State]] = {
    OpenText: opened,
    OpenNotebook: notebook_opened,
    ShowGallery: _gallery,
    Call: _call,
    Calls: _calls,
    Rename: _rename,
    ApplyFix: _apply_fix,
    Repair: _repair,
    ViewStep: _view_step,
    **TYPING,
    **EDITS,
    **COMPARING,
    **EXPLORING,
    **MACHINE_EDITS,
    Undo: _undo,
    Redo: _redo,
    Select: _select,
    Blame: _blame,
    LookAt: lambda state, intent: replace(state, look=intent.look),
    SetTheme: lambda state, intent: replace(state, theme=intent.theme),
    ShowPane: lambda state, intent: replace(state, pane=intent.pane),
    Dismiss: lambda state, _: replace(state, notice=None),
    Saved: lambda state, intent: replace(state, saved=intent.text, notice=None),
    Say: lambda state, intent: replace(state, notice=replace(notice_of(intent.refusal), where=intent.where)),
}

_LEAVES_DRAFT = (
    OpenText,
    OpenNotebook,
    ShowGallery,
    ViewStep,
    Select,
    Blame,
    SetTheme,
    ShowPane,
    Dismiss,
    Saved,
    Say,
    *TYPING,
    *EXPLORED,
)
_SETTLING = frozenset(_ACTIONS) - frozenset(_LEAVES_DRAFT)
"""Intents that end an unfinished draft: the typed text becomes a separate edit."""

_QUICK = (
    OpenNotebook,
    ShowGallery,
    ViewStep,
    Select,
    Blame,
    LookAt,
    SetTheme,
    ShowPane,
    EndCompare,
    ShowSpan,
    Dismiss,
    Saved,
    Say,
    *EXPLORED,
)

INTENTS = tuple(_ACTIONS)
"""All intents."""
