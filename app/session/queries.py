"""The answers to the queries of views about the visible program, from known results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from ...engine.hwsim import Report
from ...engine.ir import ScheduleCall, TilewrightError
from ..actions.calls import CallOnRow, CallOnRows, Rename
from ..actions.cell_actions import func_of
from ..actions.drops import Drop, FindRepair, ReviseOnRow, drop_of, repair_of_drop
from ..actions.guide import guide_pages
from ..actions.table import SelectStall
from ..document.editing.kernel_edits import text_of_kernel
from ..jobs.drop_preview import DropPreview, targets
from ..links import fragment_of
from ..protocol.messages import (
    DiscardDraft,
    FindCommands,
    FindGuide,
    FindLink,
    FindMenu,
    FindPath,
    FindPrimitives,
    FindRemedy,
    FindTargets,
    FindTask,
    FindTimelineAfter,
    FindTotals,
    FindTreeAfter,
    FindTrials,
    FindWindow,
    FindWords,
    ListDrafts,
    RenameDraft,
    UploadPart,
)
from ..state.derived import Store
from ..state.entries import Derived
from ..state.intents import Handlers
from ..state.model import State
from ..views.explore.value import trials_value
from ..views.labels.values import Answer
from ..views.menus import SCOPES, Entry, Facts, Menu, menu_of, revision_entries, scopes_of
from ..views.notebook.words import words_value
from ..views.shell.commands import Commands, commands_value
from ..views.shell.gallery import Example
from ..views.shell.primitives import GuideText, PrimitiveDocs, primitive_docs
from ..views.timeline.after_drop import timeline_after
from ..views.timeline.remedy import remedy_value
from ..views.timeline.totals import totals_value
from ..views.timeline.value import FoundAnswer, path_value, start_of_task, window_value
from ..views.timeline.waits import step_to_blame
from ..views.timeline.window import WindowAnswer
from ..views.tree.after_drop import TreeAfter, tree_after
from ..views.tree.predictions import DropRepair
from ..views.tree.targets import DropTarget, DropTargets
from .uploads import Upload

QUERIES: Handlers[Callable[[Any, Any], Answer | None]] = Handlers()
"""The answer to each kind of message that has one; None for no answer now."""


_FACTS = Derived["Facts"]("facts of menus")
_TREE_AFTER = Derived[TreeAfter]("tree after a drop")


class Answered(Answer, frozen=True, tag="answered"):
    """The form of a call may close: a possible refusal was shown."""


class DraftsChanged(Answer, frozen=True, tag="drafts"):
    """A draft was deleted or renamed; or `lists_all`: all of them are to be listed."""

    lists_all: bool = False


class Uploaded(Answer, frozen=True, tag="uploaded"):
    """A part of an uploaded file was written; else `error` says why not."""

    upload: int
    error: str = ""


class Link(Answer, frozen=True, tag="link"):
    """The fragment of a link that contains the notebook."""

    fragment: str


class QueryContext(Protocol):
    """The session that a query is about."""

    state: State
    store: Store
    examples: tuple[Example, ...]
    drop_preview: DropPreview
    upload: Upload | None


def menu(state: State, store: Store, row: str) -> list[Entry]:
    """The menu of a row of the tree."""
    if state.moment is None:
        return []
    schedule, machine = state.moment.schedule, store.machine(state)
    names, shown = schedule.intrinsics, state.shown

    def facts() -> Facts:
        kernel = text_of_kernel(shown)
        if isinstance(machine, TilewrightError):
            return Facts(schedule.func, SCOPES, None, names, kernel)
        return Facts(schedule.func, scopes_of(machine), machine, names, kernel)

    known = store.remember(_FACTS(names, schedule.func, machine), facts)
    if row not in known.ids:
        return []
    notebook = state.shown
    revisions = [] if notebook is None else revision_entries(known, notebook, state.step_count, row)
    return [*revisions, *menu_of(known, row)]


def repair(state: State, message: FindRepair) -> DropRepair:
    """The repair of a drop, as far as one is known."""
    try:
        drop = drop_of(message, func_of(state))
    except TilewrightError:
        return DropRepair(message, [], [])
    found = repair_of_drop(state, drop)
    calls = list(found.calls)
    if calls and isinstance(drop, Drop) and not found.is_whole:
        calls.append(ScheduleCall(drop.method, (("block", drop.block), ("loop", drop.loop))))
    return DropRepair(message, list(map(str, calls)), list(found.blocks))


@QUERIES(FindTargets)
def _targets(context: QueryContext, message: FindTargets) -> Answer:
    """Targets with equal answers are one entry with `loops`: most of three thousand loops have the same answer."""
    found: dict[DropTarget, list[str]] = {}
    for entry in targets(context.state, context.store, message.rows):
        found.setdefault(replace(entry, loop=""), []).append(entry.loop)
    return DropTargets(message.rows, [replace(entry, loops=tuple(loops)) for entry, loops in found.items()])


@QUERIES(FindTreeAfter)
def _tree_after(context: QueryContext, message: FindTreeAfter) -> Answer | None:
    state, store = context.state, context.store
    drop = context.drop_preview.drop(state, message.rows, message.loop, message.primitive)
    if drop is None or state.moment is None:
        return None
    func = state.moment.schedule.func
    return store.remember(
        _TREE_AFTER(message.rows, message.primitive, message.loop, func, drop.func),
        lambda: tree_after(func, drop.func, message.rows, message.loop, message.primitive),
    )


@QUERIES(FindTimelineAfter)
def _timeline_after(context: QueryContext, message: FindTimelineAfter) -> Answer | None:
    state, store = context.state, context.store
    drop = context.drop_preview.drop(state, message.rows, message.loop, message.primitive)
    if drop is None or not isinstance(drop.report, Report):
        return None
    place = message.rows, message.loop, message.primitive
    return timeline_after(place, drop.report, store, message.start, message.end)


@QUERIES(FindMenu)
def _menu(context: QueryContext, message: FindMenu) -> Answer:
    return Menu(message.row, menu(context.state, context.store, message.row))


@QUERIES(FindRepair)
def _repair(context: QueryContext, message: FindRepair) -> Answer:
    return repair(context.state, message)


@QUERIES(FindWindow)
def _window(context: QueryContext, message: FindWindow) -> Answer | None:
    report = context.store.known_report(context.state)
    if not isinstance(report, Report):
        return None
    found = window_value(report, context.store, message.start, message.end, folded=message.folded)
    return WindowAnswer(message.ticket, id(report), found)


@QUERIES(FindPath)
def _path(context: QueryContext, message: FindPath) -> Answer | None:
    report = context.store.known_report(context.state)
    if not isinstance(report, Report):
        return None
    return path_value(report, context.store, message.start, message.end, message.ticket)


@QUERIES(FindTotals)
def _totals(context: QueryContext, message: FindTotals) -> Answer | None:
    report = context.store.known_report(context.state)
    if not isinstance(report, Report):
        return None
    return totals_value(report, context.store, message.start, message.end, message.ticket)


@QUERIES(FindRemedy)
def _remedy(context: QueryContext, _: FindRemedy) -> Answer:
    return remedy_value(context.state, context.store)


@QUERIES(FindTask)
def _task(context: QueryContext, message: FindTask) -> Answer | None:
    report = context.store.known_report(context.state)
    if not isinstance(report, Report):
        return None
    try:
        cycle = start_of_task(report, context.store, message.template, message.place)
    except (IndexError, ValueError):
        return None
    return FoundAnswer(message.ticket, id(report), cycle)


@QUERIES(SelectStall)
def _step_to_blame(context: QueryContext, message: SelectStall) -> Answer | None:
    if not isinstance(context.store.known_report(context.state), Report):
        return None
    return step_to_blame(context.state, context.store, message.buffer, message.block)


@QUERIES(FindTrials)
def _trials(context: QueryContext, message: FindTrials) -> Answer | None:
    return trials_value(context.state, context.store, message.search, message.first)


@QUERIES(FindWords)
def _words(context: QueryContext, _: FindWords) -> Answer:
    return words_value(context.state, context.store)


@QUERIES(FindPrimitives)
def _primitives(context: QueryContext, _: FindPrimitives) -> Answer:
    return PrimitiveDocs(primitive_docs())


@QUERIES(FindGuide)
def _guide(context: QueryContext, _: FindGuide) -> Answer:
    return GuideText(guide_pages())


@QUERIES(FindCommands)
def _commands(context: QueryContext, _: FindCommands) -> Answer:
    return Commands(commands_value(context.state, context.examples))


@QUERIES(FindLink)
def _link(context: QueryContext, _: FindLink) -> Answer | None:
    notebook = context.state.notebook
    return None if notebook is None else Link(fragment_of(notebook.document.text))


@QUERIES(CallOnRow, CallOnRows, ReviseOnRow, Rename)
def _answered(*_: object) -> Answer:
    return Answered()


@QUERIES(UploadPart)
def _uploaded(context: QueryContext, message: UploadPart) -> Answer:
    """The part is kept. After a refusal the page sends no more parts."""
    upload = context.upload
    if upload is None or upload.number != message.upload:
        if upload is not None:
            upload.close()
        upload = context.upload = Upload(message.upload)
    try:
        upload.add(message)
    except TilewrightError as error:
        return Uploaded(message.upload, error.refusal.message)
    return Uploaded(message.upload)


@QUERIES(DiscardDraft, RenameDraft)
def _drafts_changed(*_: object) -> Answer:
    return DraftsChanged()


@QUERIES(ListDrafts)
def _all_drafts(*_: object) -> Answer:
    return DraftsChanged(lists_all=True)
