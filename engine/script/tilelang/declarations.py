"""TileLang's declarations: allocations, parameters, views of buffers, and names of values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ...arith import prove_equal
from ...ir import (
    Annotations,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    DeclBuffer,
    Expr,
    IntImm,
    Stmt,
    Var,
    build,
    walk,
)
from ..reading.buffers import declaration, read_buffer
from ..reading.intrinsics import parameters
from ..reading.reader import Item, Wrapper, compose
from ..subset.scope import Value
from .ascend.memories import ALLOCATIONS
from .expressions import Synchroniser, TileExpressions
from .names import THREADS
from .persistent import PersistentReader
from .schedulers import Scheduler

_SCOPES = {
    "alloc_shared": "shared.dyn",
    "alloc_fragment": "local.fragment",
    "alloc_local": "local",
    "alloc_global": "global",
    "alloc_tmem": "shared.tmem",
}
"""Allocations with their default scopes."""
_PRIVATE = ("local", "local.var")
"""Scopes of buffers that each thread has for itself."""
_DESCRIPTORS = (
    "alloc_descriptor",
    "alloc_tcgen05_instr_desc",
    "alloc_wgmma_desc",
    "alloc_tcgen05_smem_desc",
    "Fragment",
    "Layout",
)
"""Objects that instructions and layouts take: no values are computed from them."""


class DeclarationReader(PersistentReader):
    """Reads allocations and assignments."""

    def _assign(self, node: ast.Assign) -> Item | None:
        if len(node.targets) > 1:
            made = [self._assign(ast.copy_location(ast.Assign([target], node.value), node)) for target in node.targets]
            return build.seq([item for item in made if isinstance(item, Stmt)])
        target, call = node.targets[0], node.value
        if (
            isinstance(target, ast.Tuple)
            and isinstance(call, ast.Tuple)
            and any(isinstance(e, ast.Subscript) for e in target.elts)
        ):
            return self._elements(node, target, call)
        function = (self.exprs.called(call) or "").removeprefix("T.")
        if isinstance(target, ast.Name) and isinstance(call, ast.Call):
            if function in _SCOPES or function in ALLOCATIONS:
                return self._alloc(target, call, function)
            if function == "alloc_reducer":
                return self._reducer(target, call)
            if function == "alloc_var":
                return self._variable(target, call)
            if function in _DESCRIPTORS:
                self.exprs.define(target.id, Synchroniser(), target)
                return None
            if function in ("alloc_barrier", "alloc_cluster_barrier"):
                self._barrier(target, call, has_counts=function == "alloc_barrier")
                return None
            if function == "PersistentTileScheduler":
                self.exprs.define(target.id, self.made_scheduler(target, call), target)
                return None
            if function in ("view", "reshape"):
                return self._viewed(target, call)
            if function == "Tensor":
                return self._placed_view(target, call)
            if function == "empty":
                return self._output(target, call)
        if function == "const":
            return self._sizes(target, self.exprs.value(call))
        if isinstance(target, ast.Tuple | ast.List) and function:
            values = self.exprs.require_known(self.exprs.value(call), call)
            many = values if isinstance(values, tuple | list) else (values,)
            for name, value in zip(self._names(target), many, strict=True):
                self.exprs.define(name.id, value, name)
            return None
        return super()._assign(node)

    def _elements(self, node: ast.Assign, target: ast.Tuple, values: ast.Tuple) -> Item | None:
        """Read `A[0], A[1] = A[1], A[0]`: all values are computed before the first is stored."""
        if len(target.elts) != len(values.elts) or not all(isinstance(e, ast.Subscript) for e in target.elts):
            raise self.source.error(
                node, "unsupported", "this assignment is not supported", expected="as many elements as values"
            )
        first: list[Stmt] = []
        after: list[Item] = []
        for element, value_node in zip(target.elts, values.elts, strict=True):
            value = self.exprs.expr(value_node)
            name = ast.copy_location(ast.Name("moved", ast.Load()), value_node)
            if any(isinstance(part, BufferLoad) for part in walk(value)):
                kept = self.own("moved", value.dtype)
                first.append(self.store(kept, value, (IntImm(0),), self.source.place(value_node)))
                value = BufferLoad(kept, (IntImm(0),))
            with self.exprs.scope.nested():
                self.exprs.scope.define("moved", value)
                stored = self._assign(ast.copy_location(ast.Assign([element], name), node))
            after += [] if stored is None else [stored]
        return compose([*first, *after])

    def _sizes(self, target: ast.expr, found: Value) -> None:
        """Read `M, N = T.const("M, N")`: sizes that are given, or stay symbolic."""
        sizes = found if isinstance(found, tuple) else (found,)
        for name, size in zip(self._names(target), sizes, strict=True):
            known = self.constants.get(size.name) if isinstance(size, Var) else None
            self.exprs.define(name.id, size if known is None else known, name)

    def _alloc(self, name: ast.Name, call: ast.Call, function: str) -> Item | None:
        shape, dtype, scope = parameters(self.exprs, call, ("shape", "dtype", "scope"), 2)
        assert shape is not None and dtype is not None
        where = _SCOPES.get(function, "shared") if scope is None else self.exprs.string(scope)
        where = self.scope_of(name.id, function, where)
        buffer = Buffer(name.id, self.shape(shape), self.exprs.dtype(dtype), "shared" if where == "shared" else where)
        self.keep(buffer, name)
        return None

    def _reducer(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `acc = T.alloc_reducer(shape, dtype, op="sum")`: partial results that the threads combine at the end."""
        shape, dtype, op, _ = parameters(self.exprs, call, ("shape", "dtype", "op", "replication"), 2)
        assert shape is not None and dtype is not None
        buffer = Buffer(name.id, self.shape(shape), self.exprs.dtype(dtype), "local.fragment")
        self.reducers[buffer] = "sum" if op is None else self.exprs.string(op)
        self.keep(buffer, name)
        return None

    def scope_of(self, name: str, function: str, scope: str) -> str:
        """Return the scope of an allocation, if it does not follow from the call alone."""
        return scope

    def is_private(self, buffer: Buffer) -> bool:
        """Whether each unit has its own copy of a buffer."""
        return buffer.scope in _PRIVATE and buffer.name in self.divergent

    def keep(self, buffer: Buffer, name: ast.Name) -> None:
        made = buffer
        if self.lanes is not None and self.is_private(buffer):
            made = self.private[buffer] = self.lanes.wide(buffer)
        self.frame.alloc_buffers.append(made)
        self.allocated[name.id] = buffer
        self.exprs.define(name.id, buffer, name)

    def shape(self, node: ast.expr) -> tuple[Expr, ...]:
        value = self.exprs.require_known(self.exprs.value(node), node)
        items = value if isinstance(value, tuple | list) else (value,)
        nodes = (
            node.elts
            if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(items)
            else [node] * len(items)
        )
        return tuple(self.exprs.as_expr(item, part) for item, part in zip(items, nodes, strict=True))

    def _variable(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `x = T.alloc_var("int32", init=0)`: a scalar of each thread that can be assigned."""
        dtype, first, _ = parameters(self.exprs, call, ("dtype", "init", "scope"), 1)
        assert dtype is not None
        buffer = Buffer(name.id, (IntImm(1),), self.exprs.dtype(dtype), "local.var")
        self.keep(buffer, name)
        if first is None or isinstance(self.exprs.value(first), str):
            return None
        return self.store(
            buffer, build.cast(self.exprs.expr(first), buffer.dtype), (IntImm(0),), self.source.place(call)
        )

    def _output(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `C = T.empty((M, N), dtype)`: an output of an eager kernel."""
        shape, dtype = call.args[:1] or [k.value for k in call.keywords if k.arg == "shape"], call.args[1:]
        named = [k.value for k in call.keywords if k.arg == "dtype"]
        if len(call.args) > 2 or (named and len(call.args) > 1):
            shape, dtype = (
                [ast.copy_location(ast.Tuple(list(call.args if named else call.args[:-1]), ast.Load()), call)],
                call.args[-1:],
            )
        kind = self.exprs.dtype((named or dtype)[0]) if named or dtype else "float32"
        buffer = Buffer(name.id, self.shape(shape[0]), kind)
        self.outputs.append(buffer)
        self.exprs.define(name.id, buffer, name)
        return None

    def _barrier(self, name: ast.Name, call: ast.Call, *, has_counts: bool) -> None:
        """Read `T.alloc_barrier([128, 128])`; of a cluster's barriers, the arrivals of other blocks are not known."""
        (given,) = parameters(self.exprs, call, ("arrive_count",), 1)
        assert given is not None
        value = self.exprs.value(given)
        found = value if isinstance(value, list | tuple) else (value,)
        numbers = [n.value if isinstance(n, IntImm) else n for n in found]
        counts = tuple(n if isinstance(n, int) and has_counts else None for n in numbers)
        self.allocated_barrier(name, counts)

    # --- the printed form

    def _declare(self, name: ast.Name, call: ast.Call, function: str) -> Item | None:
        """Read the printed IR's declarations: allocations, parameters, and views of other buffers."""
        scope = next((k.value for k in call.keywords if k.arg == "scope"), None)
        if scope is not None and "barrier" in self.exprs.string(scope):
            self.allocated_barrier(name, tuple[int | None, ...]())
            return None
        if function in ("T.sblock_alloc_buffer", "T.alloc_buffer") and not any(k.arg == "data" for k in call.keywords):
            self.keep(read_buffer(self.exprs, name.id, declaration(self.exprs, call)), name)
            return None
        data = next((k.value for k in call.keywords if k.arg == "data"), None)
        address = None if data is None or function == "T.match_buffer" else self.exprs.value(data)
        if isinstance(address, Var) and function == "T.sblock_alloc_buffer":
            # A name for the address of the memory that is allocated here.
            kept = [k for k in call.keywords if k.arg != "data"]
            made = self._declare(name, ast.copy_location(ast.Call(call.func, call.args, kept), call), function)
            if isinstance(data, ast.Name) and name.id in self.allocated:
                self.allocated[data.id] = self.allocated[name.id]
            return made
        if isinstance(address, BufferData):
            declared = declaration(self.exprs, call)
            declared.arguments.pop("data")
            view = read_buffer(self.exprs, name.id, declared, scope=address.buffer.scope)
            if view.dtype != address.buffer.dtype:
                return self._retyped(name, address.buffer, view.shape, view.dtype)
            self._alias(name, address.buffer, view.shape)
            return None
        made = super()._declare(name, call, function)
        buffer = self.exprs.scope.get(name.id)
        if function == "T.match_buffer" and isinstance(buffer, Buffer) and buffer.strides and _is_row_major(buffer):
            plain = replace(buffer, strides=())
            self.handles = {handle: plain if known is buffer else known for handle, known in self.handles.items()}
            self.exprs.define(name.id, plain, name)
        return made

    def _annotated(self, node: ast.AnnAssign) -> Item | None:
        if node.value is None and isinstance(node.target, ast.Name):
            buffer = tensor(self.exprs, node.target.id, node.annotation)
            if buffer is not None:
                self.tensors[buffer.name] = buffer
                self.exprs.define(buffer.name, buffer, node.target)
                return None
        if isinstance(node.value, ast.Call) and self.exprs.called(node.value) == "T.launch_thread_idx":
            self.printed_thread(node.target, node.value)
            return None
        if node.value is not None and isinstance(node.target, ast.Name):
            let = self.exprs.script_name(
                node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
            )
            dtype = None if let == "T.let" and not isinstance(node.annotation, ast.Subscript) else self.exprs.dtype(
                node.annotation.slice if isinstance(node.annotation, ast.Subscript) and let == "T.let" else node.annotation)  # fmt: skip
            return self._bind(node.target, node.value, dtype)
        return super()._annotated(node)

    # --- views

    def _viewed(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `B = T.reshape(A, shape)`: another shape for the elements of a buffer."""
        source, shape, dtype = parameters(self.exprs, call, ("src", "shape", "dtype"), 1)
        assert source is not None
        owner = self.exprs.value(source)
        if not isinstance(owner, Buffer):
            raise self.source.error(source, "wrong-type", "a view needs a buffer", expected="T.view(A, shape)")
        kind = owner.dtype if dtype is None else self.exprs.dtype(dtype)
        if kind != owner.dtype and shape is not None:
            return self._retyped(name, owner, self.shape(shape), kind)
        extents = owner.shape if shape is None else self.shape(shape)
        if not prove_equal(_count(extents), _count(owner.shape)):
            raise self.source.error(
                call,
                "out-of-range",
                "the view has another number of elements than its buffer",
                expected="as many elements",
            )
        self._alias(name, owner, extents)
        return None

    def _placed_view(self, name: ast.Name, call: ast.Call) -> Item | None:
        """Read `B = T.Tensor(shape, dtype, A.data)`: another shape for the beginning of a buffer."""
        shape, dtype, data = parameters(self.exprs, call, ("shape", "dtype", "data"), 3)
        assert shape is not None and dtype is not None and data is not None
        address = self.exprs.value(data)
        if not isinstance(address, BufferData):
            raise self.source.error(data, "wrong-type", "this is no address of a buffer", expected="A.data")
        if self.exprs.dtype(dtype) != address.buffer.dtype:
            return self._retyped(name, address.buffer, self.shape(shape), self.exprs.dtype(dtype))
        self._alias(name, address.buffer, self.shape(shape))
        return None

    def _alias(self, name: ast.Name, owner: Buffer, shape: tuple[Expr, ...]) -> None:
        view = Buffer(name.id, shape, owner.dtype, owner.scope)
        self.views[view] = owner
        self.exprs.define(name.id, view, name)

    def _retyped(self, name: ast.Name, owner: Buffer, shape: tuple[Expr, ...], dtype: str) -> Wrapper:
        """Declare another buffer at the address of one, with elements of another type: it is only read."""
        buffer = Buffer(name.id, shape, dtype, owner.scope)
        self.exprs.define(name.id, buffer, name)
        place = self.source.place(name)
        return lambda body: self.mark(DeclBuffer(buffer, BufferData(owner), body), place)

    # --- names of values

    def _bind(self, name: ast.Name, value_node: ast.expr, dtype: str | None = None) -> Item | None:
        """Read `x = value`: an assignment of a variable, else another name for the value, which is computed once."""
        known = self.exprs.scope.get(name.id)
        place = self.source.place(name)
        if isinstance(known, Buffer) and known.scope == "local.var":
            return self.store(known, build.cast(self.exprs.expr(value_node), known.dtype), (IntImm(0),), place)
        value = self.exprs.require_known(self.exprs.value(value_node), value_node)
        if not isinstance(value, Expr) or not self._is_changed(value):
            self.exprs.define(
                name.id, value if dtype is None else build.cast(self.exprs.as_expr(value, value_node), dtype), name
            )
            return self.read_here(value) if isinstance(value, Expr) else None
        buffer = Buffer(name.id, (IntImm(1),), dtype or value.dtype, "local.var")
        self.keep(buffer, name)
        return self.store(buffer, build.cast(value, buffer.dtype), (IntImm(0),), place)

    def read_here(self, value: Expr) -> Stmt | None:
        """Return that elements are read where a value gets a name, if flags or barriers may order it; None otherwise."""
        return None

    def _is_changed(self, value: Expr) -> bool:
        """Whether the statements that follow may write what a value loads."""
        loaded = {node.buffer for node in walk(value) if isinstance(node, BufferLoad)}
        if not loaded:
            return False
        body = self.following[-1]
        rest = body[body.index(self.at) + 1 :] if self.at in body else body
        return any(not loaded.isdisjoint(self._buffers_of(name)) for name in _written_names(rest))

    def _buffers_of(self, name: str) -> Iterable[Buffer]:
        """Return the buffers that code with a name may write."""
        match self.exprs.scope.get(name):
            case Buffer() as buffer:
                return (buffer,)
            case BufferLoad(buffer=buffer) | BufferRegion(buffer=buffer):
                return (buffer,)
            case Scheduler() as scheduler:
                return scheduler.state.values()
            case _:
                return ()

    def printed_thread(self, target: ast.expr, call: ast.Call) -> None:
        """Read the name of a thread in the printed form."""
        raise NotImplementedError

    def _augmented(self, node: ast.AugAssign) -> Item | None:
        """Read `x += value` of a variable; another name gets the sum as its next value."""
        target = node.target
        known = self.exprs.scope.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or (isinstance(known, Buffer) and known.scope != "local.var"):
            return super()._augmented(node)
        name = ast.copy_location(ast.Name(target.id, ast.Load()), node)
        sum_ = ast.copy_location(ast.BinOp(name, node.op, node.value), node)
        if isinstance(known, int | float):
            value = self.exprs.value(sum_)
            if isinstance(value, int | float):
                self.exprs.scope.forget(
                    (target.id,), value
                )  # a number of Python: its value is kept behind a loop or branch
                return None
        return self._bind(target, sum_)

    def threads_of(self, node: ast.expr | None) -> Annotations:
        """Return the number of threads along each axis as an annotation."""
        if node is None:
            return ()
        value = self.exprs.require_known(self.exprs.value(node), node)
        counts = [
            self.exprs.as_expr(v, node)
            for v in (value if isinstance(value, tuple | list) else (value,))
            if v is not None
        ]
        return ((THREADS, tuple([*counts, IntImm(1), IntImm(1)][:3])),) if counts else ()


def _is_row_major(buffer: Buffer) -> bool:
    """Whether the strides of a buffer say nothing new."""
    step: Expr = IntImm(1)
    for extent, stride in zip(reversed(buffer.shape), reversed(buffer.strides), strict=True):
        if not prove_equal(stride, step):
            return False
        step = build.mul(step, extent)
    return True


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
                found |= _roots(part.value)
    return found


def _roots(node: ast.AST) -> set[str]:
    """Return the names in a call, without those in indices, which it cannot write."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Subscript):
        return _roots(node.value)
    return {name for part in ast.iter_child_nodes(node) for name in _roots(part)}


def tensor(reader: TileExpressions, name: str, node: ast.expr) -> Buffer | None:
    """Read the type of a tensor, `T.Tensor((M, K), "float16")`, `T.Tensor[[M, K], T.float16]` or, with strides,
    `T.StridedTensor[[M, K], [s, 1], T.float16]`; None for other types."""
    match node:
        case ast.Call(func=func, args=[shape, *rest]) | ast.Subscript(value=func, slice=ast.Tuple(elts=[shape, *rest])):
            known = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
        case _:
            return None
    proxy = reader.script_name(func)
    if proxy not in TENSORS:
        return None
    strides = known.get("strides", rest[0] if proxy == "T.StridedTensor" and rest else None)
    dtype = known.get("dtype", rest[-1] if rest and rest[-1] is not strides else None)
    kind = "float32" if dtype is None else reader.dtype(dtype)
    extents = _extents(reader, shape)
    found = Buffer(name, extents, kind, strides=() if strides is None else _extents(reader, strides))
    if found.strides and len(found.strides) != len(extents):
        message = f"{len(extents)} extents and {len(found.strides)} strides"
        raise reader.error(node, "wrong-arguments", message, expected="one stride for each extent")
    return replace(found, strides=()) if found.strides and _is_row_major(found) else found


def _extents(reader: TileExpressions, node: ast.expr) -> tuple[Expr, ...]:
    value = reader.require_known(reader.value(node), node)
    return tuple(reader.as_expr(item, node) for item in (value if isinstance(value, tuple | list) else (value,)))


TENSORS = ("T.Tensor", "T.Buffer", "T.StridedTensor", "T.FragmentBuffer", "T.SharedBuffer", "T.LocalBuffer")

__all__ = ["TENSORS", "DeclarationReader", "tensor"]
