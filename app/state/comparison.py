"""The comparison of two programs: its sides, and the intents that choose them. A side is a step of the open notebook, or of another one.

A side without a notebook follows the open one: "now" is always its last step.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import DocumentError, Notebook, evaluate
from ..document.editing.branches import branches, with_branch
from .intents import ACTIONS, Intent, Message, ViewMessage
from .model import Comparison, Side, State

Opened = Callable[[str], tuple[str, Notebook]]
"""Returns the title and the notebook of an example."""

NOW = Side("now")
START = Side("step:0", count=0)


class Compare(Intent, frozen=True, eq=False):
    """Show two sides next to each other."""

    a: Side
    b: Side


class EndCompare(Message, frozen=True, tag="end_compare"):
    """Return to the tree and the timeline."""

    is_quick = needs_page = True


class ShowSpan(ViewMessage, frozen=True, tag="show_span"):
    """Set the range of cycles that the overlaid timelines show; None is all of them."""

    start: float | None = None
    end: float | None = None


def side_state(state: State, side: Side) -> State:
    """The page's state with this side as its program, from which every view can be made."""
    notebook = side.notebook or state.shown
    count = side.count
    if notebook is not None and count is not None and count >= len(notebook.states) - 1:
        count = None
    return replace(state, notebook=notebook, shown=notebook, chosen_step=count, selected="", comparison=None)


def usual_sides(state: State) -> tuple[Side, Side]:
    """The default sides: the program before the last visible change, and now. With an earlier step chosen: that step, and now."""
    if state.looks_back:
        return step_side(state.step_count), NOW
    if state.shown is None or state.before is None:
        return START, NOW
    return step_side(state.shown.states.index(state.before)), NOW


def step_side(count: int) -> Side:
    """The side of the notebook after `count` schedule lines."""
    return Side(f"step:{count}", count=count)


def chosen_sides(state: State, a: str | None, b: str | None, opened: Opened) -> tuple[Side, Side]:
    """The sides with the keys `a` and `b`. A side without a key defaults to the one shown, else to the usual one. `opened` and the errors
    are those of `side_of`."""
    shown = state.comparison
    now = usual_sides(state) if shown is None else (shown.a, shown.b)
    return (
        now[0] if a is None else side_of(a, state, opened),
        now[1] if b is None else side_of(b, state, opened),
    )


def side_of(key: str, state: State, opened: Opened) -> Side:
    """The side of a key: "now", "step:7", "opened", "branch:NAME", "example:NAME". `opened` returns the title and notebook of an example.

    A side that is visible already does not change, except a branch. Raises DocumentError for an unknown key.
    """
    if state.comparison is not None:
        for side in (state.comparison.a, state.comparison.b):
            if side.key == key and not key.startswith("branch:"):
                return side
    kind, _, name = key.partition(":")
    match kind:
        case "now":
            return NOW
        case "step" if re.fullmatch(r"[0-9]{1,9}", name):
            return step_side(int(name))
        case "opened" if state.past:
            first = next((n for n in state.past if n.evaluated), state.notebook)
            return Side("opened", "as opened", first)
        case "branch":
            return Side(key, f"branch {name}", _on_branch(state, name))
        case "example":
            title, notebook = opened(name)
            return Side(key, title, notebook)
        case _:
            raise DocumentError(
                Refusal(
                    "no-such-side", f"there is no {key[:80]!r} to compare", expected="now, step:3, opened, branch:NAME"
                )
            )


def _on_branch(state: State, name: str) -> Notebook:
    assert state.notebook is not None
    if name not in {branch.name for branch in branches(state.notebook.document)}:
        known = ", ".join(branch.name for branch in branches(state.notebook.document))
        raise DocumentError(Refusal("no-such-branch", f"there is no branch {name[:80]!r}", expected=known))
    return evaluate(with_branch(state.notebook.document, name), state.notebook)


@ACTIONS(Compare)
def _compare(state: State, intent: Compare) -> State:
    if state.notebook is None:
        return state
    return replace(state, comparison=Comparison(intent.a, intent.b), notice=None)


@ACTIONS(ShowSpan)
def _span(state: State, intent: ShowSpan) -> State:
    if state.comparison is None:
        return state
    is_all = intent.start is None or intent.end is None or not intent.end > intent.start
    span = None if is_all else (intent.start, intent.end)
    return replace(state, comparison=replace(state.comparison, span=span))


@ACTIONS(EndCompare)
def _end(state: State, _: EndCompare) -> State:
    return replace(state, comparison=None)
