"""The loop tree in the browser: it receives rows, costs and answers, and sends intents. `static/components/tree/loop_tree.js` draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
import param

from .esm import Compiled, bundle, style

Intent = dict[str, Any]


class LoopTree(Compiled):
    """The loop nest as a tree with drag and drop.

    `views.tree` computes `rows`, `targets` and `costs`, `views.menus` computes `menus`, `views.problems` computes `marks`. Each is sent as
    JSON text, only when it changes: twice as fast as nested properties. For a row without an entry in `targets` or `menus`,
    `find_targets` or `find_menu` is called when the pointer or the cursor is near the row, so that a change does not recompute all rows.

    `on_intent` callbacks receive {"kind": "move", "block", "loop", "primitive"}, {"kind": "moves", "rows", "loop"}, {"kind": "reorder",
    "loops"}, {"kind": "call", "method", "target", "arguments"}, {"kind": "calls", "method", "targets", "arguments"}, {"kind": "rename",
    "id", "name"}, {"kind": "repair", "block", "loop", "primitive"}, {"kind": "select", "id"}, {"kind": "undo"} or {"kind": "redo"}; ids
    are row ids. During a drag they receive {"kind": "grabbed", "rows", "near"}, {"kind": "near", "row"} and {"kind": "released"}; `tell`
    sends the predicted effect of a drop. For an illegal drop, `find_repair` returns the calls that make it legal.
    """

    rows = param.List(default=[], item_type=dict, doc="The rows of views.tree.tree_rows.")
    targets = param.Dict(default={}, doc="Block id -> where it may go, as views.tree.drop_targets.")
    menus = param.Dict(default={}, doc="Row id -> entries, as views.tree.row_menus.")
    marks = param.Dict(default={}, doc="Row id -> the problems it has part in, as views.problems.problem_marks.")
    costs = param.Dict(default={}, doc="Row id -> what it costs with all below it, as views.costs.row_costs.")
    selected = param.String(default="", doc="The row that is chosen; a click sets it.")
    active = param.List(default=[], item_type=str, doc="Rows lit by the playhead.")
    busy = param.Boolean(default=False, doc="Whether an answer is on its way: a moving line at the top.")

    packed_rows = param.String(default="[]", doc="`rows` as JSON text.")
    packed_targets = param.String(default="{}", doc="`targets` as JSON text.")
    packed_costs = param.String(default="{}", doc="`costs` as JSON text.")
    packed_marks = param.String(default="{}", doc="`marks` as JSON text.")
    packed_menus = param.String(default='{"entries": [], "rows": {}}', doc="`menus` as JSON text, equal entries once.")

    _esm = bundle("tree/loop_tree.js")
    _stylesheets: ClassVar[list[str]] = [style("tilewright.css"), style("loop_tree.css")]
    _rename: ClassVar[Mapping[str, str | None]] = dict.fromkeys(("rows", "targets", "menus", "costs", "marks"))

    def __init__(
        self,
        *,
        find_targets: Callable[[list[str]], list[dict[str, Any]]] | None = None,
        find_repair: Callable[[Intent], list[str]] | None = None,
        find_menu: Callable[[str], list[dict[str, Any]]] | None = None,
        **params: Any,
    ) -> None:
        self._find_targets = find_targets
        self._find_repair = find_repair
        self._find_menu = find_menu
        self._intent_callbacks: list[Callable[[Intent], None]] = []
        super().__init__(**params)
        # Every assignment counts as a change: comparing all rows and menus is slower than packing them.
        self.param.watch(self._pack, ["rows", "targets", "menus", "costs"], onlychanged=False)
        self.param.watch(lambda _: self.param.update(packed_marks=_json(self.marks)), "marks")
        self._pack()
        self.packed_marks = _json(self.marks)

    def on_intent(self, callback: Callable[[Intent], None]) -> None:
        """Call `callback` with every intent."""
        self._intent_callbacks.append(callback)

    def notify(
        self, text: str, *, detail: str = "", code: str = "", fix: tuple[str, ...] = (), tone: str = "bad"
    ) -> None:
        """Show a small notice below the rows until the next drag, or until it is closed."""
        reasons = [{"head": "", "text": detail, "code": code, "fix": list(fix)}] if detail or code or fix else []
        self._send_msg({"kind": "notice", "text": text, "reasons": reasons, "tone": tone})

    def _pack(self, *_: Any) -> None:
        self.param.update(
            packed_rows=_json(self.rows),
            packed_targets=_json(self.targets),
            packed_menus=_json(_shared(self.menus)),
            packed_costs=_json(self.costs),
        )

    def tell(self, message: Intent) -> None:
        """Send a result to the browser: {"kind": "predicted", "rows", "loop", "primitive", "value"}."""
        self._send_msg(message)

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
            return
        if data["kind"] == "targets":
            rows = data.get("rows")
            self._answer([str(row) for row in rows] if isinstance(rows, list) else [])
            return
        if data["kind"] == "menu":
            row = str(data.get("row", ""))
            entries = self._find_menu(row) if self._knows([row]) and self._find_menu is not None else []
            self._send_msg({"kind": "menu", "row": row, "entries": entries})
            return
        if data["kind"] == "wish":
            calls = self._find_repair(data) if self._find_repair is not None else []
            self._send_msg({"kind": "repair", "wish": data, "calls": calls})
            return
        if data["kind"] == "select":
            self.selected = str(data.get("id", ""))
        for callback in list(self._intent_callbacks):
            callback(data)
        if data["kind"] in ("call", "calls", "rename"):
            # Sent after a possible refusal: the call's form may close now.
            self._send_msg({"kind": "answered"})

    def _knows(self, rows: list[str]) -> bool:
        return bool(rows) and set(rows) <= {row["id"] for row in self.rows}

    def _answer(self, rows: list[str]) -> None:
        entries = self._find_targets(rows) if self._knows(rows) and self._find_targets is not None else []
        self._send_msg({"kind": "targets", "rows": rows, "entries": _by_answer(entries)})


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _by_answer(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge targets with equal answers into one entry with `loops`: most of three thousand loops have the same answer."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        answer = {key: value for key, value in entry.items() if key != "loop"}
        found.setdefault(_json(answer), {**answer, "loops": []})["loops"].append(entry["loop"])
    return list(found.values())


def _shared(menus: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Menus with each distinct entry stored once: most loops share their entries, and 200 rows would be 300 KB."""
    places: dict[str, int] = {}
    entries: list[dict[str, Any]] = []
    rows: dict[str, list[int]] = {}
    for row, items in menus.items():
        numbers: list[int] = []
        for item in items:
            text = _json(item)
            if text not in places:
                places[text] = len(entries)
                entries.append(item)
            numbers.append(places[text])
        rows[row] = numbers
    return {"entries": entries, "rows": rows}
