"""Blocks and loops for which a call is likely to be accepted, drawn most of the time; others must be refused, and are drawn too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from tilewright.engine.ir import BufferLoad, BufferStore, Call, For, SeqStmt, Var, build, free_vars, walk
from tilewright.engine.schedule import Schedule

T = TypeVar("T")
FAVOUR = 6
"""How many times likelier the fitting ones are, in total, than all."""


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
        """A block and a loop around a consumer or producer."""
        others = self.index.producers if producers else self.index.consumers
        pairs: list[tuple[str, Var]] = []
        for name in self.names:
            mine = {f.loop_var for f in self.index.loops_of(name)}
            found = {f.loop_var: None for other in others(name) for f in self.index.loops_of(other)}
            pairs += [(name, v) for v in found if v not in mine]
        return _favouring([(n, f.loop_var) for n in self.names for f in self.index.loops], pairs)

    def number(self, count: int) -> st.SearchStrategy[int]:
        """A position among `count`, sometimes one too far."""
        return _favouring(range(3), range(count)) if count else st.integers(0, 1)

    # What fits.

    def is_long(self, loop: For) -> bool:
        return (build.int_value(loop.extent) or 0) > 3

    def is_sequence(self, loop: For) -> bool:
        return isinstance(loop.body, SeqStmt)

    def is_reduction(self, name: str) -> bool:
        return self.index.block(name).init is not None

    def is_fused(self, name: str) -> bool:
        """A reduction into an intermediate buffer, with one consumer that may use the same operator: an epilogue may join it."""
        consumers = self.index.consumers(name)
        if not self.is_reduction(name) or not self.is_intermediate(name) or len(consumers) != 1:
            return False
        update, added = self.index.block(name).body, self.index.block(consumers[0]).body
        stored = isinstance(update, BufferStore) and isinstance(added, BufferStore)
        return stored and not self.is_reduction(consumers[0]) and type(update.value) is type(added.value)

    def is_intermediate(self, name: str) -> bool:
        """It writes one intermediate buffer."""
        writes = self.index.block(name).writes
        return len(writes) == 1 and not self.index.is_param(writes[0].buffer)

    def is_staged(self, name: str) -> bool:
        return self.is_intermediate(name) and bool(self.index.loops_of(name)) and len(self.index.writers(
            self.index.block(name).writes[0].buffer)) == 1  # fmt: skip

    def is_inlinable(self, name: str) -> bool:
        return self.is_intermediate(name) and not self.is_reduction(name) and bool(self.index.consumers(name))

    def is_outlinable(self, name: str) -> bool:
        """It is the only reader of the one buffer of a producer."""
        producers = self.index.producers(name)
        reads = self.index.block(name).reads
        return len(producers) == 1 and len(reads) <= 2 and self.is_intermediate(producers[0]) and not self.is_reduction(
            name) and self.index.consumers(producers[0]) == (name,)  # fmt: skip

    def is_in_place(self, name: str) -> bool:
        """It reads a buffer that it writes; the init of a reduction overwrites the old value."""
        block = self.index.block(name)
        written = {w.buffer for w in block.writes}
        return not self.is_reduction(name) and any(r.buffer in written for r in block.reads)

    def is_padding(self, name: str) -> bool:
        """It stores a value under a condition, and a constant elsewhere."""
        body = self.index.block(name).body
        value = body.value if isinstance(body, BufferStore) else None
        return isinstance(value, Call) and value.op == "if_then_else"

    def is_rolling(self, name: str) -> bool:
        """An intermediate below a loop that its consumer is below too, of which each iteration makes more than one element."""
        mine = {f.loop_var for f in self.index.loops_of(name)}
        shared = [mine & {f.loop_var for f in self.index.loops_of(c)} for c in self.index.consumers(name)]
        own = [f for f in self.index.loops_of(name) if not any(f.loop_var in s for s in shared)]
        makes_more = any(shared) and any(not build.is_const(f.extent, 1) for f in own)
        return makes_more and self.is_staged(name) and not self._rolls(name) and self._has_windows(name)

    def _rolls(self, name: str) -> bool:
        return any(iv.iter_type == "opaque" for iv in self.index.block(name).iter_vars)

    def _has_windows(self, name: str) -> bool:
        """Whether a consumer reads more of the block's output than one element at the same index."""
        buffer = self.index.block(name).writes[0].buffer
        loads = [
            n for c in self.index.consumers(name) for n in walk(self.index.block(c).body) if isinstance(n, BufferLoad)
        ]
        return any(len(free_vars(i)) > 1 for load in loads if load.buffer is buffer for i in load.indices)

    def fitting(self, method: str) -> bool:
        """Whether some block fits a call with rare requirements; True for all other calls."""
        return method not in RARE or any(RARE[method](self, name) for name in self.names)


RARE: Mapping[str, Callable[[Likely, str], bool]] = {
    "cache_inplace": Likely.is_in_place,
    "decompose_padding": Likely.is_padding,
    "fuse_reduction_epilogue": Likely.is_fused,
    "rolling_buffer": Likely.is_rolling,
}
"""Calls with rare requirements, and the blocks that meet them."""


def _favouring(every: Sequence[T], fitting: Sequence[T]) -> st.SearchStrategy[T]:
    if not fitting:
        return st.sampled_from(every)
    return st.sampled_from([*fitting] * (1 + FAVOUR * len(every) // len(fitting)) + [*every])
