"""Groups of warps of a kernel that wait for each other at barriers: one order for their statements, and what their blocks await.

A group is a range of threads, `T.ws(1)` or `if tx >= 128:`. Groups with common threads are one unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm

from ....ir import Block, BlockRealize, Call, Expr, NodeAttr, Stmt, StringImm, free_vars, walk
from ...reading.source import PositionTable
from ..names import WARP_GROUP
from .barriers import ARRIVE, COMPLETE, COPIES, PRODUCTS, WAIT, Phases, agent_of
from .merge import Merge, UnknownOrderError
from .notes import Noted
from .statement import ANY_SIDE, kind_of, names_of, number_of, side_of_sync, sync_of, syncs_in
from .tokens import Sync, Token, Tokens

MOST_SLOTS = 6
ASSUMED_SIZE = 8192
"""The value of each size that a kernel is read without, for a run of its barriers: several tiles for each block."""
SOME = "some"
"""A group whose threads are not known."""
AGENTS = ("", COPIES, PRODUCTS)


def group_of(block: Block) -> str:
    """Return the group of threads that runs a block, "0 to 127"; "" for all threads."""
    note = dict(block.annotations).get(WARP_GROUP)
    return note.value if isinstance(note, StringImm) else ""


def has_groups(stmt: Stmt) -> bool:
    """Whether groups of warps of the text run parts of a statement."""
    return any(
        (isinstance(node, NodeAttr) and node.key == WARP_GROUP) or (isinstance(node, Block) and group_of(node))
        for node in walk(stmt)
    )


def threads_in(group: str) -> int | None:
    """Return how many threads a group has."""
    first, _, last = group.partition(" to ")
    return int(last) - int(first) + 1 if last else None


def units_of(groups: Sequence[str]) -> dict[str, str]:
    """Return the unit of each group: the first of those that have threads in common."""
    ranges = {group: tuple(map(int, group.split(" to "))) for group in groups if group != SOME}
    found: dict[str, str] = {}
    for group, (low, high) in sorted(ranges.items(), key=lambda item: item[1][0] - item[1][1]):
        met = next((o for o in found.values() if ranges[o][0] <= high and low <= ranges[o][1]), group)
        found[group] = met
    return found


def everyone(units: Mapping[str, str]) -> list[str]:
    """Return all units; one without a name if the text has no groups."""
    return [*dict.fromkeys(units.values())] or [""]


class WarpOrder(Merge):
    """Finds the order of the statements of a kernel's groups of warps."""

    def __init__(
        self, positions: PositionTable, groups: Sequence[str], counts: Mapping[str, tuple[int | None, ...]]
    ) -> None:
        super().__init__(positions, Phases(counts), ())
        self.groups = list(groups)
        self.units = units_of(groups)
        self.period = lcm(4, *(2 * len(each) for each in counts.values() if 0 < len(each) <= MOST_SLOTS))  # two phases

    def order(self, body: Stmt) -> Stmt:
        """Return the statements in one order. Raises UnknownOrderError."""
        if SOME in self.groups:
            raise UnknownOrderError("which threads take a branch is not known")
        before, sizes = self.state.copy(), dict.fromkeys(free_vars(body), ASSUMED_SIZE)
        try:
            return self.in_order(body)
        except UnknownOrderError:
            if not sizes:
                raise
        self.state, self.events, self.known, self.at = before, 0, {}, {**self.at, **sizes}
        return self.in_order(body)  # with values of the sizes

    def unit(self, stmt: Stmt) -> str | None:
        if isinstance(stmt, NodeAttr) and stmt.key == WARP_GROUP and isinstance(stmt.node, StringImm):
            return self.units[stmt.node.value]
        return None

    def is_exchange(self, stmt: Stmt) -> bool:
        return any(kind_of(call) in (ARRIVE, COMPLETE, WAIT) for call in syncs_in(stmt))


class WarpTokens:
    """What the blocks of groups signal and await."""

    def __init__(self, body: Stmt, groups: Sequence[str]) -> None:
        self.groups = list(groups)
        self.units = units_of(groups)
        self.everyone = everyone(self.units)
        self.signalling: dict[str, dict[tuple[str, str], None]] = {}  # the units that arrive at each barrier
        for call in syncs_in(body):
            if kind_of(call) in (ARRIVE, COMPLETE):
                for unit in self._of(call):
                    self.signalling.setdefault(names_of(call)[0], {})[unit, self._agent(call)] = None

    def noted(self, body: Stmt, positions: PositionTable) -> Stmt:
        return Noted(positions, Tokens(body, self._runs, self._sync, lambda _: None)).noted(body)

    def _runs(self, realize: BlockRealize) -> list[str]:
        group, agent = group_of(realize.block), agent_of(dict(realize.block.annotations))
        units = [self.units[group]] if group in self.units else self.everyone
        return [f"{unit} {agent}" for unit in units]

    def _of(self, call: Call) -> list[str]:
        """Return the units that execute a statement."""
        side = side_of_sync(call)
        return self.everyone if side == ANY_SIDE else [self.units.get(self.groups[side], "")]

    def _agent(self, call: Call) -> str:
        return names_of(call)[1] if kind_of(call) == COMPLETE else ""

    def _sync(self, stmt: Stmt) -> Sync | None:
        call = sync_of(stmt)
        if call is None:
            return None
        kind, number = kind_of(call), number_of(call)
        if kind in (ARRIVE, COMPLETE):
            agent = self._agent(call)
            return Sync(tuple(self._token(call, unit, unit, agent, number) for unit in self._of(call)))
        if kind != WAIT:
            return Sync()
        sources = self.signalling.get(names_of(call)[0], {})
        found = [
            self._token(call, f"{unit} {own}", source, agent, number)
            for unit in self._of(call)
            for own in AGENTS
            for source, agent in sources
            if (source, agent) != (unit, "")
        ]
        return Sync(awaits=tuple(found))

    def _token(self, call: Call, unit: str, source: str, agent: str, number: Expr) -> Token:
        """Return the token that one of the units at a barrier signals."""
        name = names_of(call)[0]
        if len(self.signalling[name]) > 1:
            name = f"{name} ({agent or 'threads'}{f' of {source}' if source else ''})"
        return Token(unit if kind_of(call) == WAIT else f"{source} {agent}", name, number)


__all__ = ["SOME", "WarpOrder", "WarpTokens", "everyone", "group_of", "has_groups", "threads_in", "units_of"]
