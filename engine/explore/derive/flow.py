"""Which tile loops of a group's last block the other blocks depend on, so that each is computed inside of exactly those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...analysis import ProgramIndex
from ...ir import Buffer, Expr, Var, free_vars

Loops = frozenset[str]
"""Names of loops of the last block."""


class GroupFlow:
    """Dependences of the blocks of a group on the loops of its last block.

    An iterator of a producer depends on the loops that the consumers' indices along the same axis depend on. A reduction of the last block
    counts as one of its loops; iterators of other reductions traverse everything and depend on none.
    """

    def __init__(self, index: ProgramIndex, members: Sequence[str], after: Sequence[str] = ()) -> None:
        """`members` are in text order, the last block last; `after` process its results element by element, in their order."""
        self._index = index
        self._of: dict[str, dict[Var, Loops]] = {}
        self._of_all: dict[str, dict[Var, Loops]] = {}
        last = members[-1]
        values = index.realize(last).iter_values
        self._of[last] = {
            iv.var: frozenset(v.name for v in free_vars(value))
            for iv, value in zip(index.block(last).iter_vars, values, strict=True)
        }
        for name in reversed(members[:-1]):
            self._of[name] = self._through(name, members)
        for before, name in zip((last, *after), after, strict=False):
            self._of[name] = self._onward(before, name)

    def of_block(self, name: str) -> Loops:
        """The loops on which the elements that a block writes depend."""
        return frozenset[str]().union(*self._of[name].values())

    def of_block_read(self, name: str, buffer: Buffer) -> Loops:
        """The loops on which the elements of a buffer that a block reads depend."""
        reads = [r for r in self._index.block(name).reads if r.buffer.name == buffer.name]
        axes = [axis.min for region in reads for axis in region.region]
        return frozenset[str]().union(*self._reach(name, axes))

    def of_iterator(self, name: str, iterator: Var) -> Loops:
        """The loops whose tiles divide an iterator of a block for all blocks that read its results."""
        of = self._of_all.get(name, self._of[name])
        return of.get(iterator, frozenset())

    def _through(self, name: str, members: Sequence[str]) -> dict[Var, Loops]:
        """The dependences of a producer's iterators, from its consumers in the group."""
        block = self._index.block(name)
        found: dict[Var, list[Loops]] = {iv.var: [] for iv in block.iter_vars}
        for written in block.writes:
            axes = [free_vars(axis.min) for axis in written.region]
            for reader in (m for m in members if m in self._of):
                for region in self._index.block(reader).reads:
                    if region.buffer is written.buffer:
                        for own, axis in zip(axes, region.region, strict=True):
                            loops = frozenset[str]().union(*self._reach(reader, [axis.min]))
                            for v in own & found.keys():
                                found[v].append(loops)
        self._of_all[name] = {
            v: frozenset[str].intersection(*some) if some else frozenset() for v, some in found.items()
        }
        return {v: frozenset[str]().union(*some) for v, some in found.items()}

    def _onward(self, before: str, name: str) -> dict[Var, Loops]:
        """The dependences of the iterators of a block that reads the results of the block before at their places."""
        found: dict[Var, Loops] = {iv.var: frozenset() for iv in self._index.block(name).iter_vars}
        for written in self._index.block(before).writes:
            axes = [frozenset[str]().union(*self._reach(before, [axis.min])) for axis in written.region]
            for region in self._index.block(name).reads:
                if region.buffer is written.buffer:
                    for loops, axis in zip(axes, region.region, strict=True):
                        found |= {v: found[v] | loops for v in free_vars(axis.min) if v in found}
        return found

    def _reach(self, name: str, exprs: Iterable[Expr]) -> Iterable[Loops]:
        of: Mapping[Var, Loops] = self._of[name]
        for expr in exprs:
            yield from (of.get(v, frozenset()) for v in free_vars(expr))


__all__ = ["GroupFlow", "Loops"]
