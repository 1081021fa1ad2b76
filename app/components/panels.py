"""The page's views, each a JSON value drawn by its module in static/components. The package `views` defines the values."""

from typing import Any, ClassVar

from .esm import Bundle, bundle, style
from .json_view import JsonView


class PageView(JsonView):
    """The page's frame: screen, theme, tabs, notice, keys and downloads. Messages: go, pane, theme, dismiss, undo, redo."""

    _esm = bundle("shell/page.js")
    _stylesheets: ClassVar[list[str]] = [
        *JsonView._stylesheets,
        style("loop_tree.css"),
        style("help.css"),
        style("files.css"),
    ]

    def download(self, name: str, text: str) -> None:
        """Give the browser a file to save."""
        self._send_msg({"kind": "download", "name": name, "text": text})


class HeadlineView(JsonView):
    """The top bar. Messages: gallery, machine, undo, redo, export, link, save, save_as, download."""

    _esm = bundle("shell/headline.js")
    # Menus use the tree's style.
    _stylesheets: ClassVar[list[str]] = [
        style("loop_tree.css"),
        *JsonView._stylesheets,
        style("files.css"),
    ]


class NotebookView(JsonView):
    """Cells, steps and branches. Messages: view, select, undo, edit, words, and those of `actions.cell_actions`; "editor" requests the
    module of the editor, which is too large for the first page."""

    _esm = bundle("notebook/notebook.js")
    EDITOR: ClassVar[Bundle] = bundle("notebook/code_area.js")
    # Menus use the tree's style.
    _stylesheets: ClassVar[list[str]] = [
        style("loop_tree.css"),
        *JsonView._stylesheets,
        style("notebook.css"),
    ]

    def _handle_msg(self, data: Any) -> None:
        if data == {"kind": "editor"}:
            self.send({"kind": "editor", "module": self.EDITOR.text})
        else:
            super()._handle_msg(data)


class InspectorView(JsonView):
    """Facts about the selection, and the layout of a buffer. Messages: select, show_layout, call."""

    _esm = bundle("inspector/inspector.js")
    _stylesheets: ClassVar[list[str]] = [*JsonView._stylesheets, style("inspector.css")]


class CommandsView(JsonView):
    """The command palette. Messages: those of its commands, and "commands" to request them when it opens."""

    _esm = bundle("shell/palette.js")
    _stylesheets: ClassVar[list[str]] = [*JsonView._stylesheets, style("loop_tree.css")]


class ProblemsView(JsonView):
    """Refusals, errors and findings."""

    _esm = bundle("shell/problems.js")


class NextView(JsonView):
    """The next steps. Messages: fix, machine, select, make_fast."""

    _esm = bundle("shell/next.js")


class GalleryView(JsonView):
    """The start screen. Messages: open, go, open_text, new_file, discard_draft."""

    _esm = bundle("files/gallery.js")
    _stylesheets: ClassVar[list[str]] = [*JsonView._stylesheets, style("gallery.css"), style("files.css")]
