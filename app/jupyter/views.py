"""Loop tree, timeline and layout picker as widgets. Each has a separate session for a schedule that it shares with the user's code.

A drag makes its calls on the schedule object. `schedule` is a `param` parameter that reports the change, so
`Timeline(schedule=tree.param.schedule)` links two views; changes made by a cell appear after the cell has run.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import param
from msgspec.structs import replace

from ...engine.hwsim import Machine, Report, load_machine, preset_names
from ...engine.ir import IRModule, PrimFunc
from ...engine.schedule import Schedule
from ..actions.opening import OpenNotebook
from ..actions.table import SelectRow, Undo
from ..components.component import Component
from ..components.loop_tree import LoopTree as TreeComponent
from ..components.panels import InspectorView
from ..components.timeline import TimelineView
from ..document import DEFAULT_MACHINE, Notebook, read_document
from ..document import State as Moment
from ..document.editing.from_schedule import notebook_of_schedule
from ..document.pasted import machine_for
from ..page.page import draw_tree, tell_refusal
from ..session.session import Reply, Session, no_reply
from ..state.derived import REPORT, Store
from ..state.intents import Message
from ..state.model import State
from ..views.inspector.value import inspector_value
from ..views.labels.buffer_ids import buffer_ids
from ..views.labels.values import Answer
from ..views.timeline.value import timeline_value
from .kernel import HandClock, KernelClock
from .saved_pictures import layout_picture, timeline_picture, tree_picture
from .showing import Shown, on_cells_run


class MachineStore(Store):
    """A store that simulates on the `given` machine, if set, in place of the notebook's."""

    def __init__(self) -> None:
        super().__init__()
        self.given: Machine | None = None

    def machine(self, state: State) -> Any:
        if self.given is None:
            return super().machine(state)
        return self._machines.setdefault(self.given, self.given)


class ScheduleSession(Session):
    """A session that can also undo the schedule's calls from before the session."""

    def handle(self, message: Message, reply: Reply = no_reply) -> None:
        """Handle a message in its turn."""
        begins = not self.state.past and not self.file_sync.has_file
        if isinstance(message, Undo) and begins and self.state.notebook is not None:
            before = before_last_call(self.state.notebook)
            self.state = replace(self.state, past=() if before is None else (before,))
        super().handle(message, reply)


