"""One open page: its state, and the way round: a message from a view is an intent, an intent makes a state, a state is drawn.

What takes longer than a repaint (verification, what each earlier step changed) starts once the picture has stood still for a moment, in a
thread, and is given up between its pieces as soon as the picture is another one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from ..engine.ir import Proposal, Refusal, TilewrightError
from .actions import (
    ApplyFix,
    Call,
    Calls,
    Intent,
    OpenText,
    Saved,
    Say,
    act,
    repair_of,
)
from .afterwards import Afterwards
from .cabinet import Cabinet
from .clock import Clock
from .document import DocumentError, Notebook
from .exports import Made
from .filing import Filing, readable
from .forecast import Forecast
from .handing import as_text, hand_out
from .messages import MOVED, Message, call_of, intent_of
from .sides import Compare, side_of, usual_sides
from .state import Notice, Side, State
from .store import Store
from .studies import Studies
from .turns import Turns
from .views.gallery import Example, new_notebook
from .views.lints import offered_fix
from .views.menus import SCOPES, Facts, menu_of, scopes_of
from .views.timeline import answer
from .views.tour import tour_text
from .work import Doing

COMPARISONS = ("compare", "compare_text")

FILES = ("save", "save_as", "new_file", "download", "resolve", "heard")

OF_THE_TREE = ("move", "moves", "call", "calls", "reorder", "rename")
"""Messages whose refusal is said beside the tree."""

LOOKS = (
    "select",
    "blame",
    "look",
    "span",
    "pane",
    "theme",
    "dismiss",
    "grabbed",
    "near",
    "released",
    "give_up",
    "resume",
)
"""These change nothing of the program that is shown, so that what is being worked out about it goes on meanwhile."""

FOREVER_S = 3600.0

IN_HAND = ("grabbed", "near")
"""After these something is held over the tree, and what it would do there comes first."""


class Screen(Protocol):
    """What a session draws on."""

    def draw(self, state: State, store: Store) -> None:
        """Show `state`; only what changed travels."""
        ...

    def draw_later(self, state: State, store: Store) -> None:
        """Show what was found out after the paint: changes by step, the verdict."""
        ...

    def download(self, name: str, text: str) -> None:
        """Give the person a file: its text, or a data: address of what is none."""
        ...

    def draw_studies(self, state: State, store: Store) -> None:
        """Show what `Studies` found out: of the machine, of a comparison."""
        ...

    def foretell(self, prediction: Message) -> None:
        """Say what a drop would do, beside the rows that it is between."""
        ...


class Session:
    """The state of one page and what changes it. `screen` is set once the views exist, and `tell_doing`, which is told what is being
    worked out, where somebody looks at that. `patience`: how many seconds a paint may wait for a simulation; `turns` are those of all
    sessions of a server, for what is worked out ahead."""

    def __init__(
        self,
        clock: Clock,
        examples: tuple[Example, ...] = (),
        *,
        cabinet: Cabinet | None = None,
        store: Store | None = None,
        patience: Callable[[], float] = lambda: FOREVER_S,
        turns: Turns | None = None,
    ) -> None:
        self.state = State()
        self.store = store or Store()
        self.screen: Screen | None = None
        self.tell_doing: Callable[[tuple[Doing, ...]], None] | None = None
        self._clock = clock
        self.examples = examples
        self.filing = Filing(cabinet, clock, self._filed)
        self.state = self.filing.placed(self.state)
        turns = turns or Turns()
        self.forecast = Forecast(self.store, clock, self._foretell, turns)
        self.afterwards = Afterwards(
            self.store, clock, patience, drawn=self._drawn, found=self._found, turned=self._turned, turns=turns
        )
        self.studies = Studies(self.store, clock, self._studied, self._turned, turns)
        self._closed = False

    def receive(self, message: Message) -> None:
        """Do what a view's message asks for. A message that makes no sense is a notice, never an exception."""
        self.studies.hold()
        if message.get("kind") not in LOOKS:
            self.afterwards.give_way()
        try:
            self._do(message)
        except TilewrightError as error:
            self.dispatch(Say(error.refusal, "tree" if message["kind"] in OF_THE_TREE else "page"))
        except Exception as error:
            self.dispatch(Say(Refusal("bad-message", f"this cannot be done: {type(error).__name__}: {error}")))
        finally:
            self.afterwards.go_on(self.state)
            if message.get("kind") not in IN_HAND:
                self.studies.go_on()

    def _do(self, message: Message) -> None:
        if message["kind"] == "grabbed":
            self.forecast.begin(self.state, [str(row) for row in message["rows"]], str(message.get("near", "")))
        elif message["kind"] == "near":
            self.forecast.look(str(message["row"]))
        elif message["kind"] == "released":
            self.forecast.stop()
        elif message["kind"] == "give_up":
            self._give_up()
        elif message["kind"] == "resume":
            self._resume()
        elif message["kind"] in COMPARISONS:
            self._compare(message)
        elif message["kind"] == "export":
            self._export(message)
        elif message["kind"] in FILES:
            self._file(message)
        elif message["kind"] == "tour":
            self.dispatch(OpenText(tour_text()))
        elif message["kind"] == "open":
            self._open({e.name: e for e in self.examples}[message["name"]])
        else:
            self.state = self.filing.based(self.state, message)
            intent = intent_of(message, self.state)
            if intent is not None:
                self.dispatch(self._with_known(intent))

    def _with_known(self, intent: Intent) -> Intent:
        """The intent with what was worked out for it before: a drop that was foretold, a fix that was tried."""
        if isinstance(intent, Call | Calls):
            return self.forecast.with_made(self.state, intent)
        if isinstance(intent, ApplyFix):
            return replace(intent, fix=offered_fix(self.state, self.store, intent.calls, intent.replaces))
        return intent

    def want(self, intent: Intent) -> Notice | None:
        """Do what a program wants. What is refused is its alone to know: the state stays, and a page shows nothing of it."""
        self.studies.hold()
        self.afterwards.give_way()
        try:
            after = act(self.state, self._with_known(intent))
            if after.notice is not None and after.notice is not self.state.notice:
                return after.notice
            self._show(after)
        finally:
            self.afterwards.go_on(self.state)
            self.studies.go_on()
        return None

    def _compare(self, message: Message) -> None:
        """Two sides by their keys, the usual ones where none are named; "b" may be a text that was opened for it."""
        usual = usual_sides(self.state)
        shown = self.state.comparison
        sides = [shown.a, shown.b] if shown is not None else list(usual)
        for n, name in enumerate(("a", "b")):
            if name in message:
                sides[n] = side_of(str(message[name]), self.state, self._opened_example)
        if message["kind"] == "compare_text":
            title, notebook = opened_text(str(message["text"]), str(message["name"]))
            sides[1 if message["side"] == "b" else 0] = Side(f"file:{title}", title, notebook)
        self.dispatch(Compare(*sides))

    def _opened_example(self, name: str) -> tuple[str, Notebook]:
        example = {e.name: e for e in self.examples}[name]
        found = self.store.remember(f"example {name}", (), lambda: opened_text(example.text, example.title))
        return example.title, found[1]

    def _open(self, example: Example) -> None:
        """An example as it was read, or a person's own file as it is now."""
        if example.path is None:
            self.dispatch(OpenText(example.text, example.title))
        else:
            self.open_file(example.path)

    def open_file(self, path: str) -> None:
        """A file as it is now, or as other pages have it; edits go into it. Raises DocumentError where it cannot be read."""
        document = readable(path)
        opened = act(self.state, OpenText(document.text, path=document.path))
        if opened.notebook is self.state.notebook:
            self._show(opened)  # it could not be
        else:
            self._show(self.filing.opened(self.filing.after(self.state, opened), source=document))

    def dispatch(self, intent: Intent) -> None:
        """The next state, drawn."""
        self._show(act(self.state, intent))

    def _show(self, state: State) -> None:
        before, self.state = self.state, self.filing.after(self.state, state)
        if self.screen is None or self.state is before:
            return
        changed = self.state.moment is not before.moment or self.state.notebook is not before.notebook
        if changed:
            self.afterwards.simulate(self.state)
        self.screen.draw(self.state, self.store)
        if changed:
            self.afterwards.begin(self.state)
            self._turned()
        self.studies.look(self.state)

    def close(self) -> None:
        """The page is gone: nothing more is worked out for it."""
        self.filing.leave(self.state)
        self._closed = True
        self.afterwards.stop()
        self.forecast.stop()
        self.studies.stop()

    def repair(self, wish: Message) -> list[str]:
        """The calls that would make a drop possible, as texts, the drop last; none where nothing is known to help."""
        try:
            call = call_of({**wish, "kind": "move"}, self.state)
        except (TilewrightError, KeyError, ValueError):
            return []
        calls = repair_of(self.state, call)
        return (
            [str(c) for c in (*calls, Proposal(call.method, tuple(zip(MOVED, call.args, strict=True))))]
            if calls
            else []
        )

    def targets(self, rows: list[str]) -> list[dict[str, Any]]:
        """Where the blocks or loops of `rows` may be dropped."""
        return self.forecast.targets(self.state, rows)

    def menu(self, row: str) -> list[dict[str, Any]]:
        """What may be done to `row`."""
        if self.state.moment is None:
            return []
        schedule, machine = self.state.moment.schedule, self.store.machine(self.state)
        names = schedule.intrinsics

        def facts() -> Facts:
            if isinstance(machine, TilewrightError):
                return Facts(schedule.func, SCOPES, None, names)
            return Facts(schedule.func, scopes_of(machine), machine, names)

        known = self.store.remember(f"facts {names}", (schedule.func, machine), facts)
        return menu_of(known, row) if row in known.ids else []

    def _foretell(self, prediction: Message) -> None:
        if self.screen is not None and not self._closed:
            self.screen.foretell(prediction)

    def timeline_answer(self, message: Message) -> Message | None:
        """What the timeline asks for: a window, when a task starts, which step an engine's wait is due to. None for what makes no sense."""
        try:
            return answer(self.state, self.store, message)
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    # What comes after the paint.

    def _drawn(self) -> None:
        """The report of the picture is here, or will not come."""
        if not self._closed and self.screen is not None:
            self.screen.draw(self.state, self.store)
            self.studies.look(self.state)

    def _found(self) -> None:
        """Something is known now about what is shown."""
        if not self._closed and self.screen is not None:
            self.screen.draw_later(self.state, self.store)
            self.studies.look(self.state)

    def _turned(self) -> None:
        """Something else is being worked out."""
        if not self._closed and self.tell_doing is not None:
            self.tell_doing(self.doing)

    @property
    def doing(self) -> tuple[Doing, ...]:
        """What is being worked out about what is shown."""
        study = self.studies.doing
        return (*self.afterwards.doing, *([study] if study is not None else []))

    def _give_up(self) -> None:
        self.afterwards.stop_for_good(self.state)
        self.studies.stop_for_good()
        self._turned()

    def _resume(self) -> None:
        self.afterwards.resume(self.state)
        self.studies.resume()
        self._turned()

    def _studied(self) -> None:
        if not self._closed and self.screen is not None:
            self.screen.draw_studies(self.state, self.store)

    # Files.

    def _export(self, message: Message) -> None:
        if self.state.moment is not None:
            hand_out(str(message.get("to", "tvm")), self.state, self.store, self._clock, self._given)

    def _given(self, file: Made | TilewrightError) -> None:
        if isinstance(file, TilewrightError):
            self.dispatch(Say(file.refusal))
        elif self.screen is not None and not self._closed:
            self.screen.download(file.name, as_text(file))

    def _file(self, message: Message) -> None:
        """What is done with files. A notebook without one is saved by being downloaded."""
        kind = message["kind"]
        if kind == "new_file":
            path = self.filing.place_for(str(message["name"]))
            opened = act(self.state, OpenText(new_notebook(), path=str(path)))
            self._show(self.filing.opened(self.filing.after(self.state, opened), anew=True))
        elif self.state.notebook is None:
            return
        elif kind == "save_as":
            self._show(
                self.filing.save_as(self.state, str(message["name"]), replacing=message.get("replacing") is True)
            )
        elif kind == "heard":
            self.filing.heard()
        elif kind == "resolve":
            self._show(self.filing.resolve(self.state, [str(choice) for choice in message["choices"]]))
        elif kind == "save" and self.filing.has_file:
            self._show(self.filing.save(self.state))
        elif self.screen is not None:
            document = self.state.notebook.document
            self.screen.download(Path(document.path or "notebook.py").name, document.text)
            self.dispatch(Saved(document.text))

    def _filed(self) -> None:
        """Others changed the file, or it stands otherwise."""
        if self._closed:
            return
        before, after = self.state, self.filing.caught_up(self.state)
        if after.notebook is not before.notebook:
            self._show(after)
        elif after is not before:
            self.state = after
            if self.screen is not None:
                self.screen.draw_later(after, self.store)


def opened_text(text: str, title: str) -> tuple[str, Notebook]:
    """Title and notebook of a text, as if it were opened. Raises what opening it says."""
    opened = act(State(), OpenText(text, title))
    if opened.notebook is None:
        notice = opened.notice
        raise DocumentError(
            Refusal(notice.code, notice.message, notice.found)
            if notice
            else Refusal("no-workload", "there is no program")
        )
    return opened.title, opened.notebook


__all__ = ["Screen", "Session"]
