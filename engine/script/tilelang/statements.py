"""TileLang's statements: the launch of a kernel, allocations, loops and tile operations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...arith import prove_equal
from ...ir import (
    NE,
    Annotations,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    NodeAttr,
    Place,
    Stmt,
    Var,
    build,
    walk,
)
from ..reading.blocks import unique_name
from ..reading.expressions import difference
from ..reading.helpers import in_macro
from ..reading.intrinsics import parameters
from ..reading.loops import header
from ..reading.reader import Item
from ..reading.source import Source
from ..reading.statements import StatementReader
from ..subset.scope import Foreign, Value
from ..subset.values import Function
from .blocks import Axis, block, outside, ranges_of, seen_through
from .expressions import TileExpressions
from .operations import OPERATIONS
from .regions import Tile

_SCOPES = {
    "alloc_shared": "shared.dyn",
    "alloc_fragment": "local.fragment",
    "alloc_local": "local",
    "alloc_global": "global",
    "alloc_tmem": "shared.tmem",
}
"""Allocations with their default scopes."""
_LOOPS: dict[str, ForKind] = {
    "Pipelined": "serial", "serial": "serial", "Serial": "serial", "unroll": "unrolled", "Unroll": "unrolled",
    "vectorized": "vectorized", "Vectorized": "vectorized",
}  # fmt: skip
_HINTS = (
    "use_swizzle", "annotate_layout", "annotate_l2_hit_ratio", "annotate_safe_value", "disable_warp_group_reg_alloc", "set_max_nreg",
    "dec_max_nreg", "inc_max_nreg", "no_set_max_nreg", "sync_threads", "sync_warp", "device_assert", "print", "import_source", "pdl_sync",
    "pdl_trigger", "annotate_padding", "sync_grid", "fence_proxy_async", "sync_global", "annotate_restrict_buffers",
    "annotate_compile_flags", "annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc", "assume", "ptx_fence_barrier_init",
    "barrier_init", "mbarrier_wait_parity", "mbarrier_arrive", "mbarrier_expect_tx", "barrier_wait", "barrier_arrive", "wait_wgmma",
    "warpgroup_arrive", "warpgroup_commit_batch", "warpgroup_wait", "warpgroup_fence_operand", "tcgen05_mma_arrive", "tcgen05_after_thread_sync",
    "tcgen05_before_thread_sync", "deallocate_tmem", "tma_store_arrive", "tma_store_wait", "create_list_of_mbarrier", "syncthreads",
    "clc_try_cancel", "fence_view_async_shared", "cp_async_barrier_noinc", "ptx_wait_group", "ptx_commit_group", "cluster_sync",
)  # fmt: skip
"""Statements without an effect on what a kernel computes: placement in caches and registers, layouts, synchronisation, output."""
_BARRIERS = ("alloc_barrier", "alloc_cluster_barrier", "alloc_descriptor", "alloc_tcgen05_instr_desc", "alloc_wgmma_desc", "alloc_tcgen05_smem_desc")
GRID = ("x", "y", "z")
THREADS = "tl.launch_threads"
STAGES = "num_stages"
WARP_GROUP = "tl.warp_group"


class Barrier(Foreign):
    """A barrier, or a descriptor of an instruction: no values are computed from it."""

    __slots__ = ()


class TileReader(StatementReader):
    """Translates the statements of TileLang kernels."""

    exprs: TileExpressions

    def __init__(self, source: Source, *, current: bool) -> None:
        super().__init__(source, current=current)
        self.exprs = TileExpressions(source, self.positions)

    def begin_function(self) -> None:
        super().begin_function()
        self.launch: Annotations = ()  # the number of threads of the printed kernel that is read
        self.following: list[list[ast.stmt]] = []  # the bodies around the statement that is read
        self.at: ast.stmt | None = None
        self.tensors: dict[str, Buffer] = {}  # those that an eager kernel declares in its body
        self.outputs: list[Buffer] = []
        self.reducers: dict[Buffer, str] = {}  # what each reducer combines its updates by
        self.views: dict[Buffer, Buffer] = {}  # the buffers whose elements others name in another shape
        self.constants: Mapping[str, Value] = {}  # values of the sizes that an eager kernel takes from its tensors

    # --- blocks

    def block(
        self, hint: str, axes: Sequence[Axis], body: Stmt, *, conditions: Sequence[Expr] = (), sums: bool = False
    ) -> Stmt:
        """Return the block of an operation in its loops."""
        name = unique_name(hint, self.block_names)
        body = seen_through(body, self.views) if self.views else body
        conditions = [seen_through(c, self.views) for c in conditions] if self.views else conditions
        return block(name, self.loops, axes, body, conditions=conditions, sums=sums)

    def store(self, buffer: Buffer, value: Expr, indices: tuple[Expr, ...], place: Place) -> Stmt:
        kept = outside(buffer, indices, ranges_of(self.loops)) if buffer.scope == "global" else []
        return self.placed(self.block(buffer.name, (), BufferStore(buffer, value, indices), conditions=kept), place)

    def placed(self, stmt: Stmt, place: Place) -> Stmt:
        """Record the place of a statement and of all blocks and loops in it."""
        for node in walk(stmt):
            if isinstance(node, Stmt):
                self.positions.add(node, place)
        return stmt

    def when(self, condition: ast.expr, make: Callable[[], Stmt]) -> list[Stmt]:
        """Return a statement under a condition, which may be a constant."""
        test = self.exprs.value(condition)
        if isinstance(test, Expr) and not isinstance(test, IntImm):
            return [IfThenElse(self.exprs.as_condition(test, condition), make())]
        return [make()] if (test.value if isinstance(test, IntImm) else test) else []

    # --- sequences

    def body(self, nodes: list[ast.stmt]) -> Stmt:
        self.following.append(nodes)
        try:
            return super().body(nodes)
        finally:
            self.following.pop()

    def statement(self, node: ast.stmt, *, is_last: bool) -> Item | None:
        self.at = node
        return super().statement(node, is_last=is_last)

    def _rare(self, node: ast.stmt) -> Item | None:
        if isinstance(node, ast.Return) and self.tensors:
            return None  # the outputs of an eager kernel
        return super()._rare(node)

    # --- launches

    def _with(self, node: ast.With, *, is_last: bool) -> Item | None:
        item = node.items[0]
        call, function = item.context_expr, self.exprs.called(item.context_expr)
        if isinstance(call, ast.Call) and function in ("T.Kernel", "T.ClusterKernel"):
            return self._kernel(node, call, item.optional_vars)
        if isinstance(call, ast.Call) and function == "T.sblock" and ast.unparse(call).startswith("T.sblock('tilelang_root')"):
            return self.body(node.body)
        if isinstance(call, ast.Call) and function == "T.ws":
            group = self.exprs.carried(call)
            assert group is not None
            return self.mark(NodeAttr(group, WARP_GROUP, build.const(0, "int32"), self.nested_body(node.body)), self.source.header(node))
        return super()._with(node, is_last=is_last)

    def _kernel(self, node: ast.With, call: ast.Call, target: ast.expr | None) -> Stmt:
        """Read `with T.Kernel(m, n, threads=128) as (bx, by):`: a block of threads for each point of the grid."""
        extents = [self.exprs.index(argument) for argument in call.args]
        names = [] if target is None else target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        if len(extents) > len(GRID) or len(names) > len(extents):
            raise self.source.error(call, "wrong-arguments", f"{len(extents)} extents of a grid for {len(names)} names",
                                    expected="at most three extents, and a name for each")  # fmt: skip
        threads = next((k.value for k in call.keywords if k.arg == "threads"), None)
        loops: list[For] = []
        place = self.source.header(node)
        with self.exprs.scope.nested():
            for number, extent in enumerate(extents):
                name = names[number].id if number < len(names) and isinstance(names[number], ast.Name) else f"b{GRID[number]}"
                var = Var(name, extent.dtype)
                notes = self._threads(threads) if number == len(extents) - 1 else ()
                empty = Evaluate(build.const(0, "int32"))
                loops.append(For(var, build.const(0, extent.dtype), extent, "thread_binding", empty, f"blockIdx.{GRID[number]}", notes))
                self.loops[var] = loops[-1]
                self.exprs.define(name, var, names[number] if number < len(names) else call)
            body = self.nested_body(node.body)
        for loop in loops:
            del self.loops[loop.loop_var]
        made = build.nest(loops, body)
        inner = made
        for _ in loops:
            assert isinstance(inner, For)
            inner = self.mark(inner, place).body
        return made

    def _threads(self, node: ast.expr | None) -> Annotations:
        """Return the number of threads along each axis as an annotation."""
        if node is None:
            return ()
        value = self.exprs.require_known(self.exprs.value(node), node)
        counts = [self.exprs.as_expr(v, node) for v in (value if isinstance(value, tuple | list) else (value,)) if v is not None]
        return ((THREADS, tuple([*counts, IntImm(1), IntImm(1)][:3])),) if counts else ()

    # --- assignments

    def _assign(self, node: ast.Assign) -> Item | None:
        if len(node.targets) > 1:
            made = [self._assign(ast.copy_location(ast.Assign([target], node.value), node)) for target in node.targets]
            return build.seq([item for item in made if isinstance(item, Stmt)])
        target, call = node.targets[0], node.value
        function = (self.exprs.called(call) or "").removeprefix("T.")
        if isinstance(target, ast.Name) and isinstance(call, ast.Call):
            if function in _SCOPES:
                return self._alloc(target, call, function)
            if function == "alloc_reducer":
                return self._reducer(target, call)
            if function == "alloc_var":
                return self._variable(target, call)
            if function in _BARRIERS:
                self.exprs.define(target.id, Barrier(), target)
                return None
            if function in ("view", "reshape"):
                return self._viewed(target, call)
            if function == "Tensor":
                return self._placed_view(target, call)
            if function == "empty":
                return self._output(target, call)
            if function == "get_thread_binding":
                raise self.source.error(call, "unsupported", "code for single threads is not supported yet", expected="T.Parallel")
        if function == "const":
            return self._sizes(target, self.exprs.value(call))
        if isinstance(target, ast.Tuple | ast.List) and function:
            values = self.exprs.require_known(self.exprs.value(call), call)
            many = values if isinstance(values, tuple | list) else (values,)
            for name, value in zip(self._names(target), many, strict=True):
                self.exprs.define(name.id, value, name)
            return None
        return super()._assign(node)

    def _sizes(self, target: ast.expr, found: Value) -> None:
        """Read `M, N = T.const("M, N")`: sizes that are given, or stay symbolic."""
        sizes = found if isinstance(found, tuple) else (found,)
        for name, size in zip(self._names(target), sizes, strict=True):
            known = self.constants.get(size.name) if isinstance(size, Var) else None
            self.exprs.define(name.id, size if known is None else known, name)

    def _alloc(self, name: ast.Name, call: ast.Call, function: str) -> Item | None:
        shape, dtype, scope = parameters(self.exprs, call, ("shape", "dtype", "scope"), 2)
        assert shape is not None and dtype is not None
        where = _SCOPES[function] if scope is None else self.exprs.string(scope)
        buffer = Buffer(name.id, self._shape(shape), self.exprs.dtype(dtype), "shared" if where == "shared" else where)
        self._keep(buffer, name)
        return None

    def _reducer(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `acc = T.alloc_reducer(shape, dtype, op="sum")`: partial results that the threads combine at the end."""
        shape, dtype, op, _ = parameters(self.exprs, call, ("shape", "dtype", "op", "replication"), 2)
        assert shape is not None and dtype is not None
        buffer = Buffer(name.id, self._shape(shape), self.exprs.dtype(dtype), "local.fragment")
        self.reducers[buffer] = "sum" if op is None else self.exprs.string(op)
        self._keep(buffer, name)
        return None

    def _keep(self, buffer: Buffer, name: ast.Name) -> None:
        self.frame.alloc_buffers.append(buffer)
        self.exprs.define(name.id, buffer, name)

    def _shape(self, node: ast.expr) -> tuple[Expr, ...]:
        value = self.exprs.require_known(self.exprs.value(node), node)
        items = value if isinstance(value, tuple | list) else (value,)
        return tuple(self.exprs.as_expr(item, node) for item in items)

    def _variable(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `x = T.alloc_var("int32", init=0)`: a scalar of each thread that can be assigned."""
        dtype, first, second = parameters(self.exprs, call, ("dtype", "init", "scope"), 1)
        assert dtype is not None
        buffer = Buffer(name.id, (IntImm(1),), self.exprs.dtype(dtype), "local.var")
        self._keep(buffer, name)
        if first is None or isinstance(self.exprs.value(first), str):
            return None
        return self.store(buffer, build.cast(self.exprs.expr(first), buffer.dtype), (IntImm(0),), self.source.place(call))

    def _viewed(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `B = T.reshape(A, shape)`: another shape for the elements of a buffer."""
        source, shape, dtype = parameters(self.exprs, call, ("src", "shape", "dtype"), 1)
        assert source is not None
        owner = self.exprs.value(source)
        if not isinstance(owner, Buffer) or (dtype is not None and self.exprs.dtype(dtype) != owner.dtype):
            raise self.source.error(call, "unsupported", "a view with elements of another type is not supported", expected="the type of the buffer")
        extents = owner.shape if shape is None else self._shape(shape)
        if not prove_equal(_count(extents), _count(owner.shape)):
            raise self.source.error(call, "out-of-range", "the view has another number of elements than its buffer", expected="as many elements")
        self._alias(name, owner, extents)
        return None

    def _placed_view(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `B = T.Tensor(shape, dtype, A.data)`: another shape for the beginning of a buffer."""
        shape, dtype, data = parameters(self.exprs, call, ("shape", "dtype", "data"), 3)
        assert shape is not None and dtype is not None and data is not None
        address = self.exprs.value(data)
        if not isinstance(address, BufferData) or self.exprs.dtype(dtype) != address.buffer.dtype:
            raise self.source.error(call, "unsupported", "a view with elements of another type is not supported", expected="the type of the buffer")
        self._alias(name, address.buffer, self._shape(shape))
        return None

    def _alias(self, name: ast.Name, owner: Buffer, shape: tuple[Expr, ...]) -> None:
        view = Buffer(name.id, shape, owner.dtype, owner.scope)
        self.views[view] = owner
        self.exprs.define(name.id, view, name)

    def _output(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `C = T.empty((M, N), dtype)`: an output of an eager kernel."""
        shape, dtype = call.args[:1] or [k.value for k in call.keywords if k.arg == "shape"], call.args[1:]
        named = [k.value for k in call.keywords if k.arg == "dtype"]
        if len(call.args) > 2 or (named and len(call.args) > 1):
            shape, dtype = [ast.copy_location(ast.Tuple(list(call.args if named else call.args[:-1]), ast.Load()), call)], call.args[-1:]
        kind = self.exprs.dtype((named or dtype)[0]) if named or dtype else "float32"
        buffer = Buffer(name.id, self._shape(shape[0]), kind)
        self.outputs.append(buffer)
        self.exprs.define(name.id, buffer, name)
        return None

    def _annotated(self, node: ast.AnnAssign) -> Item | None:
        if node.value is None and isinstance(node.target, ast.Name):
            buffer = tensor(self.exprs, node.target.id, node.annotation)
            if buffer is not None:
                self.tensors[buffer.name] = buffer
                self.exprs.define(buffer.name, buffer, node.target)
                return None
        if node.value is not None and (self.exprs.called(node.value) or "").startswith("T.launch_thread"):
            return None
        return super()._annotated(node)

    def _bind(self, name: ast.Name, value_node: ast.expr, dtype: str | None = None) -> Item | None:
        """Read `x = value`: an assignment of a variable, else another name for the value, which is computed once."""
        known = self.exprs.scope.get(name.id)
        place = self.source.place(name)
        if isinstance(known, Buffer) and known.scope == "local.var":
            return self.store(known, build.cast(self.exprs.expr(value_node), known.dtype), (IntImm(0),), place)
        value = self.exprs.require_known(self.exprs.value(value_node), value_node)
        if not isinstance(value, Expr) or not self._is_changed(value):
            self.exprs.define(name.id, value if dtype is None else build.cast(self.exprs.as_expr(value, value_node), dtype), name)
            return None
        buffer = Buffer(name.id, (IntImm(1),), dtype or value.dtype, "local.var")
        self._keep(buffer, name)
        return self.store(buffer, build.cast(value, buffer.dtype), (IntImm(0),), place)

    def _is_changed(self, value: Expr) -> bool:
        """Whether the statements that follow may write what a value loads."""
        loaded = {node.buffer for node in walk(value) if isinstance(node, BufferLoad)}
        if not loaded:
            return False
        body = self.following[-1]
        rest = body[body.index(self.at) + 1 :] if self.at in body else body
        return any(self._buffer_of(name) in loaded for name in _written_names(rest))

    def _buffer_of(self, name: str) -> Buffer | None:
        match self.exprs.scope.get(name):
            case Buffer() as buffer:
                return buffer
            case Tile(buffer=buffer) | BufferLoad(buffer=buffer):
                return buffer
            case _:
                return None

    def _augmented(self, node: ast.AugAssign) -> Item | None:
        known = self.exprs.scope.get(node.target.id) if isinstance(node.target, ast.Name) else None
        if isinstance(node.target, ast.Name) and isinstance(known, Buffer) and known.scope == "local.var":
            sum_ = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(node.target.id, ast.Load()), node), node.op, node.value), node)
            return self._bind(node.target, sum_)
        return super()._augmented(node)

    # --- operations

    def _expression(self, node: ast.Expr) -> Item | None:
        function = (self.exprs.called(node.value) or "").removeprefix("T.")
        read = OPERATIONS.get(function)
        if read is not None and isinstance(node.value, ast.Call):
            made = read(self, node.value)
            return None if made is None else self.placed(made, self.source.place(node))
        if function in _HINTS:
            return None
        made = self._called_macro(node)
        if made is not None:
            return self._macro(made, node)
        return super()._expression(node)

    def _called_macro(self, node: ast.Expr) -> Function | None:
        """Return the macro that a call of another value calls, such as one that a function of the text returns."""
        if not isinstance(node.value, ast.Call) or self.exprs.called(node.value) is not None or isinstance(node.value.func, ast.Name):
            return None
        value = self.exprs.value(node.value.func)
        return value if isinstance(value, Function) else None

    def _if(self, node: ast.If) -> Stmt | None:
        test = self.exprs.value(node.test)
        if isinstance(test, IntImm):
            test = test.value
        if not isinstance(test, Expr):
            return self._same_scope(node.body if test else node.orelse)
        zero = build.const(0, test.dtype)
        condition = test if test.dtype == "bool" else build.compare(NE, test, zero)
        otherwise = self.nested_body(node.orelse) if node.orelse else None
        return self.mark(IfThenElse(condition, self.nested_body(node.body), otherwise), self.source.header(node))

    def _same_scope(self, nodes: list[ast.stmt]) -> Stmt | None:
        """Read statements that run in the scope around them: the branch of a condition that is known, or the body of a macro."""
        self.following.append(nodes)
        found = [self.statement(node, is_last=False) for node in nodes]
        self.following.pop()
        stmts = [item for item in found if isinstance(item, Stmt)]
        if len(stmts) != len([item for item in found if item is not None]):
            raise self.source.error(nodes[0], "unsupported", "a declaration is not supported here", expected="tile operations")
        return build.seq(stmts) if stmts else None

    def _macro(self, macro: Function, node: ast.Expr) -> Item | None:
        assert isinstance(macro.node, ast.FunctionDef) and isinstance(node.value, ast.Call)
        with in_macro(self.exprs, macro, node.value):
            return self._same_scope(macro.node.body)

    def _assert(self, node: ast.Assert) -> Item | None:
        """Read an assertion on constants; one on sizes is passed over."""
        test = self.exprs.value(node.test)
        if not isinstance(test, Expr) and not test:
            raise self.source.error(node, "out-of-range", "the assertion does not hold for these values", expected="values for which it holds")
        return None

    # --- loops

    def headers(self, node: ast.expr) -> tuple[list[For], Expr | None]:
        function = (self.exprs.called(node) or "").removeprefix("T.")
        if isinstance(node, ast.Call) and function == "Parallel":
            return [header(build.const(0, e.dtype), e, "parallel") for e in map(self.exprs.index, node.args)], None
        if isinstance(node, ast.Call) and function in _LOOPS:
            return self._loop(node, _LOOPS[function])
        return super().headers(node)

    def _loop(self, node: ast.Call, kind: ForKind) -> tuple[list[For], Expr | None]:
        """Read `T.Pipelined(start, stop, num_stages=3)` and the other loops with the arguments of range."""
        names = ("start", "stop", "num_stages", "order", "stage") if (self.exprs.called(node) or "").endswith("Pipelined") else ("start", "stop", "step")
        options = ("explicit", "annotations", "sync", "group")
        kept = [k for k in node.keywords if k.arg not in options]
        call = ast.copy_location(ast.Call(node.func, node.args, kept), node)
        given = dict(zip(names, parameters(self.exprs, call, names, 1), strict=True))
        start, stop = given["start"], given["stop"]
        assert start is not None
        low, end = (self.exprs.index(start), self.exprs.index(stop)) if stop is not None else (None, self.exprs.index(start))
        notes: Annotations = ()
        stages = given.get("num_stages")
        if stages is not None and not build.is_const(count := self.exprs.index(stages), 0):
            notes = ((STAGES, count),)
        step = self.exprs.index(given["step"]) if given.get("step") is not None else None
        if low is None:
            return [header(build.const(0, end.dtype), end, kind, None, notes)], step
        low, end = build.match_dtypes(low, end)
        return [header(low, difference(end, low), kind, None, notes)], step


