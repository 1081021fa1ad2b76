"""A schedule with the loop tree on it, alone on a page: for the browser tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Page
from support.browser.alone import alone
from support.schedules.drop_targets import drop_targets

from tilewright.app.actions.call_arguments import call_arguments
from tilewright.app.actions.calls import moves_of
from tilewright.app.components.esm import style
from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.jobs.drop_targets import targets_of
from tilewright.app.views.menus import SCOPES, Facts, menu_of, scopes_of
from tilewright.app.views.tree.rows import row_ids, row_menus, tree_rows
from tilewright.engine.hwsim import Machine
from tilewright.engine.ir import TilewrightError
from tilewright.engine.schedule import Schedule, TensorIntrin
from tilewright.engine.script import parse

QUIET = ("select", "begin_drag", "drag_over", "end_drag", "try_calls")
"""Messages that change nothing."""

PAGE_CSS = "html, body { background: var(--tw-bg); margin: 0; }"


def go_to(page: Page, url: str) -> None:
    """A page of a bench, in the app's colours: Panel's own settings are global to the process, and the last page wins."""
    page.goto(url)
    page.add_style_tag(content=f"{style('tilewright.css')}\n{PAGE_CSS}")


class Bench:
    """A schedule with a tree on it, limited to the page's handling of intents."""

    def __init__(
        self,
        text: str,
        prepare: Callable[[Schedule], object] = lambda _: None,
        *,
        eager: bool = False,
        machine: Machine | None = None,
        intrinsics: Mapping[str, TensorIntrin] | None = None,
    ) -> None:
        self.eager = eager
        self.machine = machine
        self.intrinsics = intrinsics
        self.tree = LoopTree()
        self.tree.on_message(self.receive)
        self.open(text, prepare)

    def open(self, text: str, prepare: Callable[[Schedule], object] = lambda _: None) -> None:
        """Show another program, even in an open page."""
        self.schedule = Schedule(parse(text).program, intrinsics=self.intrinsics)
        prepare(self.schedule)
        self.intents: list[dict[str, Any]] = []
        self._facts: tuple[object, Facts] | None = None
        self.show()

    def targets_of(self, *rows: str) -> list[dict[str, Any]]:
        return targets_of(self.schedule, rows)

    def repair_of(self, request: dict[str, Any]) -> list[str]:
        ids = row_ids(self.schedule.func)
        try:
            getattr(self.schedule.copy(), request["primitive"])(ids[request["block"]], ids[request["loop"]])
        except TilewrightError as error:
            move = f"sch.{request['primitive']}({request['block']!r}, {request['loop']})"
            return [*map(str, error.refusal.repair), move] if error.refusal.repair else []
        return []

    def show(self) -> None:
        func = self.schedule.func
        targets = drop_targets(self.schedule) if self.eager else {}
        menus = self.menus() if self.eager else {}
        self.tree.param.update(rows=tree_rows(func), menus=menus, targets=targets)

    def menu_of(self, row: str) -> list[dict[str, Any]]:
        if self._facts is None or self._facts[0] is not self.schedule.func:
            func, machine = self.schedule.func, self.machine
            scopes = SCOPES if machine is None else scopes_of(machine)
            self._facts = (func, Facts(func, scopes, machine, self.schedule.intrinsics))
        return menu_of(self._facts[1], row)

    def menus(self) -> dict[str, list[dict[str, Any]]]:
        func, intrinsics = self.schedule.func, self.schedule.intrinsics
        if self.machine is None:
            return row_menus(func, intrinsics=intrinsics)
        return row_menus(func, scopes_of(self.machine), machine=self.machine, intrinsics=intrinsics)

    def receive(self, message: dict[str, Any]) -> None:
        """Answer a query, or apply a change."""
        match message["kind"]:
            case "targets":
                entries = [replace(entry, loops=(entry.loop,)) for entry in self.targets_of(*message["rows"])]
                self.tree.send({"kind": "targets", "rows": message["rows"], "entries": entries})
            case "menu" if message["row"] not in row_ids(self.schedule.func):
                pass  # a change removed the row, and the page does not show it yet
            case "menu":
                self.tree.send({"kind": "menu", "row": message["row"], "entries": self.menu_of(message["row"])})
            case "find_repair":
                self.tree.send({"kind": "repair", "request": message, "calls": self.repair_of(message), "blocks": []})
            case "select":
                self.tree.selected = message["id"]
                self.act(message)
            case kind:
                self.act(message)
                if kind in ("call", "calls", "rename"):
                    self.tree.send({"kind": "answered"})

    def act(self, intent: dict[str, Any]) -> None:
        self.intents.append(intent)
        if intent["kind"] in QUIET:
            return
        ids = row_ids(self.schedule.func)
        try:
            match intent["kind"]:
                case "move" if intent.get("repair"):
                    return  # the app makes the calls of the repair before this one
                case "move":
                    getattr(self.schedule, intent["primitive"])(ids[intent["block"]], ids[intent["loop"]])
                case "reorder":
                    self.schedule.reorder(*(ids[row] for row in intent["loops"]))
                case "call":
                    args, kwargs = call_arguments(
                        self.schedule.func, intent["method"], intent["target"], intent["arguments"]
                    )
                    getattr(self.schedule, intent["method"])(*args, **kwargs)
                case "moves":
                    moves = moves_of(self.schedule, [str(ids[row]) for row in intent["rows"]], ids[intent["loop"]])
                    assert isinstance(moves, list)
                    for method, block in moves:
                        getattr(self.schedule, method)(block, ids[intent["loop"]])
                case "calls":
                    for target in intent["targets"]:
                        args, kwargs = call_arguments(self.schedule.func, intent["method"], target, intent["arguments"])
                        getattr(self.schedule, intent["method"])(*args, **kwargs)
                case "undo":
                    self.schedule.undo()
        except TilewrightError as error:
            refusal = error.refusal
            self.tree.notify(f"{intent['kind']} refused", detail=refusal.message, code=refusal.code, fix=refusal.fix)
            return
        self.show()

    @property
    def last(self) -> dict[str, Any]:
        """The last message that requests a change."""
        return next(i for i in reversed(self.intents) if i["kind"] not in QUIET)

    def kinds(self) -> list[str]:
        return [intent["kind"] for intent in self.intents if intent["kind"] not in QUIET]

    def view(self, width: int = 460, height: int = 640) -> Any:
        return alone(self.tree, width, height)
