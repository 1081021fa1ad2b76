"""Blocks that compute several tiles, one after the other: TileLang's loop over them, and its scheduler."""

from __future__ import annotations

import ast

from ...arith import simplify
from ...ir import Buffer, BufferLoad, Expr, For, IfThenElse, IntImm, Stmt, Var, build
from ..reading.intrinsics import parameters
from ..reading.statements.loops import header
from .schedulers import STATE, Scheduler
from .threads import ThreadReader

STAGES = "num_stages"
_PARAMETERS = (
    "num_m_tiles",
    "num_n_tiles",
    "num_workers",
    "swizzle_size",
    "column_major",
    "cluster_size",
    "stateful",
    "name",
)


class PersistentReader(ThreadReader):
    """Reads loops over the tiles of a block."""

    def persistent(self, node: ast.For, call: ast.Call) -> Stmt:
        """Read `for bx, by in T.Persistent([m, n], wave_size, index, group_size=8)`: the tiles of one of `wave_size` blocks, in groups of
        columns, as `PersistentFor` of TileLang 0.1.15 (`src/ir.cc`) orders them."""
        names = ("domain", "wave_size", "index", "group_size", "num_stages", "annotations")
        domain_node, wave_node, index_node, group_node, stages, _ = parameters(self.exprs, call, names, 3)
        assert domain_node is not None and wave_node is not None and index_node is not None
        value = self.exprs.require_known(self.exprs.value(domain_node), domain_node)
        domain = [self.exprs.as_expr(v, domain_node) for v in (value if isinstance(value, tuple | list) else (value,))]
        wave, index = self.exprs.index(wave_node), self.exprs.index(index_node)
        group = IntImm(8) if group_node is None else self.exprs.index(group_node)
        group = build.maximum(IntImm(1), build.minimum(group, domain[-1]))
        grouped = [_ceildiv(domain[-1], group), *domain[:-1], group]
        size: Expr = IntImm(1)
        for extent in grouped:
            size = build.mul(size, extent)
        waves = simplify(_ceildiv(size, wave))
        notes = (
            ()
            if stages is None or build.is_const(self.exprs.index(stages), 0)
            else ((STAGES, self.exprs.index(stages)),)
        )
        loop = header(build.const(0, waves.dtype), waves, "serial", None, notes)
        var = Var("w", waves.dtype)
        number = rest = build.add(build.mul(var, wave), index)
        found: list[Expr] = []
        for extent in reversed(grouped[1:]):
            found.insert(0, build.truncmod(rest, extent))
            rest = build.div(rest, extent)
        last = build.add(build.mul(rest, group), found[-1])
        targets = self._names(node.target)
        self.loops[var] = loop
        self.around.append(loop)
        with self.exprs.scope.nested():
            for name, coordinate in zip(targets, [*found[:-1], last], strict=True):
                self.exprs.define(name.id, coordinate, name)
            body = self.nested_body(node.body)
        self.around.pop()
        del self.loops[var]
        body = IfThenElse(build.lt(last, domain[-1]), body)
        count = build.int_value(waves)
        if count is not None and count >= 2:
            body = IfThenElse(build.lt(number, size), body)
        return self.placed(For(var, loop.min, loop.extent, loop.kind, body, None, notes), self.source.header(node))

    def made_scheduler(self, name: ast.Name, call: ast.Call) -> Scheduler:
        """Read `sched = T.PersistentTileScheduler(m, n, swizzle_size=8)`."""
        given: dict[str, ast.expr | None] = dict(
            zip(_PARAMETERS, parameters(self.exprs, call, _PARAMETERS, 2), strict=True)
        )

        def number(key: str, default: int) -> Expr:
            node = given[key]
            return IntImm(default) if node is None else self.exprs.index(node)

        cluster = number("cluster_size", 1)
        rows = build.floordiv(build.add(number("num_m_tiles", 1), build.sub(cluster, 1)), cluster)
        workers_node, column = given["num_workers"], given["column_major"]
        if workers_node is None:
            sms = self.exprs.device.value(self.source, "tilelang.carver.arch.driver.get_num_sms", call)
            workers = build.floordiv(self.exprs.as_expr(sms, call), cluster)
        else:
            workers = self.exprs.index(workers_node)
        state: dict[str, Buffer] = {}
        stateful = given["stateful"]
        if stateful is None or self.exprs.value(stateful):
            for part in STATE:
                state[part] = Buffer(f"{name.id}_{part}", (IntImm(1),), "int32", "local.var")
                if name.id in self.divergent:
                    self.divergent.add(state[part].name)
                self.keep(state[part], ast.copy_location(ast.Name(state[part].name, ast.Store()), name))
        is_column_major = column is None or bool(self.exprs.value(column))
        return Scheduler(
            (rows, number("num_n_tiles", 1)), workers, number("swizzle_size", 1), state, column_major=is_column_major
        )

    def advanced(self, scheduler: Scheduler, call: ast.Call, method: str) -> Stmt | None:
        """Read `sched.init(block)` or `sched.next_tile()`; None in front of a loop over all tiles."""
        place, zero = self.source.place(call), (IntImm(0),)

        def value(name: str) -> Expr:
            return BufferLoad(scheduler.state[name], zero)

        def store(name: str, found: Expr) -> Stmt:
            return self.store(scheduler.state[name], build.cast(found, "int32"), zero, place)

        if method == "init" and self._loop_over_all(call) is not None:
            scheduler.first = self.exprs.index(call.args[0])
            return None
        if method == "init":
            first = [store("current_iter", IntImm(0)), store("linear_idx", self.exprs.index(call.args[0]))]
        else:
            first = [store("current_iter", build.add(value("current_iter"), 1)),
                     store("linear_idx", build.add(value("linear_idx"), scheduler.workers))]  # fmt: skip
        row, column = scheduler.coordinates(value("linear_idx"))
        return build.seq([*first, store("m_idx", row), store("n_idx", column)])

    def _loop_over_all(self, call: ast.Call) -> ast.While | None:
        """Return the loop behind `sched.init(block)` if that is `while sched.valid(): …; sched.next_tile()`, and nothing else uses the
        scheduler: its number of iterations is known."""
        assert isinstance(call.func, ast.Attribute)
        name, rest = ast.unparse(call.func.value), self.following[-1]
        behind = [node for node in rest[rest.index(self.at) + 1 :] if _uses(node, name)] if self.at in rest else []
        match behind:
            case [ast.While(body=[*inner, ast.Expr() as last], orelse=[]) as loop] if (
                ast.unparse(loop.test) == f"{name}.valid()" and ast.unparse(last) == f"{name}.next_tile()"
            ):
                methods = {f"{name}.next_tile", f"{name}.init"}
                calls = {ast.unparse(n.func) for node in inner for n in ast.walk(node) if isinstance(n, ast.Call)}
                leaves = any(isinstance(n, ast.Break | ast.Continue) for node in inner for n in ast.walk(node))
                return None if leaves or calls & methods else loop
            case _:
                return None

    def _while(self, node: ast.While) -> Stmt:
        match node.test:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="valid")):
                scheduler = self.exprs.scope.get(name)
                if isinstance(scheduler, Scheduler) and scheduler.first is not None:
                    return self._over_all(node, scheduler)
            case _:
                pass
        return super()._while(node)

    def _over_all(self, node: ast.While, scheduler: Scheduler) -> Stmt:
        """Read a loop over all tiles of a block as a loop with a number of iterations that is enough for all blocks."""
        count = simplify(_ceildiv(scheduler.total, scheduler.workers))
        loop, var = header(build.const(0, count.dtype), count, "serial"), Var("w", count.dtype)
        self.loops[var] = loop
        self.around.append(loop)
        scheduler.now = scheduler.at(var)
        body = IfThenElse(build.lt(scheduler.now["linear_idx"], scheduler.total), self.nested_body(node.body[:-1]))
        scheduler.now, scheduler.first = {}, None
        self.around.pop()
        del self.loops[var]
        made = For(var, loop.min, loop.extent, loop.kind, body, None, ())
        return self.mark(made, self.source.header(node))


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _ceildiv(a: Expr, b: Expr) -> Expr:
    return build.floordiv(build.add(a, build.sub(b, 1)), b)


__all__ = ["STAGES", "PersistentReader"]
