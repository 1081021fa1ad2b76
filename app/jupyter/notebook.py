"""The whole notebook as a widget: the page's views (cells and steps, loop tree, inspector, timeline, code) of one session."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets
import param

from ..actions.table import ShowPane
from ..components.component import Component
from ..document import Notebook
from ..page.notebook_catalog import NotebookCatalog
from ..page.page import Page
from ..session.session import Reply, Session, no_reply
from ..state.derived import Store
from ..state.intents import Message
from ..state.model import Pane, State
from ..storage.registry import OpenFileRegistry
from ..views.labels.values import Answer
from .kernel import KernelClock
from .saved_pictures import timeline_picture, tree_picture
from .views import ScheduleSession, View

PANES: dict[Pane, str] = {
    "next": "Next", "script": "TVMScript", "python": "Python", "problems": "Problems", "machine": "Machine", "traffic": "Traffic",
    "explore": "Explore",
}  # fmt: skip


class CellSession(ScheduleSession):
    """A session that is shown in a cell's output."""

    def handle(self, message: Message, reply: Reply = no_reply) -> None:
        """Handle a message in its turn; ignore those for a full page."""
        if not message.needs_page:
            super().handle(message, reply)


class ScheduleNotebook(View):
    """An editor for a notebook file or a schedule. Edits of a file's notebook are saved to the file, as in the app; `schedule` is then a
    copy of the schedule after the notebook's last line."""

    text = param.String(default="", doc="The notebook's text, as it is written to its file.")

    def __init__(self, source: Any = None, **params: Any) -> None:
        self._is_file = isinstance(source, str | Path)
        self._panes: ipywidgets.Tab | None = None
        self._said = ipywidgets.HTML()
        super().__init__(None if self._is_file else source, **params)
        if self._is_file:
            self._session.open_file(str(source))

    def _begun(self) -> Session:
        if not self._is_file:
            return CellSession(KernelClock(), store=self._store)
        open_files = OpenFileRegistry()
        atexit.register(open_files.close)  # save pending edits when the kernel ends
        return CellSession(KernelClock(), store=self._store, open_files=open_files)

    def _made(self) -> Component:
        self._page = Page(self._session, NotebookCatalog())
        self._natural_height = 460
        return self._page.headline

    # Input.

    def _load(self, *events: param.parameterized.Event) -> None:
        if not self._is_file:
            super()._load(*events)

    def _catch_up(self) -> None:
        if not self._is_file:
            super()._catch_up()

    def _hand_on(self, shown: Notebook) -> None:
        self.text = shown.document.text
        if not self._is_file:
            super()._hand_on(shown)
        elif shown.schedule is not None:
            self.schedule = shown.schedule.copy()
            self._keep_picture()

    # Output.

    def _paint(self, state: State, store: Store) -> None:
        self._page.draw(state, store)
        self._tell(state)

    def draw_results(self, state: State, store: Store) -> None:
        self._page.draw_results(state, store)

    def show_prediction(self, prediction: Answer) -> None:
        self._page.show_prediction(prediction)

    def download(self, name: str, text: str) -> None:
        self._page.headline.send({"kind": "download", "name": name, "text": text})

    def _tell(self, state: State) -> None:
        """Show a refusal, unless the tree shows it, and select the state's pane."""
        notice = state.notice
        words = (
            ""
            if notice is None or notice.where == "tree"
            else " ".join(filter(None, (notice.message, notice.found, notice.expected)))
        )
        self._said.value = f'<span role="alert">{escape(words)}</span>' if words else ""
        if self._panes is not None:
            self._panes.selected_index = list(PANES).index(state.pane)

    def _live(self) -> ipywidgets.DOMWidget:
        page, high = self._page, self.height or self._natural_height

        def part(component: Component, height: int, flex: str = "", **traits: Any) -> ipywidgets.DOMWidget:
            layout = ipywidgets.Layout(flex=flex, min_width="0") if flex else ipywidgets.Layout(width="100%")
            return self._mirror(component, height=height, layout=layout, **traits)

        parts = (
            part(page.notebook, high, "1 1 260px"),
            part(page.tree, high, "2 1 380px"),
            part(page.inspector, high, "1 1 250px"),
        )
        middle = ipywidgets.HBox(parts, layout=ipywidgets.Layout(flex_flow="row wrap"))
        self._panes = ipywidgets.Tab([part(getattr(page, name), 300) for name in PANES], titles=tuple(PANES.values()))
        self._panes.selected_index = list(PANES).index(self._session.state.pane)
        self._panes.observe(_on_index(lambda name: self._session.handle(ShowPane(name))), "selected_index")
        head = part(page.headline, 54, picture=self.name_in_page)
        return ipywidgets.VBox([head, self._said, middle, part(page.timeline, 320), self._panes])

    def _pictures(self) -> list[str]:
        state = self._session.state
        return [tree_picture(state, self._store), timeline_picture(state, self._store)]


def _on_index(show: Callable[[Pane], None]) -> Callable[[dict[str, Any]], None]:
    return lambda change: show(list(PANES)[change["new"]]) if change["new"] is not None else None
