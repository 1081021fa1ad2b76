"""Random programs for property tests: small, valid PrimFuncs like those that TVM builds from tensor expressions.

`programs()` draws from every family; each family is a separate strategy: `elementwise_programs`, `stencil_programs`,
`reduction_programs`, `argmax_programs`, `cascade_programs`, `matmul_programs`, `convolution_programs`, `transpose_programs`.
Every program has one root block, one loop nest a stage in text order, block iterators bound to plain loops, and blocks named
after the buffer they write, so that schedules can be drawn for them. Extents are small and often odd, so that uneven splits occur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from tilewright.engine.ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    And,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IterVar,
    LetStmt,
    Or,
    PrimFunc,
    Range,
    Select,
    Stmt,
    Var,
    build,
    structural_equal,
    walk,
)

INTEGER_DTYPES = ("int8", "uint8", "int32", "int64")
FLOAT_DTYPES = ("float32", "float64")


class ProgramBuilder:
    """Collects stages and builds the PrimFunc: inputs and outputs are parameters, other buffers belong to the root block."""

    def __init__(self, name: str = "main", index_dtype: str = "int32") -> None:
        self.name = name
        self.index_dtype = index_dtype
        self.inputs: list[Buffer] = []
        self.stages: list[tuple[Buffer, Stmt]] = []
        self._names: set[str] = {"root"}

    def fresh(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self._names:
            count += 1
            candidate = f"{name}_{count}"
        self._names.add(candidate)
        return candidate

    def index(self, value: int) -> Expr:
        return build.const(value, self.index_dtype)

    def buffer(self, name: str, shape: Sequence[int], dtype: str) -> Buffer:
        return Buffer(self.fresh(name), tuple(self.index(e) for e in shape), dtype)

    def input(self, name: str, shape: Sequence[int], dtype: str) -> Buffer:
        """An input parameter."""
        buffer = self.buffer(name, shape, dtype)
        self.inputs.append(buffer)
        return buffer

    def stage(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        value: Callable[..., Expr],
        *,
        reduce: Sequence[int] = (),
        combine: Callable[[Expr, Expr], Expr] | None = None,
        identity: Expr | None = None,
        reduce_first: bool = False,
    ) -> Buffer:
        """`name[spatial] = value(*spatial)`; with `reduce` `combine(name[spatial], value(*spatial, *reduced))`."""
        target = self.buffer(name, shape, dtype)
        iters = [self._iter("v_i", n, e, "spatial") for n, e in enumerate(shape)]
        iters += [self._iter("v_k", n, e, "reduce") for n, e in enumerate(reduce)]
        loops = [Var(iter_.var.name.removeprefix("v_"), self.index_dtype) for iter_ in iters]
        spatial = tuple(iter_.var for iter_ in iters[: len(shape)])
        computed = value(*(iter_.var for iter_ in iters))
        init: Stmt | None = None
        if combine is not None and identity is not None:
            computed = combine(BufferLoad(target, spatial), computed)
            init = BufferStore(target, identity, spatial)
        block = Block(
            target.name,
            tuple(iters),
            read_regions(computed, target if init else None),
            (BufferRegion(target, tuple(build.point(v) for v in spatial)),),
            BufferStore(target, computed, spatial),
            init,
        )
        body: Stmt = BlockRealize(tuple(loops), build.TRUE, block)
        order = list(zip(loops, iters, strict=True))
        if reduce_first:
            order = order[len(shape) :] + order[: len(shape)]
        for loop, iter_ in reversed(order):
            body = For(loop, self.index(0), iter_.dom.extent, "serial", body)
        self.stages.append((target, body))
        return target

    def _iter(self, prefix: str, number: int, extent: int, kind: str) -> IterVar:
        return IterVar(Var(f"{prefix}{number}", self.index_dtype), Range(self.index(0), self.index(extent)), kind)  # pyright: ignore[reportArgumentType]

    def finish(self, outputs: Sequence[Buffer]) -> PrimFunc:
        """The function; stages that are not `outputs` are allocated in the root block."""
        params = [*self.inputs, *outputs]
        inner = tuple(b for b, _ in self.stages if b not in outputs)
        body = build.seq([stmt for _, stmt in self.stages])
        root = BlockRealize((), build.TRUE, Block("root", (), (), (), body, alloc_buffers=inner))
        handles = tuple(Var(f"p_{b.name}", "handle") for b in params)
        return PrimFunc(self.name, handles, tuple(zip(handles, params, strict=True)), root)


def read_regions(value: Expr, target: Buffer | None) -> tuple[BufferRegion, ...]:
    """One region a buffer that `value` loads: the point where all loads agree, else the axis; no reduction target."""
    loads: dict[Buffer, list[BufferLoad]] = {}
    for node in walk(value):
        if isinstance(node, BufferLoad) and node.buffer is not target:
            loads.setdefault(node.buffer, []).append(node)
    # The index of a guarded load may be outside the buffer: such a point is no region of it.
    guarded = any(isinstance(node, Call) and node.op == "if_then_else" for node in walk(value))
    return tuple(BufferRegion(buffer, _hull(buffer, found, guarded)) for buffer, found in loads.items())


def _hull(buffer: Buffer, loads: list[BufferLoad], guarded: bool) -> tuple[Range, ...]:
    whole = build.full_region(buffer).region
    ranges: list[Range] = []
    for axis, full in enumerate(whole):
        first = loads[0].indices[axis]
        same = all(structural_equal(load.indices[axis], first) for load in loads)
        inside = not guarded or isinstance(first, Var)
        ranges.append(build.point(first) if same and inside else full)
    return tuple(ranges)


def shapes(axes: int, largest: int = 9) -> st.SearchStrategy[tuple[int, ...]]:
    """`axes` extents from 1 to `largest`."""
    return st.tuples(*[st.integers(1, largest)] * axes)


def dtypes(integers: bool = True, floats: bool = True) -> st.SearchStrategy[str]:
    return st.sampled_from((INTEGER_DTYPES if integers else ()) + (FLOAT_DTYPES if floats else ()))


def _constant(dtype: str, value: int) -> Expr:
    return build.const(abs(value) if dtype.startswith("uint") else value, dtype)


@st.composite
def _pointwise(draw: st.DrawFn, dtype: str, operands: Sequence[Expr]) -> Expr:
    """An expression that uses every operand once or more."""
    result = operands[0]
    for operand in operands[1:]:
        kind = draw(st.sampled_from([build.add, build.sub, build.mul, build.maximum, build.minimum]))
        result = kind(result, operand)
    for _ in range(draw(st.integers(0, 2))):
        match draw(st.sampled_from(["add", "mul", "max", "select", "math"])):
            case "add":
                result = build.add(result, _constant(dtype, draw(st.integers(-3, 3))))
            case "mul":
                result = build.mul(result, _constant(dtype, draw(st.integers(2, 3))))
            case "max":
                result = build.maximum(result, _constant(dtype, 0))
            case "select":
                result = build.select(build.lt(result, _constant(dtype, 1)), _constant(dtype, 2), result)
            case _:
                result = (
                    Call("tanh", (result,), dtype) if dtype in FLOAT_DTYPES else build.sub(_constant(dtype, 1), result)
                )
    return result


@st.composite
def elementwise_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """A chain or small graph of pointwise stages over 1 to 3 axes; some operands are broadcast along an axis."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    shape = draw(st.integers(1, 3).flatmap(shapes))
    b = ProgramBuilder(index_dtype=draw(st.sampled_from(["int32", "int32", "int64"])))
    sources: list[tuple[Buffer, tuple[int, ...]]] = [(b.input("A", shape, dtype), tuple(range(len(shape))))]
    if draw(st.booleans()):
        axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
        sources.append((b.input("bias", [shape[a] for a in axes], dtype), axes))
    stages: list[Buffer] = []
    for number in range(draw(st.integers(1, 4))):
        latest = sources[-1]
        others = draw(st.lists(st.sampled_from(sources), max_size=1))

        def value(*v: Var, picked: Sequence[tuple[Buffer, tuple[int, ...]]] = (latest, *others)) -> Expr:
            return draw(_pointwise(dtype, [BufferLoad(s, tuple(v[a] for a in axes)) for s, axes in picked]))

        stages.append(b.stage(f"T{number}", shape, dtype, value))
        sources.append((stages[-1], tuple(range(len(shape)))))
    outputs = [stages[-1]]
    if len(stages) > 1 and draw(st.booleans()):
        outputs.insert(0, stages[0])
    return b.finish(outputs)


