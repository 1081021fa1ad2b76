"""The page's own views, each a JSON value drawn by its module in static/components. What a value holds is said by `views/<same name>.py`."""

from .json_view import JsonView, module_text


class PageView(JsonView):
    """Screen, theme, tabs, notice, keys and downloads. Messages: pane, dismiss, undo, redo."""

    _esm = module_text("page")

    def download(self, name: str, text: str) -> None:
        """Give the browser a file to save."""
        self._send_msg({"name": name, "text": text})


class HeadlineView(JsonView):
    """The top bar. Messages: gallery, machine, undo, redo, theme, export."""

    _esm = module_text("headline")


class NotebookView(JsonView):
    """Cells and steps. Messages: view, remove, edit."""

    _esm = module_text("notebook")


class InspectorView(JsonView):
    """Facts about what is chosen."""

    _esm = module_text("inspector")


class ProblemsView(JsonView):
    """Refusals, errors and findings."""

    _esm = module_text("problems")


class GalleryView(JsonView):
    """The start screen. Messages: open, open_text, theme."""

    _esm = module_text("gallery")
