"""Flags and barriers as dependences between blocks. A flag that is set after a block is a token that the block signals when it ends; the
next block of the unit that waits for the flag awaits the token that was signalled last.

    copy A → L1           signals "mte2 to mte1"[0]
    set_flag("mte2", "mte1", 0)
    wait_flag("mte2", "mte1", 0)
    copy L1 → L0A         awaits "mte2 to mte1"[0]

Each unit runs its statements in order, so the last block before a flag and the first one after a wait stand for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ....arith import simplify
from ....ir import (
    Annotations,
    BlockRealize,
    Expr,
    For,
    IfThenElse,
    IntImm,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    build,
    children,
    free_vars,
    structural_equal,
    substitute,
)
from ..names import AWAITS, SIGNALS


class Token(msgspec.Struct, frozen=True, eq=False):
    """A token with its name and number, and the unit that signals or awaits it. A token of a barrier has `numbers` of its own, and differs
    from iteration to iteration: a block may await it while the block before it signals that of the next iteration."""

    unit: str
    name: str
    index: Expr
    numbers: int = 0


class Sync(msgspec.Struct, frozen=True, eq=False):
    """What a flag or barrier signals after the blocks before it, and awaits before those after it."""

    signals: tuple[Token, ...] = ()
    awaits: tuple[Token, ...] = ()


_Reached = Mapping[str, Mapping[BlockRealize, frozenset[Var]]]
"""The nearest blocks of each unit, with the loops around the statement whose iterations lie in between."""


class Tokens:
    """The tokens of the blocks of a body. `units_of` returns the units that run a block, `sync_of` what a statement synchronises, and
    `inner` the flags that an operation has itself, before and after its block."""

    def __init__(
        self,
        body: Stmt,
        units_of: Callable[[BlockRealize], Sequence[str]],
        sync_of: Callable[[Stmt], Sync | None],
        inner: Callable[[BlockRealize], tuple[Sync, Sync] | None],
    ) -> None:
        self._units_of, self._sync_of, self._inner = units_of, sync_of, inner
        self._around: dict[BlockRealize, tuple[For, ...]] = {}
        self._found: dict[str, dict[BlockRealize, list[tuple[str, Expr]]]] = {SIGNALS: {}, AWAITS: {}}
        self._visit(body, {}, (), key=SIGNALS)
        self._visit(body, {}, (), key=AWAITS)

    def notes(self, realize: BlockRealize) -> Annotations:
        """Return the tokens of a block as annotations."""
        own = {
            value: iv.var
            for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
            if isinstance(value, Var)
        }
        return tuple(
            (
                key,
                tuple(
                    (StringImm(name), substitute(index, own))
                    for name, index in sorted(found[realize], key=lambda token: token[0])
                ),
            )
            for key, found in self._found.items()
            if realize in found
        )

    def _visit(self, stmt: Stmt, reached: _Reached, loops: tuple[For, ...], *, key: str) -> _Reached:
        """Return the nearest blocks after a statement, or those before it for what is awaited."""
        sync = self._sync_of(stmt)
        if sync is not None:
            self._connect(sync.signals if key == SIGNALS else sync.awaits, reached, loops, key=key)
            return reached
        match stmt:
            case BlockRealize():
                self._around[stmt] = loops
                own = self._inner(stmt) or (Sync(), Sync())
                first, last = own if key == SIGNALS else (own[1], own[0])
                self._connect(first.signals if key == SIGNALS else first.awaits, reached, loops, key=key)
                reached = {**reached, **{unit: {stmt: frozenset()} for unit in self._units_of(stmt)}}
                self._connect(last.signals if key == SIGNALS else last.awaits, reached, loops, key=key)
                return reached
            case For(body=body):
                inside = self._visit(body, reached, (*loops, stmt), key=key)
                again = {
                    unit: {realize: crossed | {stmt.loop_var} for realize, crossed in blocks.items()}
                    for unit, blocks in inside.items()
                }
                return self._visit(body, _either(reached, again), (*loops, stmt), key=key)
            case IfThenElse(then_case=then, else_case=other):
                first = self._visit(then, reached, loops, key=key)
                return _either(first, reached if other is None else self._visit(other, reached, loops, key=key))
            case _:
                parts = stmt.seq if isinstance(stmt, SeqStmt) else [n for n in children(stmt) if isinstance(n, Stmt)]
                for part in parts if key == SIGNALS else reversed(parts):
                    reached = self._visit(part, reached, loops, key=key)
                return reached

    def _connect(self, tokens: Sequence[Token], reached: _Reached, loops: tuple[For, ...], *, key: str) -> None:
        for token in tokens:
            for realize, crossed in reached.get(token.unit, {}).items():
                index = (
                    build.add(token.index, build.mul(_parity(loops), token.numbers)) if token.numbers else token.index
                )
                index = _seen_from(index, loops, self._around[realize], crossed, later=key == SIGNALS)
                known = self._found[key].setdefault(realize, [])
                if not any(name == token.name and structural_equal(index, other) for name, other in known):
                    known.append((token.name, index))


def _parity(loops: Sequence[For]) -> Expr:
    """Return the number of an iteration of all loops, modulo 2."""
    number: Expr = IntImm(0)
    for loop in loops:
        number = build.add(build.mul(number, loop.extent), build.sub(loop.loop_var, loop.min))
    return build.floormod(number, 2)


def _either(first: _Reached, second: _Reached) -> _Reached:
    found = dict(first)
    for unit, blocks in second.items():
        mine = dict(found.get(unit, {}))
        for realize, crossed in blocks.items():
            mine.setdefault(realize, crossed)
        found[unit] = mine
    return found


def _seen_from(
    index: Expr, loops: Sequence[For], around: Sequence[For], crossed: frozenset[Var], *, later: bool
) -> Expr:
    """Return the number of a token at a block: the one of the next iteration if the flag is reached there (`later`), or of the one before;
    of the first or last iteration of a loop that is not around the block."""
    used = {*free_vars(index)}
    values: dict[Var, Expr] = {}
    for loop in loops:
        var = loop.loop_var
        if var not in used:
            continue
        if loop not in around:
            values[var] = loop.min if later else build.sub(build.add(loop.min, loop.extent), 1)
        elif var in crossed:
            values[var] = build.add(var, 1) if later else build.sub(var, 1)
    return simplify(substitute(index, values)) if values else index


__all__ = ["Sync", "Token", "Tokens"]