def _count(shape: Sequence[Expr]) -> Expr:
    """Return the number of elements of a shape."""
    total: Expr = IntImm(1)
    for extent in shape:
        total = build.mul(total, extent)
    return total


def _written_names(nodes: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements may write: those of stores, and of arguments of called operations."""
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript | ast.Name) and isinstance(part.ctx, ast.Store):
                root = part.value if isinstance(part, ast.Subscript) else part
                found |= {root.id} if isinstance(root, ast.Name) else set()
            if isinstance(part, ast.Expr):
                found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    return found


def tensor(reader: TileExpressions, name: str, node: ast.expr) -> Buffer | None:
    """Read the type of a tensor, `T.Tensor((M, K), "float16")` or `T.Tensor[[M, K], T.float16]`; None for other types."""
    match node:
        case ast.Call(func=func, args=[shape, *rest]):
            dtype = next((k.value for k in node.keywords if k.arg == "dtype"), rest[-1] if rest else None)
        case ast.Subscript(value=func, slice=ast.Tuple(elts=[shape, dtype])):
            pass
        case _:
            return None
    if reader.script_name(func) not in TENSORS:
        return None
    value = reader.require_known(reader.value(shape), shape)
    items = value if isinstance(value, tuple | list) else (value,)
    kind = "float32" if dtype is None else reader.dtype(dtype)
    return Buffer(name, tuple(reader.as_expr(item, shape) for item in items), kind)


TENSORS = ("T.Tensor", "T.Buffer", "T.StridedTensor", "T.FragmentBuffer", "T.SharedBuffer", "T.LocalBuffer")

__all__ = ["TENSORS", "TileReader", "tensor"]
