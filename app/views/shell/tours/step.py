"""A step of a guided tour: places on the page, a task, and a test of the program that says whether it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .....engine.hwsim import Report
from .....engine.ir import PrimFunc
from ...labels.numbers import change_of, grouped

Test = Callable[[PrimFunc], bool]
Describe = Callable[["Change"], str]


class Change(msgspec.Struct, frozen=True, eq=False):
    """The programs before and after a step's task, and their reports."""

    before: PrimFunc
    after: PrimFunc
    cost_before: Report | None
    cost: Report | None

    def cycles(self, why_same: str) -> str:
        """A sentence about the change in cycles; "" without both reports. `why_same` explains equal cycles."""
        if self.cost_before is None or self.cost is None:
            return ""
        if self.cost_before.cycles == self.cost.cycles:
            return f"The cycles stay at {grouped(self.cost.cycles)}: {why_same}."
        change = change_of(self.cost_before.cycles, self.cost.cycles)[0]
        return f"Cycles: {grouped(self.cost_before.cycles)} → {grouped(self.cost.cycles)} ({change})."


class Step(msgspec.Struct, frozen=True, eq=False):
    """A step of the tour. `anchors` are places on the page, each "area selector"; the first is the focus. `notice`: a browser event.

    `calls` perform the task for the user, or `edit` does: the method, the row and the arguments of an edit of a kernel's text. `result`
    describes the effect, relative to the state before it or to the one where `since` began to hold; `hint` says what is wrong with a
    program that fails the test.
    """

    title: str
    text: str
    anchors: tuple[str, ...]
    task: str = ""
    keys: str = ""
    test: Test | None = None
    hint: Callable[[PrimFunc], str] | None = None
    result: Describe | None = None
    since: Test | None = None
    notice: str = ""
    calls: tuple[str, ...] = ()
    edit: tuple[str, str, Mapping[str, Any]] | None = None


class TourPlan(msgspec.Struct, frozen=True, eq=False):
    """A tour: its `name` in addresses, the example that it is about, the prose that its notebook begins with, its schedule's first lines up
    to `until`, and its steps."""

    name: str
    example: str
    prose: str
    steps: tuple[Step, ...]
    until: str = ""


TREE = "#area-tree"
TIMELINE = "#area-timeline"


def row_of(name: str) -> str:
    """The anchor of a row of the tree."""
    return f'{TREE} .row[data-id="{name}"]'