class View(Shown):
    """Base class of a schedule's views. `schedule` may be a Schedule, a notebook, or a program without calls."""

    schedule = param.Parameter(default=None, allow_refs=True, doc="The schedule that is shown; dragging changes it.")
    machine = param.Parameter(
        default=None,
        allow_refs=True,
        doc="A machine, its name or file; None: the first preset with the program's memories.",
    )
    sizes = param.Dict(default={}, allow_refs=True, doc='Numbers for symbolic sizes: {"M": 256}.')

    __abstract = True

    def __init__(self, schedule: Any = None, **params: Any) -> None:
        if schedule is not None:
            params["schedule"] = schedule
        # Setting a parameter that refers to another one would end the reference, so a linked view leaves the update to its source.
        self._is_linked = isinstance(params.get("schedule"), param.Parameter | param.reactive.rx)
        self._followed: Schedule | None = None
        self._told: object = None
        super().__init__(**params)
        self._store = MachineStore()
        self._session = self._begun()
        self._session.updater.screen = self
        self._loading = False
        self._notice: object = None
        self._drawn = self._made()
        # Every assignment counts as a change: the schedule may have changed although the object is the same.
        self.param.watch(self._load, ["schedule", "machine", "sizes"], onlychanged=False)
        self._load()
        on_cells_run(self._catch_up)

    def _begun(self) -> Session:
        return ScheduleSession(HandClock(), store=self._store)

    def _made(self) -> Component:
        """Create the component that draws the view; its messages go to the session."""
        raise NotImplementedError

    def _component(self) -> Component:
        return self._drawn

    def _paint(self, state: State, store: Store) -> None:
        """Draw the view's part of a state."""
        raise NotImplementedError

    # From the schedule to the session.

    def _load(self, *_: param.parameterized.Event) -> None:
        """Show the schedule's current state."""
        given = self.schedule
        if given is not None and not isinstance(given, Schedule):
            machine = given.machine if self.machine is None and isinstance(given, Notebook) else self.machine
            self.param.update(schedule=as_schedule(given), machine=machine)
            return
        schedule: Schedule | None = given
        if schedule is None:
            return
        if schedule is not self._followed:
            self._followed = schedule
            schedule.follow(self._moved)
        self._told = schedule.states[-1]
        self._store.given = self._machine(schedule)
        shown = self._session.state.shown
        if shown is not None and shown.sizes == self.sizes and is_there(schedule, shown):
            self._session.updater.show(is_another=True)  # the machine may be another one
            return
        named = named_machine(self._store.given)
        if named is not None:
            self._store.given = None  # the text names the machine, and an edit may change it
        self._loading = True
        try:
            self._session.dispatch(OpenNotebook(notebook_of_schedule(schedule, named, self.sizes), schedule.func_name))
        finally:
            self._loading = False

    def _machine(self, schedule: Schedule) -> Machine:
        wanted = self.machine
        if isinstance(wanted, Machine):
            return wanted
        return load_machine(wanted if wanted is not None else machine_for(schedule.func, DEFAULT_MACHINE))

    def _moved(self) -> None:
        """Update the view and its saved picture after a user's change in this view or another view of the schedule.

        A change made by a cell does not update the picture: the saved outputs of earlier cells remain.
        """
        self._keep_picture()
        self._catch_up()

    def _catch_up(self) -> None:
        """Show the schedule's current state, and notify linked views."""
        schedule = self.schedule
        if schedule is None or schedule is not self._followed or schedule.states[-1] is self._told:
            return
        if self._is_linked:
            self._load()
        else:
            self.schedule = schedule

    # The session's screen.

    def draw(self, state: State, store: Store) -> None:
        """Show a state, then apply it to the shared schedule."""
        if state.moment is None:
            return
        self._paint(state, store)
        self._resize()
        if not self._loading and state.shown is not None:
            self._hand_on(state.shown)

    def _hand_on(self, shown: Notebook) -> None:
        """Move the schedule to the state of the notebook."""
        schedule = self.schedule
        if schedule is not None and shown.schedule is not None and not is_there(schedule, shown):
            schedule.go_to(shown.schedule)

    def draw_results(self, state: State, store: Store) -> None:
        """Show results that arrived after the paint."""
        if state.moment is not None:
            self._paint(state, store)

    def download(self, name: str, text: str) -> None:
        """Offer a file as a download; ignored here."""

    def show_prediction(self, prediction: Answer) -> None:
        """Show the predicted effect of a drop; ignored here."""

    @property
    def _group(self) -> str:
        return str(id(self.schedule))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.schedule!r})"


class LoopTree(View):
    """The loop nest as a tree: drag a block onto a loop, or a loop within its nest; menus and keys as on the page."""

    selected = param.String(default="", allow_refs=True, doc="The selected row.")
    buffer = param.String(
        default="", allow_refs=True, doc="The buffer whose layout was requested (Shift+Enter on a block)."
    )

    def _made(self) -> Component:
        session = self._session
        self.param.watch(lambda event: self._select(event.new), "selected")
        tree = TreeComponent()
        tree.on_message(partial(session.receive, reply=tree.send))
        return tree

    def _select(self, row: str) -> None:
        if row != self._session.state.selected:
            self._session.dispatch(SelectRow(row, self._session.state.buffer))

    def _paint(self, state: State, store: Store) -> None:
        assert isinstance(self._drawn, TreeComponent)
        draw_tree(self._drawn, state, store)
        notice = state.notice
        if notice is not None and notice is not self._notice:
            tell_refusal(self._drawn, notice)
        self._notice = notice
        rows = self._drawn.rows
        self._natural_height = sum(28 if row.kind == "block" else 23 for row in rows) + 60
        self.param.update(selected=state.selected, buffer=state.buffer)

    def show_prediction(self, prediction: Answer) -> None:
        assert isinstance(self._drawn, TreeComponent)
        self._drawn.send(prediction)

    def _pictures(self) -> list[str]:
        return [tree_picture(self._session.state, self._store)]


