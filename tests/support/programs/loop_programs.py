"""Random loop programs for the executor: few loops, few small buffers, and everything that a vectoriser may get wrong.

Indices are quasi-affine, sometimes data-dependent, and overlap across iterations freely: scans, in-place stencils, overlapping
writes, reductions forwards and backwards, buffers fresh in each iteration, guards, lets, loops whose bounds depend on other loops.
Many programs go out of bounds or read unwritten elements; the oracle has to report that where the executor does.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tilewright.engine.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    IterVar,
    LetStmt,
    PrimFunc,
    Range,
    Stmt,
    Var,
    build,
)

DTYPES = ("int32", "int8", "float32")


def _const(value: int) -> Expr:
    return build.const(value, "int32")


class _Writer:
    """Draws one program. `loops` are the loop variables and lets in scope, `buffers` those that may be accessed."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.dtype = draw(st.sampled_from(DTYPES))
        self.count = 0

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def buffer(self, name: str) -> Buffer:
        shape = self.pick((8,), (40,), (40,), (8, 40), (16, 16), (3, 8, 4))
        return Buffer(name, tuple(map(_const, shape)), self.dtype)

    # -- expressions

    def index(self, loops: list[Var], extent: int, buffers: list[Buffer]) -> Expr:
        total = _const(self.number(0, 1))
        for var in self.draw(st.lists(st.sampled_from(loops), max_size=2, unique=True)) if loops else ():
            total = build.add(total, build.mul(var, _const(self.pick(1, 1, 1, 2, 3, 6, -1))))
        if extent < 10 and self.number(0, 3):
            return build.floormod(total, extent)
        match self.pick("plain", "plain", "plain", "mod", "div", "clamp", "load"):
            case "mod":
                return build.floormod(total, extent)
            case "div":
                return build.floordiv(total, self.pick(2, 3, 4))
            case "clamp":
                return build.maximum(build.minimum(total, extent - 1), 0)
            case "load" if self.dtype != "float32":
                load = self.load(loops, [buffers[0]])
                return build.floormod(build.cast(load, "int32"), extent)
            case _:
                return total

    def indices(self, buffer: Buffer, loops: list[Var], buffers: list[Buffer]) -> tuple[Expr, ...]:
        return tuple(self.index(loops, build.int_value(e) or 1, buffers) for e in buffer.shape)

    def load(self, loops: list[Var], buffers: list[Buffer]) -> Expr:
        buffer = self.pick(*buffers)
        plain = tuple(
            build.floormod(self.pick(*loops, _const(0)), e) if self.number(0, 2) else self.pick(*loops, _const(0))
            for e in buffer.shape
        )
        return BufferLoad(buffer, plain)

    def condition(self, loops: list[Var], buffers: list[Buffer]) -> Expr:
        left = self.index(loops, 8, buffers)
        if self.dtype != "float32" and self.number(0, 5) == 0:
            left = build.cast(self.load(loops, buffers), "int32")
        compare = self.pick(build.lt, build.le, build.ge, build.eq)
        test = compare(left, _const(self.number(0, 5)))
        return build.logical_and(test, self.condition(loops, buffers)) if self.number(0, 3) == 0 else test

    def value(self, loops: list[Var], buffers: list[Buffer], depth: int = 0) -> Expr:
        kinds = (
            ("load", "load", "var", "const") if depth >= 2 else ("load", "load", "var", "op", "op", "choice", "select")
        )
        match self.pick(*kinds):
            case "load":
                return BufferLoad(b := self.pick(*buffers), self.indices(b, loops, buffers))
            case "var" if loops:
                return build.cast(self.pick(*loops), self.dtype)
            case "op":
                op = self.pick(build.add, build.sub, build.mul, build.maximum, build.minimum)
                return op(self.value(loops, buffers, depth + 1), self.value(loops, buffers, depth + 1))
            case "choice":
                sides = [self.value(loops, buffers, depth + 1) for _ in range(2)]
                return build.if_then_else(self.condition(loops, buffers), *sides)
            case "select":
                sides = [self.value(loops, buffers, depth + 1) for _ in range(2)]
                return build.select(self.condition(loops, buffers), *sides)
            case _:
                return build.const(self.number(1, 5), self.dtype)

    # -- statements

    def store(self, loops: list[Var], buffers: list[Buffer]) -> Stmt:
        target = self.pick(*buffers[1:])
        indices = self.indices(target, loops, buffers)
        value = self.value(loops, buffers)
        if self.number(0, 1):
            op = self.pick(build.add, build.add, build.sub, build.maximum, build.minimum, build.mul)
            own = BufferLoad(target, indices)
            value = op(own, value) if self.number(0, 3) else op(value, own)
        return BufferStore(target, value, indices)

    def filled(self, target: Buffer, loops: list[Var], buffers: list[Buffer]) -> Stmt:
        """Writes to (almost) all of a small buffer."""
        if self.number(0, 3) == 0:
            return BufferStore(target, self.value(loops, buffers), self.indices(target, loops, buffers))
        own = [Var(self.name("f")) for _ in target.shape]
        body: Stmt = BufferStore(target, self.value([*loops, *own], buffers), tuple(own))
        for var, extent in zip(reversed(own), reversed(target.shape), strict=True):
            body = For(var, _const(0), extent, "serial", body)
        return body

    def loop(self, loops: list[Var], buffers: list[Buffer], depth: int) -> Stmt:
        var = Var(self.name("i"))
        first, extent = _const(self.pick(0, 0, 0, 1, 2)), _const(self.number(1, 6))
        if loops and self.number(0, 7) == 0:
            extent = build.add(self.pick(*loops), 1)
        return For(var, first, extent, "serial", self.stmt([*loops, var], buffers, depth + 1))

    def block(self, loops: list[Var], buffers: list[Buffer], depth: int) -> Stmt:
        """A reduction block over some of the loops around it, the init at its start."""
        target = self.pick(*buffers[1:])
        iters: list[IterVar] = []
        values: list[Expr] = []
        for var in loops[-3:]:
            kind = self.pick("spatial", "reduce")
            own = Var(self.name("v"))
            iters.append(IterVar(own, Range(_const(0), _const(8)), kind))
            values.append(build.sub(5, var) if self.number(0, 5) == 0 else var)
        inside = [iv.var for iv in iters]
        spatial = [iv.var for iv in iters if iv.iter_type == "spatial"]
        indices = self.indices(target, spatial, buffers)
        op = self.pick(build.add, build.maximum)
        body: Stmt = BufferStore(target, op(BufferLoad(target, indices), self.value(inside, buffers)), indices)
        init: Stmt | None = BufferStore(target, build.const(1, self.dtype), indices) if self.number(0, 4) else None
        owned: tuple[Buffer, ...] = ()
        if self.number(0, 2) == 0:
            scratch = self.buffer(self.name("S"))
            owned = (scratch,)
            body = build.seq(
                [self.filled(scratch, inside, buffers), self.stmt(inside, [*buffers, scratch], depth + 1), body]
            )
        predicate = self.condition(loops, buffers) if self.number(0, 2) == 0 else build.TRUE
        block = Block(self.name("block"), tuple(iters), (), (), body, init, owned)
        return BlockRealize(tuple(values), predicate, block)

    def stmt(self, loops: list[Var], buffers: list[Buffer], depth: int = 0) -> Stmt:
        kinds = ["store", "store", "seq"]
        if depth < 4:
            kinds += ["loop"] * (5 - depth) + ["if", "alloc", "let", "block"]
        match self.pick(*kinds):
            case "loop":
                return self.loop(loops, buffers, depth)
            case "seq" if depth < 5:
                return build.seq([self.stmt(loops, buffers, depth + 1) for _ in range(2)])
            case "if":
                otherwise = self.stmt(loops, buffers, depth + 1) if self.number(0, 2) == 0 else None
                return IfThenElse(self.condition(loops, buffers), self.stmt(loops, buffers, depth + 1), otherwise)
            case "alloc":
                scratch = self.buffer(self.name("T"))
                first = self.filled(scratch, loops, buffers)
                return build.allocate((scratch,), build.seq([first, self.stmt(loops, [*buffers, scratch], depth + 1)]))
            case "let":
                var = Var(self.name("x"))
                value = self.index(loops, 6, buffers)
                if self.dtype != "float32" and self.number(0, 1):
                    value = build.floormod(build.cast(self.load(loops, buffers), "int32"), 6)
                return LetStmt(var, value, self.stmt([*loops, var], buffers, depth + 1))
            case "block" if loops:
                return self.block(loops, buffers, depth)
            case _:
                return self.store(loops, buffers)


@st.composite
def loop_programs(draw: st.DrawFn) -> PrimFunc:
    """A program of two to four loops; its parameters are an input "A", and "B" and "C" to be written, which hold values too."""
    writer = _Writer(draw)
    buffers = [writer.buffer(name) for name in ("A", "B", "C")]
    nests = [writer.loop([], buffers, 0) for _ in range(draw(st.integers(1, 2)))]
    handles = tuple(Var(f"p_{b.name}", "handle") for b in buffers)
    return PrimFunc("main", handles, tuple(zip(handles, buffers, strict=True)), build.seq(nests))
