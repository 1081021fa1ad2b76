"""The page's value: screen, theme, pane, whether a comparison is open, and the notice about a failed action."""

from __future__ import annotations

from typing import Literal

from ...state.addresses import NEW_DRAFT
from ...state.model import Notice, Pane, State, Theme
from ..labels.values import Value
from ..notebook.file_status import ConflictQuestion, question_value
from ..notebook.versions import FileVersions, versions_value
from .tour import Tour


class PageFrame(Value, frozen=True, kw_only=True):
    """The page around the panes; the tree and the gallery show their own notices. `question` is about the merge
    conflicts of the file; `save_as`: saving asks for a name; `unsaved`: leaving would lose edits. `address` is the
    page's path after the server's prefix; None keeps the current one. `revision` differs for each text of the
    notebook; `durable`: the text is on disk."""

    screen: Literal["gallery", "model", "notebook"]
    theme: Theme
    pane: Pane
    comparing: bool
    title: str
    notice: Notice | None
    question: ConflictQuestion | None
    versions: FileVersions | None
    save_as: bool
    address: str | None
    unsaved: bool
    revision: int
    durable: bool
    problem_count: int
    tour: Tour | None


def page_value(state: State, problem_count: int, tour: Tour | None = None) -> PageFrame:
    """The value of the page's frame."""
    notice = (
        state.notice
        if state.screen != "gallery" and state.notice is not None and state.notice.where == "page"
        else None
    )
    mark = "• " if state.unsaved else ""
    return PageFrame(
        screen=state.screen,
        theme=state.theme,
        pane=state.pane,
        comparing=state.comparison is not None,
        title=f"{mark}{state.title} · Tilewright" if state.title else "Tilewright",
        notice=notice,
        question=question_value(state),
        versions=versions_value(state),
        save_as=(state.file is None or state.is_draft) and bool(state.folder),
        address=None if state.address in (None, NEW_DRAFT) else state.address.path,
        unsaved=state.loses_work,
        revision=state.revision,
        durable=state.durable,
        problem_count=problem_count,
        tour=tour,
    )