class Timeline(View):
    """Engines and memories over time, of a schedule, with its later changes, or of a report."""

    report = param.ClassSelector(class_=Report, default=None, doc="A report to show instead of the schedule's own.")

    def __init__(self, schedule: Any = None, **params: Any) -> None:
        if isinstance(schedule, Report):
            schedule, params["report"] = None, schedule
        super().__init__(schedule, **params)

    def _made(self) -> Component:
        self.param.watch(self._load, "report")
        timeline = TimelineView({})
        timeline.on_message(partial(self._session.receive, reply=timeline.send))
        return timeline

    def _load(self, *events: param.parameterized.Event) -> None:
        if self.report is None:
            super()._load(*events)
            return
        program = self.report.segments.program
        func, machine = program.source, program.machine
        self._store.given = machine
        moment = Moment(Schedule(func), {})
        notebook = Notebook(read_document(""), func, machine, states=(moment,))
        self._session.dispatch(OpenNotebook(notebook, func.name))
        self._store.keep(REPORT(self._store.costed(self._session.state, moment.schedule), machine), self.report)
        self.draw(self._session.state, self._store)

    def _paint(self, state: State, store: Store) -> None:
        assert isinstance(self._drawn, TimelineView)
        value = timeline_value(state, store)
        self._drawn.draw(value)
        self._natural_height = 200 + 44 * len(value.engines) + 60 * len(value.rows)

    def _pictures(self) -> list[str]:
        return [timeline_picture(self._session.state, self._store)]

    def __repr__(self) -> str:
        return super().__repr__() if self.report is None else f"Timeline({self.report!r})"


class LayoutPicker(View):
    """The placement of a buffer's elements, their accesses, and a choice of other layouts."""

    buffer = param.String(default="", allow_refs=True, doc="The requested buffer; by default the first one on chip.")
    shown = param.String(default="", doc="The displayed buffer.")

    def __init__(self, schedule: Any = None, buffer: Any = "", **params: Any) -> None:
        super().__init__(schedule, buffer=buffer, **params)

    def _begun(self) -> Session:
        # KernelClock: the costs of layouts are computed in the background while the picker shows them.
        return ScheduleSession(KernelClock(), store=self._store)

    def _made(self) -> Component:
        self.param.watch(lambda event: self._choose(), "buffer")
        self._natural_height = 620
        inspector = InspectorView(data=inspector_value(self._session.state, self._store))
        inspector.on_message(self._session.receive)
        return inspector

    def _load(self, *events: param.parameterized.Event) -> None:
        super()._load(*events)
        self._choose()

    def _choose(self) -> None:
        moment = self._session.state.moment
        if moment is None:
            return
        known = buffer_ids(moment.schedule.func)
        wanted = self.buffer or next(
            (name for name, b in known.items() if b.scope not in ("", "global")), next(iter(known), "")
        )
        if wanted in known and self._session.state.buffer != wanted:
            self._session.dispatch(SelectRow(buffer=wanted))

    def _paint(self, state: State, store: Store) -> None:
        assert isinstance(self._drawn, InspectorView)
        self._drawn.draw(inspector_value(state, store))
        if self.shown not in ("", state.buffer):
            self._keep_picture()
        self.shown = state.buffer

    def _pictures(self) -> list[str]:
        return [layout_picture(self._session.state, self._store)]


def as_schedule(given: Any) -> Schedule | None:
    """The schedule of a schedule, a notebook or a program; None for None. Raises TypeError for anything else."""
    match given:
        case None | Schedule():
            return given
        case IRModule() | PrimFunc():
            return Schedule(given)
        case _ if isinstance(getattr(given, "schedule", None), Schedule):
            return given.schedule.copy()  # a copy, so that the notebook's state does not change
        case _:
            raise TypeError(f"a schedule, a notebook or a program is expected, not {type(given).__name__}")


def before_last_call(notebook: Notebook) -> Notebook | None:
    """The notebook before the last call that changed the program; None if there is no such call."""
    schedule = notebook.schedule
    changes = [n for n, step in enumerate(schedule.trace.steps) if step.changes] if schedule is not None else []
    if schedule is None or not changes:
        return None
    return notebook_of_schedule(schedule.at(changes[-1]), notebook.machine, notebook.sizes)


def named_machine(machine: Machine | None) -> Machine | None:
    """The machine if it equals the preset of its name, else None."""
    known = machine is not None and machine.name in preset_names() and load_machine(machine.name) == machine
    return machine if known else None


def is_there(schedule: Schedule, shown: Notebook) -> bool:
    """Whether the notebook shows the schedule's current state."""
    return shown.schedule is not None and shown.schedule.states[-1] is schedule.states[-1]
