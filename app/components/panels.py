"""The page's views, each a JSON value drawn by its module in static/components. The package `views` defines the values."""

from typing import Any, ClassVar

from .esm import bundle
from .json_view import JsonView


class PageView(JsonView):
    """The page's frame: screen, theme, tabs, notice, keys and downloads. Messages: go, pane, theme, dismiss, undo, redo."""

    root = "page"

    def download(self, name: str, text: str) -> None:
        """Give the browser a file to save."""
        self.send({"kind": "download", "name": name, "text": text})


class HeadlineView(JsonView):
    """The top bar. Messages: gallery, machine, undo, redo, export, link, save, save_as, download."""

    root = "headline"


class NotebookView(JsonView):
    """Cells, steps and branches. Messages: view, select, undo, edit, words, and those of `actions.cell_actions`; "editor" requests the
    module of the editor, which is too large for the first page."""

    root = "notebook"
    EDITOR: ClassVar[str] = bundle("notebook/code_area.js")

    def receive(self, message: Any) -> None:
        if message == {"kind": "editor"}:
            self.send({"kind": "editor", "module": self.EDITOR})
        else:
            super().receive(message)


class InspectorView(JsonView):
    """Facts about the selection, and the layout of a buffer. Messages: select, show_layout, call."""

    root = "inspector"


class CommandsView(JsonView):
    """The command palette. Messages: those of its commands, and "commands" to request them when it opens."""

    root = "commands"


class ProblemsView(JsonView):
    """Refusals, errors and findings."""

    root = "problems"


class NextView(JsonView):
    """The next steps. Messages: fix, machine, select, make_fast."""

    root = "next"


class GalleryView(JsonView):
    """The start screen. Messages: open, go, open_text, new_file, discard_draft."""

    root = "gallery"
