"""One order for the statements of units that run side by side and wait for each other: cores, or groups of warps.

The order that is found is one that the flags and barriers permit, so a kernel without races computes in it what it computes on the device.
Each unit goes on until it has to wait. Loops whose iterations wait for each other run together, an iteration of one with an iteration of
the others; a run of the loop shows whether all its waits can go on in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from ....arith import prove_equal
from ....ir import (
    Annotations,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    NodeAttr,
    SeqStmt,
    Stmt,
    Var,
    build,
    structural_equal,
    substitute,
    walk,
)
from ...reading.source import PositionTable
from ..pipelines import ORDER, STAGE
from .run import Run, UntraceableError
from .statement import sync_of, text_of

S = TypeVar("S", bound=Stmt)
Units: TypeAlias = dict[Hashable, list[Stmt]]
"""The statements of each unit."""
ASSUMED = 12
"""Iterations of a loop whose number is not known."""
MOST_EVENTS = 10_000
"""The flags, barriers and waits of a run: about a second."""


class UnknownOrderError(Exception):
    """The order of the statements of several units is not known."""


class TooLongError(Exception):
    """The run of a kernel has too many flags, barriers and waits."""


class State(Protocol):
    """What the flags and barriers of a kernel have reached."""

    def passes(self, call: Call, run: Run) -> bool:
        """Take a flag, barrier or wait; False if it has to wait."""
        ...

    def copy(self) -> State: ...


def parts(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence."""
    return list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]