@st.composite
def transpose_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """Copies under permuted axes with a pointwise stage before or after."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    shape = draw(st.integers(2, 3).flatmap(shapes))
    order = draw(st.permutations(range(len(shape))))
    b = ProgramBuilder()
    source = b.input("A", shape, dtype)
    if draw(st.booleans()):
        first = source
        source = b.stage("S", shape, dtype, lambda *v: draw(_pointwise(dtype, [BufferLoad(first, v)])))
    turned = [shape[axis] for axis in order]

    def moved(*v: Var) -> Expr:
        place = {axis: v[position] for position, axis in enumerate(order)}
        return BufferLoad(source, tuple(place[axis] for axis in range(len(shape))))

    result = b.stage("P", turned, dtype, moved)
    if draw(st.booleans()):
        permuted = result
        result = b.stage("R", turned, dtype, lambda *v: draw(_pointwise(dtype, [BufferLoad(permuted, v)])))
    return b.finish([result])


def _clamped(b: ProgramBuilder, index: Expr, extent: int) -> Expr:
    return build.maximum(build.minimum(index, b.index(extent - 1)), b.index(0))


@st.composite
def stencil_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """One to three neighbourhood stages over 1 or 2 axes; borders clamped, zero-padded, or cut off."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    shape = draw(st.integers(1, 2).flatmap(lambda n: st.tuples(*[st.integers(5, 11)] * n)))
    b = ProgramBuilder(name="stencil")
    source, extents = b.input("A", shape, dtype), list(shape)
    for number in range(draw(st.integers(1, 3))):
        axis = draw(st.integers(0, len(extents) - 1))
        border = draw(st.sampled_from(["clamp", "pad", "valid"]))
        taps = [0, 1] if border == "valid" else [-1, 0, 1]
        result = [e - 1 if n == axis and border == "valid" else e for n, e in enumerate(extents)]

        def value(
            *v: Var,
            source: Buffer = source,
            axis: int = axis,
            border: str = border,
            taps: list[int] = taps,
            extent: int = extents[axis],
        ) -> Expr:
            terms = [_tap(b, source, v, axis, tap, border, extent) for tap in taps]
            return build.add(build.add(terms[0], terms[1]), terms[2]) if len(terms) == 3 else build.add(*terms)

        source, extents = b.stage(f"blur{number}", result, dtype, value), result
    return b.finish([source])


