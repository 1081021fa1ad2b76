"""The guided tour: the user applies compute_at, set_scope and cache_read once each, which answers the forum's question about them.

The tour derives its progress from the notebook alone, so it notices a drag, a menu, a typed line and undo. It keeps no other state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Report
from ....engine.ir import Block, Buffer, PrimFunc
from ....engine.lower import allocations
from ...document import Document, load_document
from ...document import State as Moment
from ...state.derived import Store
from ...state.model import State
from ..labels.numbers import change_of, grouped, size_text
from ..labels.sizes import buffer_bytes
from .gallery import FOLDER

EXAMPLE = "what_moves_what"
"""The example whose schedule the tour builds step by step."""

PROSE = """\
# %% [markdown]
# # Guided tour: what moves what
#
# From the discussion *Compute_at vs set_scope*:
#
# > What is the difference between the compute_at and set_scope functions? […] There is a third operation that seems to play into this,
# > which is cache_read.
#
# B doubles A, C adds W to it. Each of the three calls is made once, on this nest.

"""

Test = Callable[[PrimFunc], bool]
Told = Callable[["_Change"], str]


class _Change(msgspec.Struct, frozen=True, eq=False):
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
            return f"The cycles stay {grouped(self.cost.cycles)}: {why_same}."
        change = change_of(self.cost_before.cycles, self.cost.cycles)[0]
        return f"Cycles: {grouped(self.cost_before.cycles)} → {grouped(self.cost.cycles)} ({change})."


class _Step(msgspec.Struct, frozen=True, eq=False):
    """A step of the tour. `anchors` are places on the page, each "area selector"; the first is the focus. `notice`: a browser event.

    `calls` perform the task for the user. `told` describes the result, relative to the state before it or to the one where `since` began
    to hold.
    """

    title: str
    text: str
    anchors: tuple[str, ...]
    task: str = ""
    keys: str = ""
    test: Test | None = None
    told: Told | None = None
    since: Test | None = None
    notice: str = ""
    calls: tuple[str, ...] = ()


def tour_text() -> str:
    """The tour's initial notebook: the example up to its first compute_at call."""
    document = load_document(FOLDER / f"{EXAMPLE}.py")
    schedule = document.of_kind("schedule")[0].text
    start = schedule[: schedule.index("sch.compute_at(")]
    cells = [document.of_kind(kind)[0].text for kind in ("machine", "workload")]
    return "".join((PROSE, *cells, start))


def is_tour(document: Document) -> bool:
    """Whether a notebook is the tour's, at any step: it begins with the tour's prose."""
    return document.text.startswith(PROSE)


def tour_value(state: State, store: Store) -> dict[str, Any] | None:
    """The steps: title, text, anchors, task, keys, notice, calls, done, told. None if another notebook is open."""
    if state.notebook is None or state.shown is None or not is_tour(state.notebook.document):
        return None
    moments = state.shown.states
    return {"steps": [_step_value(step, moments, state, store) for step in STEPS], "example": EXAMPLE}


def _step_value(step: _Step, moments: Sequence[Moment], state: State, store: Store) -> dict[str, Any]:
    change = _change(step, moments, state, store)
    return {
        "title": step.title,
        "text": step.text,
        "anchors": step.anchors,
        "task": step.task,
        "keys": step.keys,
        "notice": step.notice,
        "calls": step.calls,
        "done": change is not None,
        "told": step.told(change) if step.told is not None and change is not None else "",
    }


def _change(step: _Step, moments: Sequence[Moment], state: State, store: Store) -> _Change | None:
    """The change by which the step's test began to hold; None if the current program fails the test."""
    came = None if step.test is None else _came(step.test, moments, store)
    if came is None:
        return None
    first = _came(step.since, moments, store) if step.since is not None else None
    pair = [moments[came - 1 if first is None or first >= came else first], moments[came]]
    costs = [_report(store, state, moment) for moment in pair]
    return _Change(pair[0].schedule.func, pair[1].schedule.func, *costs)