class Merge(Run):
    """Merges the statements of units. `positions` get the places of new statements."""

    def __init__(self, positions: PositionTable, state: State, grid: Collection[Var]) -> None:
        super().__init__(grid)
        self.positions = positions
        self.state = state
        self.events = 0

    def unit(self, stmt: Stmt) -> Hashable | None:
        """Return the unit that runs a statement, None for several."""
        raise NotImplementedError

    def is_exchange(self, stmt: Stmt) -> bool:
        """Whether flags, barriers or waits that concern several units are in a loop or branch."""
        raise NotImplementedError

    def matched(self, units: Units) -> Units:
        """Return the statements of units with flags that the text leaves to the compiler."""
        return units

    def _passes(self, call: Call) -> bool:
        self.events += 1
        if self.events > MOST_EVENTS:
            raise TooLongError
        try:
            return self.state.passes(call, self)
        except UntraceableError:
            raise UnknownOrderError(f"what {text_of(call)} does is known only in a run") from None

    def in_order(self, body: Stmt) -> Stmt:
        """Return the statements of a body in one order. Raises UnknownOrderError."""
        try:
            return build.seq(self.ordered(parts(body)))
        except TooLongError:
            raise UnknownOrderError("a run of its flags and waits is too long") from None

    # --- sequences

    def ordered(self, stmts: Iterable[Stmt]) -> list[Stmt]:
        """Return the statements of several units in order; those that concern several stay where they are."""
        found: list[Stmt] = []
        units: Units = {}
        waiting: list[Stmt] = []  # flags and barriers between statements of units

        def flush() -> None:
            found.extend(self.merged(self.matched(units)))
            units.clear()

        for stmt in stmts:
            if sync_of(stmt) is not None:
                waiting.append(stmt)
                continue
            unit = self.unit(stmt)
            if unit is None:
                flush()
                found += [*map(self._passed, waiting), self._of_all(stmt)]
            else:
                inner = parts(stmt.body if isinstance(stmt, AttrStmt | NodeAttr) else stmt)
                units.setdefault(unit, []).extend([*waiting, *inner])
            waiting = []
        flush()
        return [*found, *map(self._passed, waiting)]

    def _passed(self, stmt: Stmt) -> Stmt:
        self.run(stmt)
        return stmt

    def _of_all(self, stmt: Stmt) -> Stmt:
        """Return a statement with parts of several units."""
        match stmt:
            case For():
                return self._loop([stmt], self.ordered) if self.has_parts(stmt) else self._passed(stmt)
            case IfThenElse(condition, then, other) if self.has_parts(stmt):
                before = self.state.copy()
                first = build.seq(self.ordered(parts(then)))
                after = self.state
                if other is None:
                    return self.placed(stmt, IfThenElse(condition, first, None))
                self.state = before
                second = build.seq(self.ordered(parts(other)))
                self.state = self.state if self._is_false(condition) else after
                return self.placed(stmt, IfThenElse(condition, first, second))
            case _:
                return self._passed(stmt)

    def has_parts(self, stmt: Stmt) -> bool:
        """Whether parts of a loop or branch belong to single units."""
        return any(self.unit(node) is not None for node in walk(stmt) if isinstance(node, AttrStmt | NodeAttr)) or (
            self.is_exchange(stmt)
        )

    def _is_false(self, condition: Expr) -> bool:
        try:
            return not self.holds(condition)
        except UntraceableError:
            return False

    def merged(self, units: Units) -> list[Stmt]:
        """Return the statements of units in an order in which all waits go on."""
        found: list[Stmt] = []
        rest = {unit: list(stmts) for unit, stmts in units.items()}
        while any(rest.values()):
            moved = [made for stmts in rest.values() for made in self._advanced(stmts)]
            found += moved or self._together(rest)
        return found

    def _advanced(self, stmts: list[Stmt]) -> list[Stmt]:
        """Take the statements of a unit up to one that has to wait."""
        found: list[Stmt] = []
        while stmts:
            first = stmts[0]
            if isinstance(first, IfThenElse) and self.is_exchange(first):
                several = self._split(first)
                if len(several) > 1:
                    stmts[:1] = several
                    continue
            if not self._goes_on(first):
                break
            found.append(stmts.pop(0))
        return found

    def _goes_on(self, stmt: Stmt) -> bool:
        call = sync_of(stmt)
        if call is not None:
            return self._passes(call)
        if not self.is_exchange(stmt):
            return True
        if isinstance(stmt, IfThenElse):
            return self._is_false(stmt.condition) or self._goes_on(stmt.then_case)
        return False

    def _split(self, branch: IfThenElse) -> list[Stmt]:
        """Return a branch as several, each with one statement."""
        written = {n.buffer for n in walk(branch) if isinstance(n, BufferStore)}
        if any(isinstance(n, BufferLoad) and n.buffer in written for n in walk(branch.condition)):
            raise UnknownOrderError("a branch with waits changes its own condition")
        found: list[Stmt] = [IfThenElse(branch.condition, part) for part in parts(branch.then_case)]
        if branch.else_case is not None:
            negated = build.logical_not(branch.condition)
            found += [IfThenElse(negated, part) for part in parts(branch.else_case)]
        return [self.placed(branch, part) for part in found]

    # --- loops

    def _together(self, rest: Units) -> list[Stmt]:
        """Take the loops at which units stand: those of equal length together if they can go on so, otherwise one alone."""
        at = [n for n, stmts in rest.items() if stmts and _loop_in(stmts[0]) is not None]
        choices: list[list[Hashable]] = []
        for n in at:
            mates = [m for m in at if self._are_alike(rest[n][0], rest[m][0])]
            if len(mates) > 1 and mates not in choices:
                choices.append(mates)
        failed: UnknownOrderError | None = None
        for chosen in [*choices, *([n] for n in at)]:
            before = self.state.copy()
            try:
                made = self._as_one({n: rest[n][0] for n in chosen})
            except UnknownOrderError as error:
                self.state, failed = before, failed or error
                continue
            for n in chosen:
                del rest[n][0]
            return [made]
        raise failed or UnknownOrderError(self._stuck(rest))

    def _stuck(self, rest: Units) -> str:
        first = next(stmts[0] for stmts in rest.values() if stmts)
        while isinstance(first, IfThenElse):
            first = first.then_case
        call = sync_of(first)
        return (
            f"{text_of(call)} waits for something that does not happen before"
            if call is not None
            else "a loop waits for another one"
        )

    def _are_alike(self, first: Stmt, second: Stmt) -> bool:
        a, b = _loop_in(first), _loop_in(second)
        assert a is not None and b is not None
        if isinstance(first, IfThenElse) != isinstance(second, IfThenElse):
            return False
        if (
            isinstance(first, IfThenElse)
            and isinstance(second, IfThenElse)
            and not structural_equal(first.condition, second.condition)
        ):
            return False
        return prove_equal(a.extent, b.extent) and prove_equal(a.min, b.min)

    def _as_one(self, stmts: Mapping[Hashable, Stmt]) -> Stmt:
        """Return one loop for those of several units."""
        first = next(iter(stmts.values()))
        if isinstance(first, IfThenElse):
            inner = self._as_one({unit: s.then_case for unit, s in stmts.items() if isinstance(s, IfThenElse)})
            return self.placed(first, IfThenElse(first.condition, inner))
        loops = {unit: stmt for unit, stmt in stmts.items() if isinstance(stmt, For)}
        assert isinstance(first, For)
        bodies: dict[Hashable, list[Stmt]] = {}
        for unit, loop in loops.items():
            values: dict[Var, Expr] = {loop.loop_var: build.cast(first.loop_var, loop.loop_var.dtype)}
            bodies[unit] = parts(loop.body if loop is first else self._renamed(loop.body, values))

        def order(_: Iterable[Stmt]) -> list[Stmt]:
            return self.merged(self.matched({unit: list(body) for unit, body in bodies.items()}))

        return self._loop(list(loops.values()), order)

    def _loop(self, loops: Sequence[For], order: Callable[[Iterable[Stmt]], list[Stmt]]) -> Stmt:
        """Return one loop for all, whose body has the order in which an iteration goes on, the first one or a later one."""
        first, var = loops[0], loops[0].loop_var
        numbers = self._numbers(first)
        before = self.state.copy()
        failed: UnknownOrderError | None = None
        for tried in range(min(2, len(numbers))):
            self.state = before.copy()
            try:
                body: list[Stmt] = []
                for number in numbers[: tried + 1]:
                    self.at[var] = number
                    body = order(parts(first.body))
                if tried:
                    self.state = before.copy()
                for number in numbers[1 - tried :]:
                    self.at[var] = number
                    for part in body:
                        self.run(part)
            except UnknownOrderError as error:
                failed = failed or error
                continue
            finally:
                self.at.pop(var, None)
            is_same = body == parts(first.body)
            notes = tuple(note for loop in loops for note in loop.annotations)
            made = replace(first, body=build.seq(body), annotations=notes if is_same else _without_plan(notes))
            for loop in loops:
                self.placed(loop, made)
            return made
        assert failed is not None
        raise failed

    def _numbers(self, loop: For) -> list[int]:
        try:
            return list(self.iterations(loop)) or [self.value(loop.min)]
        except UntraceableError:
            return list(range(ASSUMED))

    def run(self, stmt: Stmt) -> None:
        """Run the flags, barriers and waits of statements in order. Raises UnknownOrderError if one cannot go on."""
        call = sync_of(stmt)
        if call is not None:
            if not self._passes(call):
                raise UnknownOrderError(f"{text_of(call)} waits for something that does not happen before")
            return
        match stmt:
            case SeqStmt(seq=seq):
                for part in seq:
                    self.run(part)
            case For(loop_var=var, body=body) if self.is_exchange(stmt):
                for number in self._numbers(stmt):
                    self.at[var] = number
                    self.run(body)
                self.at.pop(var, None)
            case IfThenElse(condition, then, other) if self.is_exchange(stmt):
                if not self._is_false(condition):
                    self.run(then)
                elif other is not None:
                    self.run(other)
            case AttrStmt(body=body) | NodeAttr(body=body):
                self.run(body)
            case _:
                pass

    # --- places

    def placed(self, old: Stmt, new: S) -> S:
        for place in self.positions.places(old):
            self.positions.add(new, place)
        return new

    def _renamed(self, stmt: Stmt, values: dict[Var, Expr]) -> Stmt:
        made = substitute(stmt, values)
        for old, new in zip(walk(stmt), walk(made), strict=False):
            if isinstance(new, Stmt) and type(old) is type(new):
                self.placed(old, new)  # pyright: ignore[reportArgumentType]
        return made


def _loop_in(stmt: Stmt) -> For | None:
    """Return a loop, also that of a branch with nothing else."""
    while isinstance(stmt, IfThenElse) and stmt.else_case is None:
        stmt = stmt.then_case
    return stmt if isinstance(stmt, For) else None


def _without_plan(notes: Annotations) -> Annotations:
    """Return annotations without the stages and orders of statements, whose positions have changed."""
    return tuple(note for note in notes if note[0] not in (STAGE, ORDER))


__all__ = ["Merge", "State", "UnknownOrderError", "parts"]