def _tap(b: ProgramBuilder, source: Buffer, v: Sequence[Expr], axis: int, tap: int, border: str, extent: int) -> Expr:
    moved = build.add(v[axis], b.index(tap))
    index = _clamped(b, moved, extent) if border == "clamp" else moved
    load = BufferLoad(source, tuple(index if n == axis else x for n, x in enumerate(v)))
    if border != "pad" or tap == 0:
        return load
    inside = build.logical_and(build.le(0, moved), build.lt(moved, b.index(extent)))
    return build.if_then_else(inside, load, build.const(0, source.dtype))


@st.composite
def reduction_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """Sum, maximum or minimum over one or two axes; sometimes with a producer and a broadcasting consumer."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    kept = draw(st.integers(0, 2).flatmap(shapes)) or (1,)
    reduced = draw(st.integers(1, 2).flatmap(lambda n: shapes(n, 7)))
    full = (*kept, *reduced)
    b = ProgramBuilder(name="reduction")
    source = b.input("A", full, dtype)
    if draw(st.booleans()):
        first = source
        source = b.stage("S", full, dtype, lambda *v: draw(_pointwise(dtype, [BufferLoad(first, v)])))
    combine, identity = draw(st.sampled_from([(build.add, 0), (build.maximum, -100), (build.minimum, 100)]))
    total = b.stage(
        "R",
        kept,
        dtype,
        lambda *v: BufferLoad(source, v),
        reduce=reduced,
        combine=combine,
        identity=_constant(dtype, 0 if identity < 0 and dtype.startswith("uint") else identity),
        reduce_first=draw(st.booleans()),
    )
    outputs = [total]
    if draw(st.booleans()):
        outputs = [
            b.stage("D", full, dtype, lambda *v: build.sub(BufferLoad(source, v), BufferLoad(total, v[: len(kept)])))
        ]
    return b.finish(outputs)


@st.composite
def matmul_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """C = A @ B with A or B transposed or not, sums in a wider integer now and then, with or without an epilogue."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    m, n, k = draw(shapes(3, 12))
    transpose_a, transpose_b = draw(st.booleans()), draw(st.booleans())
    wide = "int32" if dtype == "int8" and draw(st.booleans()) else dtype
    b = ProgramBuilder(name="matmul")
    left = b.input("A", (k, m) if transpose_a else (m, k), dtype)
    right = b.input("B", (n, k) if transpose_b else (k, n), dtype)

    def product(i: Var, j: Var, r: Var) -> Expr:
        x = BufferLoad(left, (r, i) if transpose_a else (i, r))
        y = BufferLoad(right, (j, r) if transpose_b else (r, j))
        return build.mul(build.cast(x, wide), build.cast(y, wide))

    out = b.stage("C", (m, n), wide, product, reduce=(k,), combine=build.add, identity=build.const(0, wide))
    if draw(st.booleans()):
        bias, matmul = b.input("bias", (n,), wide), out
        out = b.stage("T_add", (m, n), wide, lambda i, j: build.add(BufferLoad(matmul, (i, j)), BufferLoad(bias, (j,))))
    if draw(st.booleans()):
        before = out
        out = b.stage(
            "relu", (m, n), wide, lambda i, j: build.maximum(BufferLoad(before, (i, j)), build.const(0, wide))
        )
    return b.finish([out])