def _came(test: Test, moments: Sequence[Moment], store: Store) -> int | None:
    """The index of the state since which `test` holds without a break; None if it fails in the last one."""
    holds = [
        store.remember(f"tour {id(test)}", (func,), partial(test, func))
        for func in (moment.schedule.func for moment in moments)
    ]
    if not holds[-1]:
        return None
    return next((n + 1 for n in range(len(holds) - 1, -1, -1) if not holds[n]), 1)


def _report(store: Store, state: State, moment: Moment) -> Report | None:
    found = store.report(store.costed(state, moment.schedule), store.machine(state))
    return found if isinstance(found, Report) else None


# Tests of the program.


def _block(func: PrimFunc, name: str) -> Block | None:
    index = ProgramIndex(func)
    return index.block(name) if index.has_block(name) else None


def _is_below(func: PrimFunc, block: str | None, loop: str) -> bool:
    index = ProgramIndex(func)
    if block is None or not index.has_block(block):
        return False
    return any(around.loop_var.name == loop for around in index.loops_of(block))


def _on_chip(buffer: Buffer) -> bool:
    return buffer.scope != "global"


def _intermediate(func: PrimFunc) -> Buffer | None:
    """The buffer that B writes and C reads."""
    block = _block(func, "B")
    return block.writes[0].buffer if block is not None and block.writes else None


def _moved_memory(func: PrimFunc) -> bool:
    buffer = _intermediate(func)
    return buffer is not None and _on_chip(buffer)


def _copy_of(func: PrimFunc, name: str) -> str | None:
    """The block that copies parameter `name` onto the chip."""
    index = ProgramIndex(func)
    for buffer in func.buffers:
        if buffer.name == name:
            for reader in index.readers(buffer):
                if all(_on_chip(region.buffer) for region in index.block(reader).writes):
                    return reader
    return None


def _copied(func: PrimFunc) -> bool:
    return _copy_of(func, "W") is not None


def _copy_placed(func: PrimFunc) -> bool:
    return _is_below(func, _copy_of(func, "W"), "io")


def _all_on_chip(func: PrimFunc) -> bool:
    """Whether B and C access on-chip memory only."""
    blocks = [_block(func, name) for name in ("B", "C")]
    return all(
        block is not None and all(_on_chip(region.buffer) for region in (*block.reads, *block.writes))
        for block in blocks
    )


def _size_of(func: PrimFunc, name: str) -> str:
    """The allocated size of a buffer after compaction to its live part."""
    found = [a for a in allocations(func) if a.buffer.name == name]
    size = buffer_bytes(found[0].lowered) if found else None
    return "?" if size is None else size_text(size)


# Descriptions of the results.


def _told_compute_at(change: _Change) -> str:
    return (
        f"The computation moved: `B` stands inside of `io` now and computes what one turn of it needs. So its buffer shrank from "
        f"{_size_of(change.before, 'B')} to {_size_of(change.after, 'B')}. It still lies in global memory. "
        + change.cycles("one engine does everything, and does as much as before")
    )


def _told_set_scope(change: _Change) -> str:
    buffer = _intermediate(change.after)
    scope = buffer.scope if buffer is not None else ""
    return (
        f"The memory moved, and not one loop: the {_size_of(change.after, 'B')} between B and C are allocated in `{scope}` now. "
        f"For buffers that the program itself allocates, that is all it takes. "
        + change.cycles("both blocks still touch global memory for A, W and C")
    )


def _told_cache_read(change: _Change) -> str:
    block = _copy_of(change.after, "W") or ""
    return (
        f"A new block, `{block}`, copies W: {_size_of(change.after, block)} at once, since nobody said where. W itself stays where "
        f"the caller put it. " + change.cycles("the copy hides behind the work")
    )


