"""The components of one page, and the update of each from a state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from ..components.code import CodeView
from ..components.component import Component
from ..components.figures import CompareView, ExploreView, MachineView, ModelView, OverlayView, TrafficView
from ..components.loop_tree import LoopTree
from ..components.panels import (
    CommandsView,
    GalleryView,
    HeadlineView,
    InspectorView,
    NextView,
    NotebookView,
    PageView,
    ProblemsView,
)
from ..components.timeline import TimelineView
from ..jobs.background_job import JobStatus
from ..plots.inference import inference_now
from ..plots.panes import traffic_pane
from ..plots.search import search_figures
from ..session.queries import DraftsChanged
from ..session.session import Reply, Session
from ..state.derived import Store
from ..state.model import Notice, State
from ..views.compare.value import compare_value, compared_script, overlay_now
from ..views.explore.value import explore_value
from ..views.inspector.value import inspector_value
from ..views.labels.values import Answer
from ..views.machine.value import machine_value
from ..views.model.graph import graph_now
from ..views.model.value import model_value
from ..views.next.value import next_value
from ..views.notebook.code import python_value, script_value
from ..views.notebook.value import known_changes, notebook_value
from ..views.problems.value import Problems, problem_marks, problems_value
from ..views.shell.commands import Commands
from ..views.shell.gallery import Gallery, gallery_value
from ..views.shell.headline import headline_value
from ..views.shell.page import PageFrame, page_value
from ..views.shell.tour import tour_value
from ..views.timeline.value import timeline_value
from ..views.tree.tree_now import costs_now, rows_now
from .notebook_catalog import NotebookCatalog


class RunningJobs(Answer, frozen=True, tag="doing"):
    """The running jobs."""

    doing: tuple[JobStatus, ...]


class Page:
    """The components of one page; the screen of a session. `when_there` calls a function once the browser has the page: the changes that
    an earlier message causes would be lost. Changes within `hold()` are sent together."""

    def __init__(
        self,
        session: Session,
        catalog: NotebookCatalog,
        when_there: Callable[[Callable[[], None]], None] = lambda work: work(),
        hold: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._catalog, self._session, self._opened = catalog, session, False
        self._hold = hold
        self.renewed: Callable[[], None] = lambda: None
        self._notice: Notice | None = None
        self.page = PageView(data=page_value(session.state, 0))
        self.gallery = GalleryView(data=self._gallery(session.state))
        self.model = ModelView(data=model_value(session.state, session.store))
        self.headline = HeadlineView(data=headline_value(session.state, session.store))
        self.notebook = NotebookView(data=notebook_value(session.state, session.store, {}))
        self.tree = LoopTree()
        self.inspector = InspectorView(data=inspector_value(session.state, session.store))
        self.timeline = TimelineView(data=timeline_value(session.state, session.store))
        self.script = CodeView(data=script_value(session.state, session.store))
        self.python = CodeView(data=python_value(session.state, session.store))
        self.next = NextView(data=next_value(session.state, session.store))
        self.problems = ProblemsView(data=problems_value(session.state, session.store))
        self.machine = MachineView(data=machine_value(session.state, session.store))
        self.traffic = TrafficView(data=traffic_pane(session.state, session.store))
        self.explore = ExploreView(data=explore_value(session.state, session.store))
        self.compare = CompareView(data=compare_value(session.state, session.store, catalog.examples))
        self.overlay = OverlayView(data=overlay_now(session.state, session.store))
        self.commands = CommandsView(data=[])
        replies: dict[str, Reply] = {
            "headline": self._give,
            "commands": self._give,
            "gallery": self._answered_gallery,
        }
        for name, view in self.roots().items():
            receive = partial(session.receive, reply=replies.get(name) or view.send)
            view.on_message(lambda data, receive=receive: when_there(partial(receive, data)))

    def roots(self) -> dict[str, Component]:
        """The components by their names in page.html."""
        names = (
            "page", "commands", "gallery", "model", "headline", "notebook", "tree", "inspector", "script", "python", "problems", "next",
            "machine", "traffic", "explore", "compare", "overlay", "timeline",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def draw(self, state: State, store: Store) -> None:
        """Show `state`. Each component sends only a changed value, and all changes go in one message."""
        self._renew_shelf(state)
        with self._hold():
            problems = problems_value(state, store)
            self.page.draw(_page_of(state, store, problems))
            if state.notebook is None:
                self.gallery.draw(self._gallery(state))
                self._draw_model(state, store)
                return
            self._draw_tree(state, store)
            self.timeline.draw(timeline_value(state, store))
            self._draw_panes(state, store, problems)

    def _draw_panes(self, state: State, store: Store, problems: Problems) -> None:
        """Draw what results change that arrive after a paint: all but the rows of the tree and the timeline."""
        self.compare.draw(compare_value(state, store, self._catalog.examples))
        self.overlay.draw(overlay_now(state, store))
        self.tree.marks = problem_marks(problems.problems)
        self.headline.draw(headline_value(state, store))
        self.notebook.draw(notebook_value(state, store, known_changes(state, store)))
        self.inspector.draw(inspector_value(state, store))
        self.problems.draw(problems)
        self._draw_code(state, store)

    def _renew_shelf(self, state: State) -> None:
        """Reload the served folder on return to the gallery, as files may have changed."""
        opened, self._opened = self._opened, state.screen != "gallery"
        if opened and not self._opened:
            self._renew_catalog()

    def _renew_catalog(self) -> None:
        self._catalog.renew()
        self._session.examples = self._catalog.examples
        self.renewed()

    def _gallery(self, state: State) -> Gallery:
        catalog = self._catalog
        known = catalog.thumbnails.known
        return gallery_value(state, catalog.listed, known, catalog.folder, catalog.drafts, catalog.has_more_drafts)

    def _draw_tree(self, state: State, store: Store) -> None:
        draw_tree(self.tree, state, store)
        notice = state.notice
        if notice is not None and notice is not self._notice and notice.where == "tree":
            tell_refusal(self.tree, notice)
        self._notice = notice

    def _draw_code(self, state: State, store: Store) -> None:
        """Draw the visible pane; the others are drawn when they are selected."""
        if state.pane == "script":
            self.script.draw(compared_script(state, store) if state.comparison else script_value(state, store))
        elif state.pane == "python":
            self.python.draw(python_value(state, store))
        elif state.pane == "next":
            self.next.draw(next_value(state, store))
        elif state.pane == "machine":
            self.machine.draw(machine_value(state, store))
        elif state.pane == "traffic":
            self.traffic.draw(traffic_pane(state, store))
        elif state.pane == "explore":
            self.explore.figures = search_figures()
            self.explore.draw(explore_value(state, store))

    def _draw_model(self, state: State, store: Store) -> None:
        """Draw the model, unless a notebook is in front of it."""
        if state.model is not None:
            self.model.param.update(graph=graph_now(state, store), figure=inference_now(state))
            self.model.draw(model_value(state, store))

    def draw_results(self, state: State, store: Store) -> None:
        """Show results that arrived after the paint of `state`."""
        with self._hold():
            if state.notebook is None:
                self._draw_model(state, store)
            else:
                problems = problems_value(state, store)
                self.page.draw(_page_of(state, store, problems))
                self._draw_panes(state, store, problems)

    def _answered_gallery(self, answer: Answer) -> None:
        """Update the start screen's list of drafts; other answers are its component's."""
        if not isinstance(answer, DraftsChanged):
            self.gallery.send(answer)
            return
        self._catalog.lists_all = self._catalog.lists_all or answer.lists_all
        self._renew_catalog()
        self.gallery.draw(self._gallery(self._session.state))

    def _give(self, answer: Answer) -> None:
        """Draw the commands of the palette, or send the browser a link to copy."""
        if isinstance(answer, Commands):
            self.commands.draw(answer.commands)
        else:
            self.page.send(answer)

    def download(self, name: str, text: str) -> None:
        self.page.download(name, text)

    def show_prediction(self, prediction: Answer) -> None:
        self.tree.send(prediction)

    def tell_doing(self, doing: tuple[JobStatus, ...]) -> None:
        self.page.send(RunningJobs(doing))


def draw_tree(tree: LoopTree, state: State, store: Store) -> None:
    """Update rows, costs and selection, each only if it changed."""
    tree.show_opening(state.opening)
    rows, costs = rows_now(state, store), costs_now(state, store)
    if rows is not tree.rows:
        tree.param.update(rows=rows, targets={}, costs=costs)
    elif costs is not tree.costs:
        tree.costs = costs
    if tree.selected != state.selected:
        tree.selected = state.selected


def tell_refusal(tree: LoopTree, notice: Notice) -> None:
    """Show a refused action beside the tree."""
    detail = "\n".join(text for text in (notice.found, notice.expected) if text)
    tree.notify(notice.message, detail=detail, code=notice.code, fix=notice.fix)


def _page_of(state: State, store: Store, problems: Problems) -> PageFrame:
    count = sum(problem.severity != "info" for problem in problems.problems)
    return page_value(state, count, tour_value(state, store))