@st.composite
def convolution_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """A 1-D or 2-D convolution of several channels with a stride, from a zero-padded copy or unpadded."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    dims = draw(st.integers(1, 2))
    channels, filters = draw(shapes(2, 3))
    stride, kernel = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    size = draw(st.integers(kernel, 7))
    b = ProgramBuilder(name="conv")
    source = b.input("X", (channels, *[size] * dims), dtype)
    weight = b.input("W", (filters, channels, *[kernel] * dims), dtype)
    if draw(st.booleans()):
        raw, inner = source, size

        def padded(*v: Var) -> Expr:
            inside = [build.logical_and(build.le(1, x), build.lt(x, b.index(inner + 1))) for x in v[1:]]
            load = BufferLoad(raw, (v[0], *(build.sub(x, b.index(1)) for x in v[1:])))
            return build.if_then_else(build.logical_and(*inside), load, build.const(0, dtype))

        size += 2
        source = b.stage("pad", (channels, *[size] * dims), dtype, padded)
    extent = (size - kernel) // stride + 1

    def term(*v: Var) -> Expr:
        filter_, place, channel, taps = v[0], v[1 : 1 + dims], v[1 + dims], v[2 + dims :]
        moved = [build.add(build.mul(p, b.index(stride)), t) for p, t in zip(place, taps, strict=True)]
        return build.mul(BufferLoad(source, (channel, *moved)), BufferLoad(weight, (filter_, channel, *taps)))

    out = b.stage(
        "Y",
        (filters, *[extent] * dims),
        dtype,
        term,
        reduce=(channels, *[kernel] * dims),
        combine=build.add,
        identity=build.const(0, dtype),
    )
    return b.finish([out])


@st.composite
def argmax_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """The best value of each row and its index, as TVM's argmax and argmin: with or without a rule for equal values."""
    dtype = dtype or draw(dtypes(floats=not integer_only).filter(lambda d: not d.startswith("uint")))
    rows, width = draw(shapes(2, 8))
    b = ProgramBuilder(name="argmax", index_dtype=draw(st.sampled_from(["int32", "int64"])))
    source = b.input("A", (rows, width), dtype)
    place, best = b.buffer("place", (rows,), "int32"), b.buffer("best", (rows,), dtype)
    v_i, v_k = Var("v_i", b.index_dtype), Var("v_k", b.index_dtype)
    old, term = BufferLoad(best, (v_i,)), BufferLoad(source, (v_i, v_k))
    old_place, new_place = BufferLoad(place, (v_i,)), build.cast(v_k, "int32")
    better, tie, worst = draw(
        st.sampled_from([(GE, None, -100), (LE, None, 100), (GT, LT, -100), (LT, LT, 100), (GT, GT, -100)])
    )
    wins = better(old, term)
    keeps = wins if tie is None else Or(wins, And(EQ(old, term), tie(old_place, new_place)))
    names = Var("v_place", "int32"), Var("v_best", dtype)
    stores = [BufferStore(place, names[0], (v_i,)), BufferStore(best, names[1], (v_i,))]
    body: Stmt = LetStmt(names[1], Select(wins, old, term), build.seq(stores))
    body = LetStmt(names[0], Select(keeps, old_place, new_place), body)
    init = [BufferStore(place, build.const(-1, "int32"), (v_i,)), BufferStore(best, build.const(worst, dtype), (v_i,))]
    block = Block(
        "argmax",
        (IterVar(v_i, Range(b.index(0), b.index(rows))), IterVar(v_k, Range(b.index(0), b.index(width)), "reduce")),
        (BufferRegion(source, (build.point(v_i), build.point(v_k))),),
        tuple(BufferRegion(t, (build.point(v_i),)) for t in (place, best)),
        body,
        build.seq(init),
    )
    i, k = Var("i", b.index_dtype), Var("k", b.index_dtype)
    order = [(i, rows), (k, width)]
    nest: Stmt = BlockRealize((i, k), build.TRUE, block)
    for loop, extent in order if draw(st.booleans()) else reversed(order):
        nest = For(loop, b.index(0), b.index(extent), "serial", nest)
    b.stages += [(place, nest), (best, build.seq([]))]
    out = b.stage("D", (rows,), "int32", lambda i: build.add(BufferLoad(place, (i,)), build.const(1, "int32")))
    return b.finish([out, best] if draw(st.booleans()) else [place, best, out])