def _told_placed(change: _Change) -> str:
    block = _copy_of(change.after, "W") or ""
    return (
        f"A copy is a block like any other, so compute_at moves it: {_size_of(change.before, block)} became "
        f"{_size_of(change.after, block)}, fetched when they are needed. " + change.cycles("the work is the same")
    )


def _told_rest(change: _Change) -> str:
    return (
        "Everything that B and C touch is on the chip: the vector unit, which reaches no other memory, does the work now. "
        + change.cycles("nothing was waiting")
    )


TREE = "#area-tree"
TIMELINE = "#area-timeline"


def _row(name: str) -> str:
    return f'{TREE} .row[data-id="{name}"]'


STEPS: tuple[_Step, ...] = (
    _Step(
        "Two blocks, one nest each",
        "`B` doubles A, `C` adds W to it. Between them lies a buffer of 64 × 64 floats. What do compute_at, set_scope and cache_read each "
        "do to this? You make the three calls, the page shows what they did. Two minutes.",
        (_row("B"), _row("C")),
    ),
    _Step(
        "Who works when",
        "Every engine of the machine has a row, every memory too. Now one engine does everything, since no other reaches global memory.",
        (TIMELINE,),
        task="Point at the bars, or go there with Tab.",
        notice="timeline",
    ),
    _Step(
        "compute_at moves a computation",
        "`B` is computed whole before `C` begins. `C` needs only a few rows of it at a time.",
        (_row("B"), _row("io")),
        task="Drag `B` onto `io`.",
        keys="Or: on `B` press Enter, go to `io` with the arrows, Enter.",
        test=partial(_is_below, block="B", loop="io"),
        told=_told_compute_at,
        calls=("sch.compute_at('B', io)",),
    ),
    _Step(
        "set_scope moves a memory",
        "The buffer that `B` writes belongs to the program, so the program may say in which memory it lies.",
        (_row("B"),),
        task="Open the menu of `B` (⋮), choose Set scope…, and take `local`.",
        keys="Or: on `B` press g.",
        test=_moved_memory,
        told=_told_set_scope,
        calls=("sch.set_scope('B', 0, 'local')",),
    ),
    _Step(
        "cache_read makes a copy",
        "W is the caller's: it has to stay in global memory. What can be on the chip is a copy of it.",
        (_row("C"),),
        task="In the menu of `C` choose Cache read…, buffer `W`, scope `local`.",
        keys="Or: on `C` press l.",
        test=_copied,
        told=_told_cache_read,
        calls=("sch.cache_read('C', 1, 'local')",),
    ),
    _Step(
        "… and compute_at places it",
        "The copy fetches all of W before `C` begins. It may come a few rows at a time as well.",
        (_row("W_local"), _row("io")),
        task="Drag `W_local` onto `io`.",
        keys="Or: on `W_local` press Enter, go to `io`, Enter.",
        test=_copy_placed,
        told=_told_placed,
        calls=("sch.compute_at('W_local', io)",),
    ),
    _Step(
        "What it was for",
        "A and C are still in global memory, so the vector unit still has nothing to do. The same two ideas bring them in: a copy for "
        "each, placed at `io`.",
        ("#area-headline .figures",),
        task="Let it be done for you, or do it: cache_read of A, cache_write of C, both to `io`.",
        test=_all_on_chip,
        told=_told_rest,
        since=_copy_placed,
        calls=(
            "sch.cache_read('B', 0, 'local')",
            "sch.cache_write('C', 0, 'local')",
            "sch.compute_at('A_local', io)",
            "sch.reverse_compute_at('C_local', io)",
        ),
    ),
    _Step(
        "That is the answer",
        "compute_at moves a computation to another loop. set_scope moves a buffer to another memory. cache_read and cache_write make "
        "copies, for what the caller owns; compute_at places them. Each was one line in the notebook: click one to see the program at that "
        "moment, undo takes them back, Export gives them as Python for TVM.",
        ("#area-notebook .steps",),
    ),
)
