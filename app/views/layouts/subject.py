"""The chosen buffer, with the data that the other modules need about it, memoised by program, machine and report."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

import msgspec

from ....engine.adopt import KernelStatements
from ....engine.analysis import ProgramIndex
from ....engine.explore.space.layout_choices import Candidate, LayoutSubject, candidates_of, kernel_candidates
from ....engine.hwsim import BufferPlacement, Machine, Report
from ....engine.hwsim.tile_layouts import matrix_unit
from ....engine.ir import Buffer, BufferLoad, BufferStore, PrimFunc, Var, build, walk
from ....engine.schedule import Schedule
from ...document.editing.kernel_edits import is_kernel_text, statements_of
from ...state.derived import Store, attempt, sizes_of
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.buffer_ids import BlockAccess, buffer_ids, leaf_accesses
from .trials import find_placement

_CHOSEN = Derived["Chosen"]("chosen buffer")


class Chosen(msgspec.Struct, frozen=True, eq=False):
    """The chosen buffer. `buffer_placement` is None if the program cannot be simulated, `subject` also for an unused buffer. `kernel` has
    the statements of the TileLang kernel whose text allocates the buffer, if edits of the text change it."""

    name: str
    buffer: Buffer
    schedule: Schedule
    index: ProgramIndex
    accesses: tuple[BlockAccess, ...]
    machine: Machine | None
    sizes: dict[str, int]
    report: Report | None
    buffer_placement: BufferPlacement | None
    subject: LayoutSubject | None
    is_param: bool
    kernel: KernelStatements | None = None

    @property
    def func(self) -> PrimFunc:
        return self.schedule.func

    @property
    def writer(self) -> BlockAccess | None:
        """The write access that calls on written buffers use to identify the buffer."""
        return next((a for a in self.accesses if a.side == "write"), None)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        if self.subject is None:
            return ()
        return (
            kernel_candidates(self.subject, self.buffer.name)
            if self.is_laid_out_in_text
            else candidates_of(self.subject)
        )

    @property
    def is_laid_out_in_text(self) -> bool:
        """Whether the layout is an entry of T.annotate_layout, which TileLang reads for the machine."""
        return self.kernel is not None and matrix_unit(self.machine) is not None


def chosen_buffer(state: State, store: Store) -> Chosen | None:
    """The chosen buffer; None if none is chosen or it no longer exists."""
    if state.moment is None or not state.buffer:
        return None
    schedule = state.moment.schedule
    buffer = store.once(buffer_ids, schedule.func).get(state.buffer)
    if buffer is None:
        return None
    machine = store.machine(state)
    report = store.known_report(state)
    return store.remember(
        _CHOSEN(state.buffer, schedule.func, machine, report), lambda: _chosen(state, store, schedule, buffer)
    )


def _chosen(state: State, store: Store, schedule: Schedule, buffer: Buffer) -> Chosen:
    func, name = schedule.func, state.buffer
    index = store.index(func)
    found, machine = store.known_report(state), store.machine(state)
    report = found if isinstance(found, Report) else None
    accesses = leaf_accesses(index, row_ids(func), buffer)
    buffer_placement = None if report is None else find_placement(report, store.costed(state, schedule), name)
    subject = None
    is_param = index.is_param(buffer)
    if buffer_placement is not None and accesses:
        subject = LayoutSubject(
            accesses[0], _extents(buffer), axis_words(index, buffer, accesses), buffer_placement, is_param
        )
    known = machine if isinstance(machine, Machine) else None
    return Chosen(
        name,
        buffer,
        schedule,
        index,
        accesses,
        known,
        dict(sizes_of(state, func)),
        report,
        buffer_placement,
        subject,
        is_param,
        None if is_param else _kernel(state, buffer),
    )


def _kernel(state: State, buffer: Buffer) -> KernelStatements | None:
    notebook = state.notebook
    if notebook is None or not buffer.scope.startswith("shared") or not is_kernel_text(notebook):
        return None
    found = attempt("kernel", lambda: statements_of(notebook))
    return found if isinstance(found, KernelStatements) else None


def _extents(buffer: Buffer) -> tuple[int, ...] | None:
    found = [build.int_value(e) for e in buffer.shape]
    known = tuple(e for e in found if e is not None)
    return known if len(known) == len(found) else None


def axis_words(index: ProgramIndex, buffer: Buffer, accesses: Sequence[BlockAccess]) -> tuple[str, ...]:
    """A name for each axis of the buffer: the indices of an access, without the "v" of a block's iterator, if each is a variable and the
    names differ; else those of `axis_names`."""
    for access in accesses:
        for node in walk(index.block(access.block).body):
            if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer:
                found = [_axis_of(i.name) if isinstance(i, Var) else "" for i in node.indices]
                if all(found) and len(set(found)) == len(found):
                    return tuple(found)
    return axis_names(len(buffer.shape))


def _axis_of(name: str) -> str:
    """The axis that the iterator `vi` or `v_i` of a block stands for: "i"."""
    bare = re.sub(r"^v_?", "", name)
    return bare if bare.isidentifier() and not keyword.iskeyword(bare) else ""


def axis_names(rank: int) -> tuple[str, ...]:
    """Axis names "i", "j", "k" …, as in the forms of the menus."""
    return tuple("ijklm"[:rank]) if rank <= 5 else tuple(f"i{n}" for n in range(rank))
