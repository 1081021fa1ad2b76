"""Blocks and loops that a call is likely to be accepted for, drawn most of the time: others must be refused, and are drawn too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from tilewright.engine.analysis import is_update
from tilewright.engine.ir import BufferStore, Call, For, SeqStmt, Var, build
from tilewright.engine.schedule import Schedule

T = TypeVar("T")
FAVOUR = 6
"""How many times likelier the fitting ones are, together, than all."""


class Likely:
    """Of the program as it is now."""

    def __init__(self, sch: Schedule) -> None:
        self.index = sch.index
        self.names = [n for n in sch.index.block_names if n != "root"]

    # Draws.

    def blocks(self, fits: Callable[[str], object]) -> st.SearchStrategy[str]:
        return _favouring(self.names, [n for n in self.names if fits(n)])

    def loops(self, fits: Callable[[For], object]) -> st.SearchStrategy[Var]:
        loops = self.index.loops
        return _favouring([f.loop_var for f in loops], [f.loop_var for f in loops if fits(f)])

    def pair(self, fits: Callable[[str], object]) -> st.SearchStrategy[tuple[str, Var]]:
        """A block and a loop around it, mostly."""
        around = {n: [f.loop_var for f in self.index.loops_of(n)] for n in self.names}
        pairs = [(n, v) for n in self.names if fits(n) for v in around[n]]
        every = [(n, f.loop_var) for n in self.names for f in self.index.loops]
        return _favouring(every, pairs)

    def target(self, *, producers: bool) -> st.SearchStrategy[tuple[str, Var]]:
        """A block and a loop around one of its consumers, or producers."""
        others = self.index.producers if producers else self.index.consumers
        pairs: list[tuple[str, Var]] = []
        for name in self.names:
            mine = {f.loop_var for f in self.index.loops_of(name)}
            found = {f.loop_var: None for other in others(name) for f in self.index.loops_of(other)}
            pairs += [(name, v) for v in found if v not in mine]
        return _favouring([(n, f.loop_var) for n in self.names for f in self.index.loops], pairs)

    def number(self, count: int) -> st.SearchStrategy[int]:
        """A position among `count`, now and then one too far."""
        return _favouring(range(3), range(count)) if count else st.integers(0, 1)

    # What fits.

    def is_long(self, loop: For) -> bool:
        return (build.int_value(loop.extent) or 0) > 3

    def is_sequence(self, loop: For) -> bool:
        return isinstance(loop.body, SeqStmt)

    def is_reduction(self, name: str) -> bool:
        return self.index.block(name).init is not None

    def is_fused(self, name: str) -> bool:
        """A reduction with one consumer: an epilogue may join it."""
        return self.is_reduction(name) and len(self.index.consumers(name)) == 1

    def is_intermediate(self, name: str) -> bool:
        """It writes one buffer that is no parameter."""
        writes = self.index.block(name).writes
        return len(writes) == 1 and not self.index.is_param(writes[0].buffer)

    def is_staged(self, name: str) -> bool:
        return self.is_intermediate(name) and bool(self.index.loops_of(name)) and len(self.index.writers(
            self.index.block(name).writes[0].buffer)) == 1  # fmt: skip

    def is_inlinable(self, name: str) -> bool:
        return self.is_intermediate(name) and not self.is_reduction(name) and bool(self.index.consumers(name))

    def is_outlinable(self, name: str) -> bool:
        """It reads the one buffer of a producer that nobody else reads."""
        producers = self.index.producers(name)
        reads = self.index.block(name).reads
        return len(producers) == 1 and len(reads) <= 2 and self.is_intermediate(producers[0]) and not self.is_reduction(
            name) and self.index.consumers(producers[0]) == (name,)  # fmt: skip

    def is_in_place(self, name: str) -> bool:
        return not self.is_reduction(name) and is_update(self.index.block(name))

    def is_padding(self, name: str) -> bool:
        """It stores a value where a condition holds, and a constant elsewhere."""
        body = self.index.block(name).body
        value = body.value if isinstance(body, BufferStore) else None
        return isinstance(value, Call) and value.op == "if_then_else"

    def is_rolling(self, name: str) -> bool:
        """An intermediate below a loop that its consumer is below too."""
        mine = {f.loop_var for f in self.index.loops_of(name)}
        shared = (mine & {f.loop_var for f in self.index.loops_of(c)} for c in self.index.consumers(name))
        return self.is_staged(name) and any(shared)


def _favouring(every: Sequence[T], fitting: Sequence[T]) -> st.SearchStrategy[T]:
    if not fitting:
        return st.sampled_from(every)
    return st.sampled_from([*fitting] * (1 + FAVOUR * len(every) // len(fitting)) + [*every])
