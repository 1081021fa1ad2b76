"""The subject of lints: a schedule on a machine with cached derived facts, and variants of it after further calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Protocol

from msgspec.structs import replace
from propcache.api import cached_property

from ..adopt import KernelText, read_statements
from ..analysis import ProgramIndex
from ..cancellation import checkpoint
from ..hwsim import DmaEngine, Engine, Finding, Machine, MachineError, Placement, Report, TaskProgram, Template
from ..ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    For,
    Node,
    PrimFunc,
    ScheduleCall,
    TilewrightError,
    Var,
    build,
    first_difference,
    rewrite,
)
from ..lower import with_sizes
from ..schedule import Schedule, ScheduleError, Target
from .revisions import Chain, Revision, last_move, other_call, other_placements, other_splits, without_move


class Simulate(Protocol):
    """`hwsim.simulate`, possibly with limits."""

    def __call__(self, func: PrimFunc, machine: Machine, *, max_tasks: int = ...) -> Report: ...


TRIAL_TASKS = 20_000
"""The limit on distinct tasks of a trial: about a second of simulation. What needs more is seldom a good schedule."""


class Subject:
    """A schedule on a machine. No method changes the schedule."""

    def __init__(
        self,
        schedule: Schedule,
        machine: Machine,
        sizes: Mapping[str, int],
        simulate: Simulate,
        report: Report | None = None,
        revision: Revision | None = None,
        kernel: KernelText | None = None,
        text: str = "",
    ) -> None:
        """`report` is the simulator's report of the schedule, if known; `revision` is how it differs from another schedule, if not by
        calls at its end. `kernel` is the text of a TileLang kernel that the schedule has no calls for; `text` is that of the
        kernel after an edit."""
        self.schedule = schedule
        self.machine = machine
        self.sizes = sizes
        self._simulate = simulate
        self._trial = partial(simulate, max_tasks=TRIAL_TASKS)
        self._known = report
        self.revision = revision
        self.kernel = kernel
        self.text = text

    @cached_property
    def func(self) -> PrimFunc:
        """The program with numeric sizes; loops and blocks are those of the schedule."""
        return with_sizes(self.schedule.described, self.sizes).func

    @cached_property
    def outcome(self) -> Report | MachineError:
        """The report, or the reason why the machine does not run the program."""
        if self._known is not None:
            return self._known
        try:
            return self._simulate(self.func, self.machine)
        except MachineError as error:
            return error

    @property
    def report(self) -> Report | None:
        return self.outcome if isinstance(self.outcome, Report) else None

    @property
    def program(self) -> TaskProgram | None:
        """The simulated tasks."""
        return None if self.report is None else self.report.program

    @cached_property
    def index(self) -> ProgramIndex:
        """Facts about `func`."""
        return ProgramIndex(self.func)

    def then(self, chain: Chain) -> Subject | None:
        """The subject after the calls of `chain`; None if one of them is refused, or the program does not change."""
        trial = self.schedule.copy()
        try:
            chain(trial)
        except ScheduleError:
            return None
        if trial.func is self.schedule.func:
            return None
        return Subject(trial, self.machine, self.sizes, self._trial)

    def with_text(self, text: str, program: PrimFunc) -> Subject:
        """The subject after an edit of its kernel's text, which makes `program`."""
        return Subject(Schedule(program), self.machine, self.sizes, self._trial, kernel=self.kernel, text=text)

    @property
    def source(self) -> str:
        """The text of the kernel that the program is; "" for other programs."""
        return self.text or (self.kernel.text if self.kernel is not None else "")

    def edited(self, text: str) -> Subject | None:
        """The subject with another text of its kernel; None if it cannot be read, or has other blocks and loops."""
        try:
            after = read_statements(text).func
        except TilewrightError:
            return None
        is_same = first_difference(without_notes(self.schedule.func), without_notes(after)) is None
        return self.with_text(text, after) if is_same else None

    def other_placements(self, block: str) -> Iterator[Subject]:
        """Yields variants: the call that placed a block with other loops, and the schedule without that call."""
        return self._revised((*other_placements(self.schedule, block), without_move(self.schedule, block)))

    def neighbouring_placements(self, block: str) -> Iterator[Subject]:
        """Yields variants: the call that placed a block with the next loop outside and inside of its loop."""
        number = last_move(self.schedule, block)
        if number is None:
            return
        present = self.schedule.trace.steps[number].argument("loop")

        def is_next(earlier: Schedule, target: Target) -> bool:
            return (
                target.loop is parent_loop(earlier.index, present) or parent_loop(earlier.index, target.loop) is present
            )

        yield from self._revised(other_placements(self.schedule, block, is_next))

    def other_splits(self, loop: Var) -> Iterator[Subject]:
        """Yields variants in which the split that created `loop` uses another divisor."""
        return self._revised(other_splits(self.schedule, loop))

    def other_creation(
        self, block: str, method: str, call: Callable[[Schedule, ScheduleCall], object]
    ) -> Iterator[Subject]:
        """Yields variants in which another call replaces the one of `method` that created a block (`revisions.other_call`)."""
        return self._revised([other_call(self.schedule, block, method, call)])

    def _revised(self, found: Iterable[tuple[Schedule, Revision] | None]) -> Iterator[Subject]:
        for other in found:
            if other is not None:
                schedule, revision = other
                yield Subject(schedule, self.machine, self.sizes, self._trial, revision=revision)

    # Facts.

    def findings(self, code: str) -> tuple[Finding, ...]:
        """The findings of the simulator with this code."""
        return () if self.report is None else tuple(f for f in self.report.findings if f.code == code)

    def placements(self) -> tuple[Placement, ...]:
        """The placements of the buffers that the function itself allocates."""
        return () if self.program is None else tuple(p for p in self.program.places.placements if not p.is_param)

    def placement(self, buffer: str) -> Placement | None:
        return next((p for p in self.placements() if p.buffer.name == buffer), None)

    def tasks(self) -> Iterator[tuple[Template, int, int]]:
        """Yields each task template with the number of each of its variants and the run count of that variant."""
        if self.report is None:
            return
        for number, count in self.report.timeline.counts.items():
            yield self.report.program.templates[self.report.program.variants[number].template], number, count

    def is_copier(self, template: Template) -> bool:
        """Whether a DMA engine performs the task."""
        return isinstance(self.engine_of(template), DmaEngine)

    def engine_of(self, template: Template) -> Engine:
        """The engine, or the channel of one, that performs the task."""
        assert self.program is not None
        return self.program.machine.engines[template.engine]

    def writers(self, buffer: str) -> tuple[str, ...]:
        """The blocks of the schedule that write a buffer of this name."""
        checkpoint()
        return tuple(n for n in self._named if any(w.buffer.name == buffer for w in self.index.block(n).writes))

    def readers(self, buffer: str) -> tuple[str, ...]:
        """The blocks that read it and do not write it."""
        writers = self.writers(buffer)
        return tuple(
            n for n in self._named
            if n not in writers and any(r.buffer.name == buffer for r in self.index.block(n).reads)
        )  # fmt: skip

    @cached_property
    def _named(self) -> tuple[str, ...]:
        """The names of the leaf blocks."""
        return tuple(n for n in self.index.block_names[1:] if n and not self.index.child_blocks(self.index.realize(n)))

    def leaf_blocks(self) -> tuple[BlockRealize, ...]:
        return tuple(self.index.realize(n) for n in self._named)

    def is_copy(self, block: str) -> bool:
        """Whether a block only copies elements."""
        body = self.index.block(block).body
        return isinstance(body, BufferStore) and isinstance(body.value, BufferLoad)

    def write_position(self, block: str, buffer: str) -> int:
        """The index of the buffer among those that the block writes."""
        return next(n for n, w in enumerate(self.index.block(block).writes) if w.buffer.name == buffer)

    def iterations(self, block: str) -> int | None:
        """How often the loops around a block run its body; None if an extent is symbolic."""
        extents = [build.int_value(loop.extent) for loop in self.loops_above(block)]
        return None if None in extents else prod(e for e in extents if e is not None)

    def domain(self, block: str) -> int | None:
        """The number of points of a block's iterators; None if an extent is symbolic."""
        extents = [build.int_value(iv.dom.extent) for iv in self.index.block(block).iter_vars]
        return None if None in extents else prod(e for e in extents if e is not None)

    def loops_above(self, block: str) -> tuple[For, ...]:
        """All loops around a block, including those outside of its enclosing blocks."""
        checkpoint()
        return tuple(s for s in reversed(list(self.index.path(self.index.realize(block)))) if isinstance(s, For))

    def targets(self, block: str) -> tuple[Target, ...]:
        """The loops that a block may be moved to; empty if they cannot be determined."""
        try:
            return tuple(t for t in self.schedule.legal_targets(block) if t.legal)
        except ScheduleError:
            return ()

    def fullness(self) -> float:
        """The largest fraction of a memory in use at a time, the largest memory excluded."""
        if self.report is None:
            return 0.0
        far = self.machine.far.capacity_bytes
        near = [m for m in self.report.memory.values() if m.capacity_bytes < far]
        return max((m.peak_bytes / m.capacity_bytes for m in near), default=0.0)


def without_notes(func: PrimFunc) -> PrimFunc:
    """A function without the annotations of its loops and blocks."""

    def leave(node: Node) -> Node:
        assert isinstance(node, For | Block)
        return replace(node, annotations=()) if node.annotations else node

    return rewrite(func, leave, kinds={For, Block})


def parent_loop(index: ProgramIndex, loop: Var) -> Var | None:
    """The next loop around a loop of the same block."""
    around = index.loops_above(index.loop(loop))
    return around[-1].loop_var if around else None


def move(block: str, target: Target) -> Chain:
    """The call of a legal target."""
    return lambda sch: getattr(sch, target.primitive)(block, target.loop)


def in_parts(sch: Schedule, copies: Sequence[str], loop: Var, top: Var, parts: int) -> Var:
    """Splits `loop` into `parts` parts, moves the outer loop outside of `top`, and moves the copies there. Returns the outer loop: `loop`
    itself if its extent is `parts`."""
    outer = loop if build.is_const(sch.index.loop(loop).extent, parts) else sch.split(loop, factors=[parts, None])[0]
    if loop is not top:
        sch.reorder(outer, top)
    for block in copies:
        sch.compute_at(block, outer)
    return outer