@st.composite
def cascade_programs(draw: st.DrawFn, dtype: str | None = None, integer_only: bool = False) -> PrimFunc:
    """Sums or maxima over windows of windows, with strides, which are computed in overlapping tiles."""
    dtype = dtype or draw(dtypes(floats=not integer_only))
    dims, stages = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    channels = draw(shapes(draw(st.integers(0, 1)), 2))
    windows = [(draw(st.integers(1, 3)), draw(st.sampled_from((1, 1, 2)))) for _ in range(stages)]
    sizes = [draw(st.integers(3, 7))]
    for window, stride in reversed(windows):
        sizes.insert(0, (sizes[0] - 1) * stride + window)
    b = ProgramBuilder(name="cascade", index_dtype=draw(st.sampled_from(["int32", "int32", "int64"])))
    source = b.input("A", (*channels, *[sizes[0]] * dims), dtype)
    for number, (window, stride) in enumerate(windows):

        def moved(*v: Var, source: Buffer = source, stride: int = stride) -> Expr:
            place, taps = v[len(channels) : len(channels) + dims], v[len(channels) + dims :]
            at = [build.add(build.mul(p, b.index(stride)), t) for p, t in zip(place, taps, strict=True)]
            return BufferLoad(source, (*v[: len(channels)], *at))

        combine, identity = draw(st.sampled_from([(build.add, 0), (build.maximum, -100)]))
        source = b.stage(
            f"W{number}",
            (*channels, *[sizes[number + 1]] * dims),
            dtype,
            moved,
            reduce=[window] * dims,
            combine=combine,
            identity=_constant(dtype, 0 if dtype.startswith("uint") else identity),
        )
    return b.finish([source])


def programs(integer_only: bool = False) -> st.SearchStrategy[PrimFunc]:
    """Any of the families. With `integer_only`, integer data, so that every schedule must be bit-equal."""
    families = (
        elementwise_programs,
        stencil_programs,
        reduction_programs,
        matmul_programs,
        convolution_programs,
        transpose_programs,
        argmax_programs,
        cascade_programs,
    )
    return st.one_of(*(family(integer_only=integer_only) for family in families))
