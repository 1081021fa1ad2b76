"""Moves of blocks to a loop: the steps that placed them get the loop, and the later lines are applied again, as one edit.

Later steps that placed other blocks, and do not apply any more, get the loop too: producers follow their consumers outward. A block that no
step has placed gets a call after all lines.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .....engine.adopt import call_of, make_call
from .....engine.analysis import ProgramIndex
from .....engine.ir import BlockRealize, PrimFunc, Refusal, ScheduleCall, TilewrightError, Var
from ...files.read_write import DocumentError
from ...notebook import Notebook, NotebookStep
from ..lines import call_line, require_applied
from .later_lines import LaterLines, Revised
from .placement import PLACES, Method, StepPlacement, placement_of
from .revise import revised_line
from .steps import traced_steps

MOST_COMPANIONS = 16
"""The most blocks that a repair moves together."""


class Relocation:
    """A move of blocks of the program after the first `count` lines of a notebook. `method` is the call for these blocks; by default the
    method of the step that placed a block, else the other one."""

    def __init__(self, notebook: Notebook, count: int, blocks: Sequence[str], method: Method | None = None) -> None:
        self.notebook = notebook
        self.count = count
        self.blocks = tuple(blocks)
        self.method: Method | None = method
        found = {block: placement_of(notebook, block, count) for block in blocks}
        self.placed = {p.step.index: p for p in found.values() if p is not None}
        self.unplaced = tuple(block for block, placement in found.items() if placement is None)

    def moved(self, loop: Var, *, repair: bool = False) -> Revised:
        """The notebook after the move; with `repair`, after what makes it legal. Raises TilewrightError if it is refused."""
        if repair and (companions := self.repair(loop).blocks):
            return Relocation(self.notebook, self.count, (*self.blocks, *companions)).moved(loop)
        return self._walk(loop, repairs=repair).lines.finish()

    def calls(self, loop: Var) -> tuple[tuple[Method, str], ...]:
        """The methods and blocks of the move, in order. The lines behind the last step that moves are not applied. Raises TilewrightError
        if the move is refused."""
        return tuple(self._walk(loop, whole=False).moves)

    def repair(self, loop: Var) -> Repair:
        """What makes a refused move legal; empty if it is legal, or if nothing is known."""
        walk = Walk(self, loop)
        try:
            walk.run(whole=False)
        except TilewrightError as error:
            if error.code == NO_PLACE:
                return Repair()
            return self._with_companions(walk, loop) or self._with_calls(loop)
        return Repair()

    def _walk(self, loop: Var, *, repairs: bool = False, whole: bool = True) -> Walk:
        walk = Walk(self, loop, repairs=repairs)
        try:
            walk.run(whole=whole)
        except TilewrightError as error:
            if error.code != NO_PLACE:
                raise
            walk = Walk(self, loop, repairs=repairs, appends=True)
            walk.run(whole=whole)
        return walk

    def _with_companions(self, walk: Walk, loop: Var) -> Repair | None:
        """The other placed blocks that have to move too."""
        blocks = self.blocks
        while len(blocks) < MOST_COMPANIONS:
            more = [block for block in walk.in_the_way() if block not in blocks]
            if not more or any(placement_of(self.notebook, block, self.count) is None for block in more):
                return None
            blocks = (*blocks, *more)
            walk = Walk(Relocation(self.notebook, self.count, blocks), loop)
            try:
                walk.run(whole=False)
            except TilewrightError:
                continue
            return Repair(blocks=blocks[len(self.blocks) :])
        return None

    def _with_calls(self, loop: Var) -> Repair:
        try:
            walk = self._walk(loop, repairs=True, whole=False)
            return Repair(tuple(walk.calls), is_whole=not walk.moves)
        except TilewrightError:
            return Repair()


class Repair(msgspec.Struct, frozen=True, eq=False):
    """What makes a refused move legal: `calls` before it, or other `blocks` that move too. With `is_whole`, the calls have the effect of
    the move, which is not made."""

    calls: tuple[ScheduleCall, ...] = ()
    blocks: tuple[str, ...] = ()
    is_whole: bool = False

    def __bool__(self) -> bool:
        return bool(self.calls or self.blocks)

    def texts(self, loop: Var) -> tuple[str, ...]:
        """The calls as texts; of the other blocks, the calls that move them."""
        moves = (ScheduleCall("compute_at", (("block", block), ("loop", loop))) for block in self.blocks)
        return tuple(map(str, (*self.calls, *moves)))


class Walk:
    """The lines of a notebook, with the steps of a relocation where its loop exists; with `appends`, as calls after all lines. `moves` are
    their methods and blocks, `calls` the calls that made them legal (with `repairs`)."""

    def __init__(self, relocation: Relocation, loop: Var, *, repairs: bool = False, appends: bool = False) -> None:
        self.moves: list[tuple[Method, str]] = []
        self.calls: list[ScheduleCall] = []
        self._placed = {} if appends else relocation.placed
        self._unplaced = relocation.blocks if appends else relocation.unplaced
        self._relocation = relocation
        self._notebook = relocation.notebook
        self._repairs = repairs
        self._loop = loop
        self._first = min(self._placed, default=len(self._notebook.steps))
        self._made = next(n for n, s in enumerate(self._notebook.states) if s.schedule.index.has_loop(loop))
        self._next = self._first
        self._waiting: list[StepPlacement | str] = []
        self._deferred: list[NotebookStep] = []
        self._errors: dict[StepPlacement | str, TilewrightError] = {}
        self._tried: dict[StepPlacement | str, PrimFunc] = {}
        self.lines = LaterLines(self._notebook, self._first)

    def run(self, *, whole: bool) -> None:
        """Apply the lines; without `whole`, those up to the last step that moves. Raises the refusal of a step that cannot move."""
        left = len(self._placed) + len(self._unplaced)
        for step in self._notebook.steps[self._first :]:
            self._place()
            if not whole and not left and not self._waiting:
                return
            self._next = step.index + 1
            if step.index in self._placed:
                left -= 1
                self._waiting.append(self._placed[step.index])
                self._place()
            elif self._waiting:
                self._repeat_or_defer(step)
            else:
                self.lines.repeat_all((step,), self._follow)
        if self._unplaced:
            require_applied(self._notebook)
            index = self._notebook.states[-1].schedule.index
            self._waiting += sorted(self._unplaced, key=index.position, reverse=True)
        self._place()
        if self._waiting:
            raise self._refusal()

    def in_the_way(self) -> list[str]:
        """The blocks that the refusals name, without the blocks of the relocation."""
        nodes = (node for error in self._errors.values() for node in error.bare_refusal.nodes)
        names = (node.block.name for node in nodes if isinstance(node, BlockRealize))
        return [name for name in dict.fromkeys(names) if name not in self._relocation.blocks]

    def _refusal(self) -> TilewrightError:
        for item in self._waiting:
            if item in self._errors:
                return self._errors[item]
        text = f"a step that makes the loop {self._loop.name!r} depends on the block"
        return DocumentError(Refusal(NO_PLACE, text, expected="a loop that exists without the step"))

    def _repeat_or_defer(self, step: NotebookStep) -> None:
        try:
            self.lines.repeat(step)
        except TilewrightError:
            self._deferred.append(step)

    def _place(self) -> None:
        """Move the waiting steps, once their loop exists, and then the lines that depend on them."""
        if not self._waiting or (loop := self._present_loop()) is None:
            return
        while placed := [item for item in self._waiting if self._moved(item, loop)]:
            self._waiting = [item for item in self._waiting if item not in placed]
        if not self._waiting:
            deferred, self._deferred = self._deferred, []
            self.lines.repeat_all(deferred, self._follow)

    def _moved(self, item: StepPlacement | str, loop: Var) -> bool:
        """Whether the step of `item` moves to the loop now. A program that has refused it is not tried again."""
        func = self.lines.state.schedule.func
        if self._tried.get(item) is func:
            return False
        self._tried[item] = func
        for method in self._methods(item):
            try:
                self._add(item, method, loop)
            except TilewrightError as error:
                self._errors.setdefault(item, error)
            else:
                return True
        return self._repairs and self._repaired(item, loop)

    def _repaired(self, item: StepPlacement | str, loop: Var) -> bool:
        """Whether the step moves after calls that make it legal. The calls are kept only then."""
        for method in self._methods(item):
            try:
                make_call(self.lines.state.schedule.copy(), call_of(method, (_block_of(item), loop)))
            except TilewrightError as error:
                if error.refusal.repair:
                    for call in error.refusal.repair:
                        self._add_call(call)
                    self._add(item, method, loop)
                    self.calls += error.refusal.repair
                    return True
                if error.refusal.instead and isinstance(item, str):
                    for call in error.refusal.instead:
                        self._add_call(call)
                    self.calls += error.refusal.instead
                    return True
        return False

    def _methods(self, item: StepPlacement | str) -> tuple[Method, ...]:
        relocation = self._relocation
        if relocation.method is not None and _block_of(item) in relocation.blocks:
            return (relocation.method,)
        return PLACES if isinstance(item, str) or item.method == PLACES[0] else (PLACES[1], PLACES[0])

    def _add(self, item: StepPlacement | str, method: Method, loop: Var) -> None:
        lines = self.lines
        if isinstance(item, StepPlacement):
            text = revised_line(self._notebook, item.step, lines.state, {"loop": loop}, method)
            lines.add(lines.renamed(text), item.step)
        else:
            self._add_call(ScheduleCall(method, (("block", lines.handle(item)), ("loop", loop))))
        self.moves.append((method, _block_of(item)))

    def _add_call(self, call: ScheduleCall) -> None:
        state = self.lines.state
        results = make_call(state.schedule.copy(), call)
        self.lines.add(call_line(self._notebook, state, call, results))

    def _follow(self, step: NotebookStep) -> bool:
        """Whether a later step that placed another block, and no longer applies, moves to the loop too."""
        if step.call.method not in PLACES or step.status != "applied" or (loop := self._present_loop()) is None:
            return False
        block = traced_steps(self._notebook, step)[-1].argument("block")
        assert isinstance(block, str)
        follower = StepPlacement(self._notebook, step.index + 1, block, step)
        for method in self._methods(follower):
            try:
                self._add(follower, method, loop)
            except TilewrightError:
                continue
            return True
        return False

    def _present_loop(self) -> Var | None:
        """The loop in the new schedule, if it exists already."""
        index = self.lines.state.schedule.index
        loop = self.lines.handle(self._loop)
        if isinstance(loop, Var) and index.has_loop(loop):
            return loop
        if self._next < self._made:
            return None
        around = self._blocks_in(self._notebook.states[self._made].schedule.index, self._loop)
        same = [f.loop_var for f in index.loops if f.loop_var.name == self._loop.name]
        same = [other for other in same if around and self._blocks_in(index, other) == around]
        if len(same) != 1:
            return None
        self.lines.set_handle(self._loop, same[0])
        return same[0]

    def _blocks_in(self, index: ProgramIndex, loop: Var) -> set[str]:
        """The other blocks below a loop."""
        return {realize.block.name for realize in index.child_blocks(index.loop(loop))} - {*self._relocation.blocks}


def _block_of(item: StepPlacement | str) -> str:
    return item if isinstance(item, str) else item.block


NO_PLACE = "no-place"
"""The code of a move that no step can make: only another call after all lines can."""
