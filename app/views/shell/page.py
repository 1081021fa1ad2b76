"""The page's value: screen, theme, pane, whether a comparison is open, and the notice about a failed action."""

from __future__ import annotations

from typing import Any

from ...state.addresses import NEW_DRAFT
from ...state.model import State
from ..notebook.file_status import question_value
from ..notebook.versions import versions_value


def page_value(state: State, problem_count: int) -> dict[str, Any]:
    """screen ("gallery", "model" or "notebook"), theme, pane, title of the tab, notice (the tree and the gallery show their own).

    `question`: the merge conflicts of the file; `versions`: its earlier versions. `save_as`: saving asks for a name.
    `unsaved`: whether leaving would lose edits. `address` is the page's path after the server's prefix; None keeps the current one.
    `revision` is a number that differs for each text of the notebook; `durable`: whether the text is on disk.
    """
    notice = (
        state.notice
        if state.screen != "gallery" and state.notice is not None and state.notice.where == "page"
        else None
    )
    mark = "• " if state.unsaved else ""
    return {
        "screen": state.screen,
        "theme": state.theme,
        "pane": state.pane,
        "comparing": state.comparison is not None,
        "title": f"{mark}{state.title} · Tilewright" if state.title else "Tilewright",
        "notice": notice,
        "question": question_value(state),
        "versions": versions_value(state),
        "save_as": (state.file is None or state.is_draft) and bool(state.folder),
        "address": None if state.address in (None, NEW_DRAFT) else state.address.path,
        "unsaved": state.loses_work,
        "revision": state.revision,
        "durable": state.durable,
        "problem_count": problem_count,
    }
