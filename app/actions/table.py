"""The intents of a user on the page, and the handler of each. Pure: this module depends on no screen or server.

A drag, a menu and an edit all change the document's text; the program follows from its evaluation.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ...engine.ir import Refusal, TilewrightError
from ...engine.lint import Fix
from ..document import DocumentError, Notebook, apply_fix, apply_lint, evaluate
from ..state.intents import ACTIONS, Intent, Message, Texts, ViewMessage, Whole
from ..state.model import Blamed, Look, NoticePlace, Pane, State, Theme, notice_of
from .cell_actions import edited, latest, picture, settled
from .drops import Predictable


class ShowGallery(Message, frozen=True, tag="gallery"):
    """Return to the start screen."""

    is_quick = keeps_draft = needs_page = True


class ApplyFix(Message, frozen=True, tag="fix"):
    """Append calls as Python text with the notebook's variables, as in a problem's `fixes`: all of them or none. With `replaces`, they
    replace that call: {"kind": "fix", "calls": ["sch.compute_at(AL, ko)"]}."""

    calls: Texts
    replaces: str = ""


class ApplyFoundFix(Intent, frozen=True, eq=False):
    """Apply a fix of the lints, with handles of the visible program."""

    fix: Fix


class ViewStep(Message, frozen=True, tag="view"):
    """Show the program after `count` schedule lines; None is now."""

    is_quick = keeps_draft = True

    count: Whole | None


class Undo(Message, frozen=True, tag="undo"):
    """Return to the previous document."""


class Redo(Message, frozen=True, tag="redo"):
    """Restore the document that was undone."""


class SelectRow(ViewMessage, frozen=True, tag="select"):
    """Choose a row of the tree by its id, or a buffer, which leaves the row as it is; "" chooses none."""

    row: str = msgspec.field(name="id", default="")
    buffer: str = ""


class SelectStall(ViewMessage, frozen=True, tag="select_stall"):
    """Select a stall of an engine: its cause, and the buffer that a block holds, or (as `block`) another awaited resource. `row` is that of
    the block that holds the resource."""

    engine: str
    cause: str
    buffer: str = ""
    block: str = ""
    row: str = ""


class ShowLayout(ViewMessage, frozen=True, tag="show_layout"):
    """Show another part of the chosen buffer, follow another access to it, or type an index map."""

    look: Look


class SetTheme(ViewMessage, frozen=True, tag="theme"):
    """Light or dark."""

    needs_page = True

    theme: Theme


class ShowPane(ViewMessage, frozen=True, tag="pane"):
    """Show another pane beside the timeline. The machine pane computes the gain from each machine parameter while it is open."""

    pane: Pane


class Dismiss(ViewMessage, frozen=True, tag="dismiss"):
    """Remove the notice."""


class ReviewExport(Message, frozen=True, tag="review_export"):
    """Show what an export for TVM leaves out; `to` is its kind, "" ends the review."""

    is_quick = keeps_draft = True

    to: str = ""


class Saved(Intent, frozen=True):
    """Record that the file has this text."""

    is_quick = keeps_draft = True

    text: str


class Say(Intent, frozen=True, eq=False):
    """Show a refusal from outside the actions."""

    is_quick = keeps_draft = True

    refusal: Refusal
    where: NoticePlace = "page"


def act(state: State, intent: Intent) -> State:
    """The state after `intent`. A refused intent leaves everything unchanged, with a notice; no TilewrightError escapes."""
    try:
        return ACTIONS[intent](state if intent.keeps_draft else settled(state), intent)
    except TilewrightError as error:
        return replace(state, notice=replace(notice_of(error.refusal), where=intent.refused_at))


def is_quick(intent: Intent) -> bool:
    """Whether the state after the intent is immediate: it requires no evaluation and no trial."""
    return intent.is_quick or (isinstance(intent, Predictable) and intent.made is not None)


@ACTIONS(ShowGallery)
def _gallery(state: State, _: Intent) -> State:
    return State(theme=state.theme, pane=state.pane)


@ACTIONS(ApplyFix)
def _apply_fix(state: State, intent: ApplyFix) -> State:
    notebook = latest(state)
    if intent.replaces or not intent.calls:
        raise DocumentError(Refusal("stale-fix", "the schedule has changed since the fix was found"))
    return edited(state, apply_fix(notebook, intent.calls))


@ACTIONS(ApplyFoundFix)
def _apply_found_fix(state: State, intent: ApplyFoundFix) -> State:
    return edited(state, apply_lint(latest(state), intent.fix))


@ACTIONS(Undo)
def _undo(state: State, _: Intent) -> State:
    if not state.past or state.notebook is None:
        return state
    return _went_to(state, state.past[-1], state.past[:-1], (state.notebook, *state.future))


@ACTIONS(Redo)
def _redo(state: State, _: Intent) -> State:
    if not state.future or state.notebook is None:
        return state
    return _went_to(state, state.future[0], (*state.past, state.notebook), state.future[1:])


def _went_to(state: State, notebook: Notebook, past: tuple[Notebook, ...], future: tuple[Notebook, ...]) -> State:
    if not notebook.evaluated:
        notebook = evaluate(notebook.document, state.notebook)
    shown = picture(state, notebook)
    return replace(state, notebook=notebook, shown=shown, past=past, future=future, chosen_step=None, notice=None)


@ACTIONS(ViewStep)
def _view_step(state: State, intent: ViewStep) -> State:
    if state.shown is None:
        return state
    last = len(state.shown.states) - 1
    count = intent.count if intent.count is not None and 0 <= intent.count <= last else None
    return replace(state, chosen_step=count, notice=None)


@ACTIONS(SelectRow)
def _select(state: State, intent: SelectRow) -> State:
    if not intent.buffer:
        return replace(state, selected=intent.row, buffer="", blamed=None)
    look = state.look if intent.buffer == state.buffer else Look()
    return replace(state, selected=intent.row or state.selected, buffer=intent.buffer, look=look)


@ACTIONS(SelectStall)
def _blame(state: State, intent: SelectStall) -> State:
    wait = Blamed(intent.engine, intent.cause, intent.buffer, intent.block)
    return replace(state, blamed=wait, selected=intent.row, buffer="")


@ACTIONS(ShowLayout)
def _show_layout(state: State, intent: ShowLayout) -> State:
    return replace(state, look=intent.look)


@ACTIONS(SetTheme)
def _set_theme(state: State, intent: SetTheme) -> State:
    return replace(state, theme=intent.theme)


@ACTIONS(ShowPane)
def _show_pane(state: State, intent: ShowPane) -> State:
    return replace(state, pane=intent.pane)


@ACTIONS(Dismiss)
def _dismiss(state: State, _: Dismiss) -> State:
    return replace(state, notice=None)


@ACTIONS(ReviewExport)
def _review(state: State, intent: ReviewExport) -> State:
    return replace(state, export_review=intent.to)


@ACTIONS(Saved)
def _saved(state: State, intent: Saved) -> State:
    return replace(state, saved=intent.text, notice=None)


@ACTIONS(Say)
def _say(state: State, intent: Say) -> State:
    return replace(state, notice=replace(notice_of(intent.refusal), where=intent.where))
