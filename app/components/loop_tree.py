"""The loop tree in the browser: it receives rows, costs and answers, and sends intents. `static/components/tree/loop_tree.js` draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import param

from .component import Component


class LoopTree(Component):
    """The loop nest as a tree with drag and drop.

    `views.tree` computes `rows`, `targets` and `costs`, `views.menus` computes `menus`, `views.problems` computes `marks`. Each is sent as
    JSON text, only when it changes: twice as fast as nested properties. The browser asks for the
    targets and the menu of a row without an entry when the pointer or the cursor is near it ("targets", "menu"), so that a change does not
    recompute all rows. `send` answers, and shows the predicted effect of a drop.
    """

    rows = param.List(default=[], doc="The rows of views.tree.tree_rows.")
    targets = param.Dict(default={}, doc="Block id -> where it may go, as views.tree.drop_targets.")
    menus = param.Dict(default={}, doc="Row id -> entries, as views.tree.row_menus.")
    marks = param.Dict(default={}, doc="Row id -> the problems it has part in, as views.problems.problem_marks.")
    costs = param.Dict(default={}, doc="Row id -> what it costs with all below it, as views.costs.row_costs.")
    selected = param.String(default="", doc="The row that is chosen; a click sets it.")
    opened = param.Integer(default=0, doc="How many notebooks were shown: the cursor begins at the first row of each.")
    active = param.List(default=[], item_type=str, doc="Rows lit by the playhead.")
    busy = param.Boolean(default=False, doc="Whether an answer is on its way: a moving line at the top.")

    packed_rows = param.String(default="[]", doc="`rows` as JSON text.")
    packed_targets = param.String(default="{}", doc="`targets` as JSON text.")
    packed_costs = param.String(default="{}", doc="`costs` as JSON text.")
    packed_marks = param.String(default="{}", doc="`marks` as JSON text.")
    packed_menus = param.String(default='{"entries": [], "rows": {}}', doc="`menus` as JSON text, equal entries once.")

    root = "tree"

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._opening: object = None
        # Every assignment counts as a change: comparing all rows and menus is slower than packing them.
        self.param.watch(self._pack, ["rows", "targets", "menus", "costs"], onlychanged=False)
        self.param.watch(lambda _: self.param.update(packed_marks=_json(self.marks)), "marks", onlychanged=False)
        self._pack()
        self.packed_marks = _json(self.marks)

    def show_opening(self, opening: object) -> None:
        """Count the notebook that was opened with `opening`, unless it is visible."""
        if opening is not self._opening:
            self._opening = opening
            self.opened += 1

    def notify(
        self, text: str, *, detail: str = "", code: str = "", fix: tuple[str, ...] = (), tone: str = "bad"
    ) -> None:
        """Show a small notice below the rows until the next drag, or until it is closed."""
        reasons = [{"head": "", "text": detail, "code": code, "fix": list(fix)}] if detail or code or fix else []
        self.send({"kind": "notice", "text": text, "reasons": reasons, "tone": tone})

    def _pack(self, *_: Any) -> None:
        self.param.update(
            packed_rows=_json(self.rows),
            packed_targets=_json(self.targets),
            packed_menus=_json(_shared(self.menus)),
            packed_costs=_json(self.costs),
        )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _shared(menus: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """Menus with each distinct entry stored once: most loops share their entries, and 200 rows would be 300 KB."""
    places: dict[str, int] = {}
    entries: list[object] = []
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
