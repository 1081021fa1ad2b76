"""Code for single threads: branches that some threads take, loops that are longer in some, and values that threads exchange.

Statements run one after the other, each in all threads. That is one of the orders that TileLang allows as long as no thread waits for
another one inside of a branch; groups of threads that do are brought into one order (`sync.warps`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import product
from math import prod

from ...arith import bounds, simplify
from ...ir import (
    And,
    Annotations,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IntImm,
    Node,
    NodeAttr,
    Place,
    Stmt,
    StringImm,
    Var,
    While,
    build,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from ..reading.statements.loops import header
from .base import TileBase
from .blocks import Axis, Lanes, axis
from .divergence import code_of, divergent_names, names_threads, updates_in_each
from .names import WARP_GROUP
from .sync.merge import UnknownOrderError
from .sync.statement import Synchronised, syncs_in
from .sync.warps import SOME, WarpOrder, WarpTokens, has_groups, threads_in

WARP = 32
WARP_GROUP_THREADS = 128
GRID = ("x", "y", "z")
UNORDERED = "tl.thread_order"
"""The attribute around statements of groups of warps whose order is not known, with the reason."""
_FEW = 4
"""The largest number of units whose values are compared one by one."""
_WAITS = ("barrier_wait", "mbarrier_wait_parity", "mbarrier_wait", "mbarrier_try_wait", "wait_barrier")


class ThreadReader(TileBase):
    """Reads what single threads do."""

    def begin_function(self) -> None:
        super().begin_function()
        self.threads_in_block = 128
        self.running: dict[tuple[Expr, ...], list[int]] = {}  # the threads for which conditions hold

    # --- the threads of a kernel

    def units_of(self, body: Sequence[ast.stmt], counts: Annotations) -> Lanes | None:
        """Return the threads of a kernel if its code asks for their numbers."""
        called = code_of(body, self.exprs.scope)
        functions = [function.node for several in called.values() for function in several]
        given = counts[0][1] if counts else ()
        extents = [e for e in given if isinstance(e, Expr)] if isinstance(given, tuple) else []
        self.threads_in_block = prod(build.int_value(e) or 1 for e in extents) if extents else 128
        if not names_threads([*body, *functions]) and not updates_in_each([*body, *functions]):
            return None
        self.divergent = divergent_names(body, called)
        extents = [*extents, IntImm(1), IntImm(1)][:3] if extents else [IntImm(128), IntImm(1), IntImm(1)]
        variables = [Var(f"t{name}", "int32") for name in GRID]
        kept = [n for n, extent in enumerate(extents) if n == 0 or not build.is_const(extent, 1)]
        self.exprs.threads = [variables[n] if n in kept else IntImm(0) for n in range(len(GRID))]
        return Lanes(
            tuple(variables[n] for n in kept),
            tuple(extents[n] for n in kept),
            tuple(f"threadIdx.{GRID[n]}" for n in kept),
        )

    # --- branches

    def masked(self, node: ast.If, condition: Expr) -> Stmt:
        """Read a branch that some threads take: each statement in it runs on these. A condition on memory is computed once, before."""
        first: list[Stmt] = []
        if self._waits(node):
            return self._group(node, condition)
        if any(isinstance(part, BufferLoad) for part in walk(condition)):
            first, condition = self._kept_mask(condition, self.source.header(node))
        branches: list[Stmt] = []
        for mask, body in ((condition, node.body), (build.logical_not(condition), node.orelse)):
            self.masks.append(mask)
            branches += [self.nested_body(body)] if body else []
            self.masks.pop()
        return build.seq([*first, *branches])

    def _kept_mask(self, condition: Expr, place: Place) -> tuple[list[Stmt], Expr]:
        kept = self.own("mask", "bool")
        return [self.store(kept, condition, (IntImm(0),), place)], BufferLoad(kept, (IntImm(0),))

    def _waits(self, node: ast.AST) -> bool:
        """Whether code waits for other threads at a barrier of its own."""
        called = code_of([node], self.exprs.scope)  # pyright: ignore[reportArgumentType]
        functions = [function.node for several in called.values() for function in several]
        calls = (part.func for code in (node, *functions) for part in ast.walk(code) if isinstance(part, ast.Call))
        return any(isinstance(func, ast.Attribute) and func.attr in _WAITS for func in calls)

    def _group(self, node: ast.If, condition: Expr) -> Stmt:
        """Read the branches of groups of threads that wait for each other."""
        found: list[Stmt] = []
        for mask, body in ((condition, node.body), (build.logical_not(condition), node.orelse)):
            self.masks.append(mask)
            if len(body) == 1 and isinstance(body[0], ast.If):
                made = self.same_scope(body)  # elif
                found += [] if made is None else [made]
            elif body:
                found.append(self.in_group(self._shown_group(), body, self.source.header(node)))
            self.masks.pop()
        return build.seq(found)

    def in_group(self, group: str, body: list[ast.stmt], place: Place) -> Stmt:
        """Read the statements of a group of threads."""
        if self.group:
            return self.nested_body(body)
        self.named_groups += [group] if group not in self.named_groups else []
        self.group = group
        made = NodeAttr(StringImm(group), WARP_GROUP, build.const(0, "int32"), self.nested_body(body))
        self.group = ""
        return self.mark(made, place)

    def warp_group(self, node: ast.With, call: ast.Call) -> Stmt:
        """Read `with T.ws(1):`, a group of four warps."""
        numbers = [self.exprs.constant_int(argument) for argument in call.args]
        first, last = min(numbers) * WARP_GROUP_THREADS, (max(numbers) + 1) * WARP_GROUP_THREADS - 1
        masks: list[Expr] = []
        if self.lanes is not None and len(self.lanes.vars) == 1:
            (thread,) = self.lanes.vars
            low, high = (build.const(n, thread.dtype) for n in (first, last))
            masks = [build.ge(thread, low), build.le(thread, high)]
        self.masks += masks
        made = self.in_group(f"{first} to {last}", node.body, self.source.header(node))
        self.masks = self.masks[: len(self.masks) - len(masks)]
        return made

    def _shown_group(self) -> str:
        """Return the numbers of the threads that run a statement, "128 to 255"; "some" if they are not known."""
        found = self._running()
        if not found or found[-1] - found[0] >= len(found):
            return SOME
        return f"{found[0]} to {found[-1]}"

    def _running(self) -> list[int]:
        """Return the numbers of the threads that have all masks, as far as these are conditions on the numbers alone."""
        assert self.lanes is not None
        parts = [p for mask in self.masks for p in _conjuncts(mask) if self.differs(p)]
        if any(
            not {*free_vars(p)} <= {*self.lanes.vars} or any(isinstance(n, BufferLoad) for n in walk(p)) for p in parts
        ):
            return []
        key = tuple(parts)
        if key not in self.running:
            self.running[key] = [n for n, at in enumerate(self._numbers()) if self._hold(parts, at)]
        return self.running[key]

    def running_threads(self) -> int:
        if self.lanes is not None:
            return len(self._running())
        return (threads_in(self.group) if self.group else None) or self.threads_in_block

    def leave_groups(self, body: Stmt) -> Stmt:
        """Return the statements of a kernel in one order, without barriers and waits, which become annotations of the blocks beside them;
        statements of groups of warps are only to be read if their order is not known."""
        is_grouped = has_groups(body)
        if not is_grouped and not syncs_in(body):
            return body
        unknown = ""
        try:
            body = WarpOrder(self.positions, self.named_groups, self.barriers).order(body)
        except UnknownOrderError as error:
            unknown = str(error) if is_grouped else ""
        if not unknown:
            self.synchronised.append(Synchronised(body, self.barriers, tuple(self.named_groups)))
        noted = WarpTokens(body, self.named_groups).noted(body, self.positions)
        return NodeAttr(StringImm(unknown), UNORDERED, build.const(0, "int32"), noted) if unknown else noted

    def groups(self, masks: Sequence[Expr]) -> list[Expr] | None:
        """Return the conditions under which some thread has all masks, for a statement that runs once; None if that is not known."""
        assert self.lanes is not None
        kept: list[Expr] = []
        of_threads: list[Expr] = []
        for part in (p for mask in masks for p in _conjuncts(mask)):
            if not self.differs(part):
                kept.append(part)
            elif {*free_vars(part)} <= {*self.lanes.vars} and not any(isinstance(n, BufferLoad) for n in walk(part)):
                of_threads.append(part)
            else:
                return None
        if of_threads and not self._running():
            return [build.FALSE]
        return kept

    def _numbers(self) -> Iterator[tuple[int, ...]]:
        assert self.lanes is not None
        return product(*(range(build.int_value(extent) or 1) for extent in self.lanes.extents))

    def _hold(self, conditions: Sequence[Expr], at: Sequence[int]) -> bool:
        assert self.lanes is not None
        numbers = {v: IntImm(n) for v, n in zip(self.lanes.vars, at, strict=True)}
        return all(build.is_const(simplify(substitute(part, numbers)), 1) for part in conditions)

    # --- loops

    def _while(self, node: ast.While) -> Stmt:
        condition = self.exprs.condition(node.test)
        if not self.group and (self.differs(condition) or self.pending):
            raise self.source.error(node.test, "unsupported", "a while loop whose end differs between threads is not supported",
                                    expected="a condition that is the same in all threads")  # fmt: skip
        return self.mark(While(condition, self.nested_body(node.body)), self.source.header(node))

    def own_loop(self, node: ast.For, found: For, step: Expr | None) -> Stmt:
        """Read a loop with a step, or whose first or last iteration depends on the thread: it counts from 0, up to the largest number of
        iterations, under a mask."""
        place, first = self.source.header(node), list[Stmt]()
        extent = found.extent if step is None else build.floordiv(build.add(found.extent, build.sub(step, 1)), step)
        is_own = step is not None or self.differs(found.min)
        mask: list[Expr] = []
        count = extent
        if self.differs(extent):
            largest = bounds(simplify(extent, self.ranges()), self.ranges()).high
            if any(isinstance(part, BufferLoad) for part in walk(extent)):
                kept = self.own("count", extent.dtype)
                first = [self.store(kept, extent, (IntImm(0),), place)]
                extent = BufferLoad(kept, (IntImm(0),))
            of_all = self.of_units(extent) if largest is None else None
            if largest is None and of_all is None:
                of_all = self._longest(found.extent, extent)
            if largest is None and of_all is None:
                raise self.source.error(node.iter, "unsupported", "a loop whose length differs between threads is not supported",
                                        expected="a length with a known largest value")  # fmt: skip
            count = build.const(max(largest or 0, 0), extent.dtype) if of_all is None else reduce(build.maximum, of_all)
        made = header(
            build.const(0, count.dtype) if is_own else found.min, count, found.kind, found.thread_tag, found.annotations
        )
        assert isinstance(node.target, ast.Name)
        var = Var(node.target.id, count.dtype)
        if self.differs(extent):
            mask = [build.lt(var if is_own else build.sub(var, found.min), extent)]
        value = build.add(found.min, build.mul(var, 1 if step is None else step)) if is_own else var
        self.loops[var] = made
        self.around.append(made)
        self.masks += mask
        with self.exprs.scope.nested():
            self.exprs.define(node.target.id, value, node.target)
            body = self.nested_body(node.body)
        self.masks = self.masks[: len(self.masks) - len(mask)]
        self.around.pop()
        del self.loops[var]
        loop = For(var, made.min, made.extent, made.kind, body, made.thread_tag, made.annotations)
        return build.seq([*first, self.mark(loop, place)])

    def _longest(self, length: Expr, count: Expr) -> list[Expr] | None:
        """Return the number of iterations in the threads with the largest `length` of a loop, if that changes by a constant from thread to
        thread; `count` is the number of iterations, larger for a larger length."""
        assert self.lanes is not None
        for var, threads in zip(self.lanes.vars, self.lanes.extents, strict=True):
            step = simplify(build.sub(substitute(length, {var: build.add(var, 1)}), length))
            if not isinstance(step, IntImm) or any(isinstance(part, BufferLoad) for part in walk(length)):
                return None
            count = substitute(count, {var: build.sub(threads, 1) if step.value > 0 else build.const(0, var.dtype)})
        return [simplify(count)]

    def of_units(self, value: Expr) -> list[Expr] | None:
        """Return a value that each unit has for itself for all units, None for many units."""
        sizes = [build.int_value(extent) for extent in self.lanes.extents] if self.lanes is not None else []
        if self.lanes is None or any(size is None for size in sizes) or prod(size or 0 for size in sizes) > _FEW:
            return None
        found: list[Expr] = []
        for numbers in product(*(range(size or 0) for size in sizes)):
            place = tuple(build.const(n, v.dtype) for n, v in zip(numbers, self.lanes.vars, strict=True))

            def leave(part: Node, place: tuple[Expr, ...] = place) -> Node:
                if isinstance(part, BufferLoad) and part.buffer in self.private:
                    return BufferLoad(self.private[part.buffer], (*place, *part.indices))
                return part

            found.append(rewrite(substitute(value, dict(zip(self.lanes.vars, place, strict=True))), leave))
        return found

    # --- exchanges

    def own(self, hint: str, dtype: str) -> Buffer:
        """Return a new variable of each thread."""
        buffer = Buffer(hint, (IntImm(1),), dtype, "local.var")
        made = buffer
        if self.lanes is not None:
            made = self.private[buffer] = self.lanes.wide(buffer)
        self.frame.alloc_buffers.append(made)
        return buffer

    def given_away(self, node: ast.AST, value: Expr) -> Callable[[Expr], Expr]:
        """Return a function from a thread's number to the value that it has before the statement. Raises "unsupported" for threads in
        several dimensions whose warps do not lie along the first."""
        if self.lanes is None or (len(self.lanes.vars) > 1 and (build.int_value(self.lanes.extents[0]) or 1) % WARP):
            raise self.source.error(node, "unsupported", "an exchange between threads is not supported here",
                                    expected="threads in one dimension")  # fmt: skip
        buffer = self.own("given", value.dtype)
        self.pending.append(self.store(buffer, value, (IntImm(0),), self.source.place(node)))
        wide, others, extent = self.private[buffer], self.lanes.vars[1:], self.lanes.extents[0]

        def at(number: Expr) -> Expr:
            inside = build.logical_and(build.ge(number, build.const(0, number.dtype)), build.lt(number, extent))
            own = BufferLoad(buffer, (IntImm(0),))
            return build.if_then_else(inside, BufferLoad(wide, (number, *others, IntImm(0))), own)

        return at

    def combined(self, node: ast.AST, value: Expr, combine: Callable[[Expr, Expr], Expr], first: Expr) -> Expr:
        """Return the combination of the values of all threads of a warp."""
        at = self.given_away(node, value)
        assert self.lanes is not None
        total = self.own("combined", value.dtype)
        zero, place, k = (IntImm(0),), self.source.place(node), axis("k", IntImm(WARP), "reduce")
        number = build.add(build.mul(build.floordiv(self.lanes.vars[0], WARP), WARP), k.var)
        inside = build.lt(number, self.lanes.extents[0])
        update = BufferStore(total, combine(BufferLoad(total, zero), at(number)), zero)
        whole = build.is_const(simplify(build.floormod(self.lanes.extents[0], WARP)), 0)
        self.pending += [
            self.store(total, first, zero, place),
            self.placed(self.block("combined", [k], update, conditions=[] if whole else [inside], sums=True), place),
        ]
        return BufferLoad(total, zero)

    def all_reduced(self, reducer: ast.Call, call: ast.Call) -> Stmt:
        """Read `T.tvm_thread_allreduce(1, value, condition, result, tx)` under its `T.comm_reducer(lambda x, y: x + y, [0])`: the
        values of the threads along axes, combined."""
        function, identities = reducer.args
        count, value_node, condition, result, *along = call.args
        target = self.exprs.value(result)
        numbers = [self.exprs.value(node) for node in along]
        is_read = isinstance(function, ast.Lambda) and len(function.args.args) == 2 and isinstance(identities, ast.List)
        if (
            self.lanes is None or not is_read or not isinstance(target, BufferLoad) or not build.is_const(self.exprs.expr(count), 1)
            or any(number not in self.lanes.vars for number in numbers)
        ):  # fmt: skip
            raise self.source.error(call, "unsupported", "this reduction over threads is not supported",
                                    expected="one value, over whole axes of the threads")  # fmt: skip
        assert isinstance(function, ast.Lambda) and isinstance(identities, ast.List)
        place, zero = self.source.place(call), (IntImm(0),)
        value = self.exprs.expr(value_node)
        first = build.cast(self.exprs.expr(identities.elts[0]), value.dtype)
        given, total = self.own("given", value.dtype), self.own("combined", value.dtype)
        kept = build.if_then_else(self.exprs.condition(condition), value, first)
        axes = [axis(f"k{n}", extent, "reduce") for n, (v, extent) in enumerate(zip(self.lanes.vars, self.lanes.extents, strict=True))
                if v in numbers]  # fmt: skip
        steps = iter(axes)
        source = BufferLoad(
            self.private[given], (*(next(steps).var if v in numbers else v for v in self.lanes.vars), *zero)
        )
        names = [argument.arg for argument in function.args.args]
        with self.exprs.scope.nested():
            for name, part in zip(names, (BufferLoad(total, zero), source), strict=True):
                self.exprs.scope.define(name, part)
            update = BufferStore(total, self.exprs.expr(function.body), zero)
        return build.seq([
            self.store(given, kept, zero, place), self.store(total, first, zero, place),
            self.placed(self.block("combined", axes, update, sums=True), place),
            self.store(target.buffer, build.cast(BufferLoad(total, zero), target.dtype), target.indices, place),
        ])  # fmt: skip

    def before(self, node: ast.AST, target: BufferLoad, value: Expr, conditions: Sequence[Expr]) -> Expr:
        """Store a new value of an element, and return the one before: the threads do so one after the other."""
        buffer, zero = self.own("previous", target.dtype), (IntImm(0),)
        body = build.seq([BufferStore(buffer, target, zero), BufferStore(target.buffer, value, target.indices)])
        axes: list[Axis] = []
        self.pending.append(
            self.placed(self.block("previous", axes, body, conditions=conditions, each=True), self.source.place(node))
        )
        return BufferLoad(buffer, zero)


def bound_axis(node: ast.expr) -> int | None:
    """Return the axis of threads that a loop of the printed form binds; None for other loops."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "thread_binding":
        return None
    tags = [k.value.value for k in node.keywords if k.arg == "thread" and isinstance(k.value, ast.Constant)]
    return next((n for n, name in enumerate(GRID) if f"threadIdx.{name}" in tags), None)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, And):
        yield from _conjuncts(condition.a)
        yield from _conjuncts(condition.b)
    else:
        yield condition


__all__ = ["GRID", "WARP", "ThreadReader", "bound_axis"]
