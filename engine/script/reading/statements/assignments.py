"""Assignments of a program: declarations of buffers, bindings, and stores."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ....ir import (
    Allocate,
    Annotations,
    Buffer,
    BufferData,
    BufferStore,
    DeclBuffer,
    Expr,
    For,
    LaunchThread,
    LetStmt,
    MatchBufferRegion,
    Place,
    Stmt,
    StringImm,
    Var,
    accessed_dtype,
    build,
)
from ....ir import dtype as dt
from ...subset.values import Function
from ..blocks import BlockFrame, is_axis, read_annotations, read_axis
from ..buffers import Declaration, allocate_declaration, declaration, read_buffer
from ..expressions import ExpressionReader
from ..intrinsics import named_var, parameters
from ..operators import arithmetic
from ..reader import Item, Wrapper, compose
from ..source import PositionTable, Source
from ..vocabulary import DECLARATIONS
from .helpers import bare_type, declaring, in_macro, written_out

S = TypeVar("S", bound=Stmt)


class AssignmentReader(ABC):
    """Translates assignments to IR, one function at a time. In the `current` dialect T.alloc_buffer is a statement, not part of a
    block."""

    def __init__(self, source: Source, *, current: bool) -> None:
        self.source = source
        self.current = current
        self.positions = PositionTable()
        self.exprs = ExpressionReader(source, self.positions)
        self.begin_function()

    def begin_function(self) -> None:
        """Reset the state of the previous function."""
        self.block_names: dict[str, int] = {}
        self.loops: dict[Var, For] = {}
        self.around: list[For] = []  # the loops between the current block and the statement
        self.lets: set[Var] = set()
        self.threads: dict[str, str] = {}  # the tags of `tx = T.env_thread("threadIdx.x")`
        self.frame = BlockFrame(None)
        self.direct = True  # whether the statement is directly in the frame, not in one of its loops
        self.func_attrs: Annotations = ()
        self.handles: dict[Var, Buffer | None] = {}  # handle parameters and their matched buffers

    @abstractmethod
    def statement(self, node: ast.stmt, *, is_last: bool) -> Item | None: ...

    def mark(self, stmt: S, place: Place) -> S:
        self.positions.add(stmt, place)
        return stmt

    def _require_block(self, node: ast.AST, what: str, *, directly: bool = True) -> None:
        if self.frame.is_function or (directly and not self.direct):
            block = "T.sblock" if self.current else "T.block"
            where = "directly in a block" if directly else "in a block"
            raise self.source.error(
                node, "unsupported", f"{what} must be {where}", expected=f'with {block}("name"): above it'
            )

    # --- assignments

    def _assign(self, node: ast.Assign) -> Item | None:
        if len(node.targets) != 1:
            raise self.source.error(node, "unsupported", "a = b = c is not part of the subset", expected="one target")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            return self._store(node, target, node.value)
        value = written_out(self.exprs, node.value)
        if value is not node.value:
            return self._assign(ast.copy_location(ast.Assign([target], value), node))
        function = self.exprs.called(node.value)
        if isinstance(node.value, ast.Call) and is_axis(function):
            self._require_block(node, function or "")
            read_axis(self.exprs, node.value, target, self.frame, self.loops)
            return None
        names = self._names(target)
        if (found := declaring(self.exprs, node, names)) is not None:
            return self._declared(*found, node.value, names)
        if isinstance(target, ast.Tuple | ast.List):
            return self._assign_several(node, names)
        return self._assign_name(names[0], node.value, function)

    def _assign_several(self, node: ast.Assign, names: list[ast.Name]) -> Item | None:
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(names):
            items = [
                self._assign(ast.copy_location(ast.Assign([name], value), node))
                if self.exprs.called(value) in DECLARATIONS
                else self._bind(name, value)
                for name, value in zip(names, node.value.elts, strict=True)
            ]
            return compose([item for item in items if item is not None])
        if self._unpack(names, node.value):
            return None
        raise self.source.error(
            node,
            "wrong-arguments",
            "several names need several values",
            expected="T.axis.remap, or one value for each name",
        )

    def _assign_name(self, name: ast.Name, value: ast.expr, function: str | None) -> Item | None:
        match value:
            case ast.Call(func=ast.Attribute(attr="view", value=ast.Name(id=owned))):
                owner = self.exprs.scope.get(owned)
                if isinstance(owner, Buffer):
                    return self._view(name, value, owner)
            case ast.Call(keywords=keywords) if function == "T.Buffer" and any(k.arg == "data" for k in keywords):
                return self._declare(name, value, function)
            case ast.Call() if function in DECLARATIONS:
                return self._declare(name, value, function)
            case ast.Call() if function == "T.handle":
                self.exprs.define(name.id, self.exprs.typed_var(name.id, value), name)
                return None
            case ast.Call() if function == "T.env_thread":
                (tag,) = parameters(self.exprs, value, ("thread_tag",))
                assert tag is not None
                self.threads[name.id] = self.exprs.string(tag)
                return None
            case ast.Call() if function == "T.launch_thread":
                return self._launch(name, value)
            case ast.Call() if function == "T.Var":
                self.exprs.define(name.id, named_var(self.exprs, value), name)
                return None
            case ast.Call(args=[argument]) if function == "T.meta_var":
                self.exprs.define(name.id, self.exprs.value(argument), name)
                return None
            case _:
                pass
        return self._bind(name, value)

    def _declared(
        self, function: Function, body: list[ast.Assign], call: ast.expr, names: list[ast.Name]
    ) -> Item | None:
        """Read the buffers that a function of the text declares and returns."""
        assert isinstance(call, ast.Call)
        items: list[Item | None] = []
        with in_macro(self.exprs, function, call):
            for part in body:
                (target,) = self._names(part.targets[0])
                if self.exprs.called(part.value) in DECLARATIONS:
                    items.append(self._assign(part))
                else:
                    self.exprs.define(target.id, self.exprs.value(part.value), target)
            values = [self.exprs.scope.get(name.id) for name in names]
        for name, value in zip(names, values, strict=True):
            self.exprs.define(name.id, value, name)
        return compose([item for item in items if item is not None])

    def _unpack(self, names: list[ast.Name], value: ast.expr) -> bool:
        """Define several names by a function of the text, which gives a value for each: `i, j = T.meta_var(index_map(v0, v1))`."""
        if isinstance(value, ast.Call) and self.exprs.called(value) == "T.meta_var" and len(value.args) == 1:
            value = value.args[0]
        if self.exprs.around is None or not isinstance(value, ast.Call) or self.exprs.called(value) is not None:
            return False
        found = self.exprs.value(value)
        if not isinstance(found, tuple) or len(found) != len(names):
            return False
        for name, item in zip(names, found, strict=True):
            self.exprs.define(name.id, item, name)
        return True

    def _names(self, target: ast.expr) -> list[ast.Name]:
        items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names = [item for item in items if isinstance(item, ast.Name)]
        if len(names) != len(items):
            raise self.source.error(
                target,
                "unsupported",
                "only names and buffer elements can be assigned",
                expected="name = … or A[i, j] = …",
            )
        return names

    def _declare(self, name: ast.Name, call: ast.Call, function: str) -> Item | None:
        """Read a buffer declaration: a block's buffer, an allocation over the rest of the sequence, or a view of existing memory."""
        if function == "T.match_buffer":
            self._match(name, call)
            return None
        if function == "T.allocate":
            return self._allocate(name, allocate_declaration(self.exprs, call))
        declared = declaration(self.exprs, call)
        if "data" in declared.arguments and function in ("T.decl_buffer", "T.buffer_decl", "T.Buffer"):
            return self._declare_at(name, declared, self.exprs.address(declared.arguments.pop("data")))
        if function == "T.sblock_alloc_buffer" or (function == "T.alloc_buffer" and not self.current):
            self.frame.alloc_buffers.append(self._new_buffer(name, declared))
            return None
        return self._allocate(name, declared, DECLARATIONS[function])

    def _declare_at(self, name: ast.Name, declared: Declaration, data: Expr) -> Wrapper:
        """Declare a buffer over the rest of the sequence, at the address `data`."""
        if data.dtype != "handle":
            raise self.source.error(declared.node, "wrong-type", "data= is not an address", expected="data=A.data")
        buffer = self._new_buffer(name, declared)
        place = self.source.place(declared.node)
        return lambda body: self.mark(DeclBuffer(buffer, data, body), place)

    def _view(self, name: ast.Name, node: ast.Call, owner: Buffer) -> Wrapper:
        """Read `B = A.view(16, 16)`: another shape for the memory of A."""
        if node.keywords or owner.axis_separators:
            raise self.source.error(node, "unsupported", "this view is not supported", expected="A.view(16, 16)")
        shape = tuple(map(self.exprs.index, node.args))
        buffer = replace_fields(owner, name=name.id, shape=shape)
        self.exprs.define(name.id, buffer, name)
        place = self.source.place(node)
        return lambda body: self.mark(DeclBuffer(buffer, BufferData(owner), body, is_view=True), place)

    def _new_buffer(self, name: ast.Name, declared: Declaration, scope: str = "global") -> Buffer:
        buffer = read_buffer(self.exprs, name.id, declared, scope=scope)
        self.exprs.define(name.id, buffer, name)
        return buffer

    def _allocate(self, name: ast.Name, declared: Declaration, scope: str = "global") -> Wrapper:
        annotations = declared.arguments.get("annotations")
        found = read_annotations(self.exprs, annotations) if annotations is not None else ()
        buffer = self._new_buffer(name, declared, scope)
        place = self.source.place(declared.node)
        return lambda body: self._allocated(buffer, body, found, place)

    def _allocated(self, buffer: Buffer, body: Stmt, annotations: Annotations, place: Place) -> Stmt:
        """Build an Allocate and record the lines of all its buffers as its places."""
        made = build.allocate((buffer,), body, annotations)
        own = isinstance(made, Allocate) and len(made.buffers) > 1
        for known in (place, *(self.positions.places(body) if own else ())):
            self.positions.add(made, known)
        return made

    def _match(self, name: ast.Name, call: ast.Call) -> None:
        """Read T.match_buffer of a handle (the function's parameter) or of a region (another view of it in a block)."""
        declared = declaration(self.exprs, call, skip=1)
        if not call.args:
            raise self.source.error(
                call,
                "wrong-arguments",
                "T.match_buffer needs a handle or a region",
                expected="T.match_buffer(a, (128, 64))",
            )
        source = self.exprs.value(call.args[0])
        if isinstance(source, Var) and source.dtype == "handle":
            if source not in self.handles or self.handles[source] is not None:
                raise self.source.error(
                    call.args[0],
                    "wrong-arguments",
                    "this handle cannot be matched, or is already matched",
                    expected="a T.handle parameter, matched once",
                )
            self.handles[source] = read_buffer(self.exprs, name.id, declared, {})
            buffer = self.handles[source]
            self.exprs.define(name.id, buffer, name)
            return
        region = self.exprs.region(call.args[0])
        self._require_block(call, "T.match_buffer of a region")
        buffer = self._new_buffer(name, declared)
        if buffer.dtype != region.buffer.dtype:
            raise self.source.error(
                call,
                "wrong-type",
                f"{region.buffer.name} is {region.buffer.dtype}, not {buffer.dtype}",
                expected=f'dtype "{region.buffer.dtype}"',
            )
        self.frame.match_buffers.append(MatchBufferRegion(buffer, region))

    def _bind(self, name: ast.Name, value_node: ast.expr, dtype: str | None = None) -> Item | None:
        """Read `x = value`: a mutable scalar, or a LetStmt in the classic dialect; `n = T.int32()` only defines a variable."""
        known = self.exprs.scope.get(name.id)
        if isinstance(known, Buffer) and known in self.exprs.scalars:
            return self._set(name, known, self.exprs.expr(value_node))
        if isinstance(known, Var) and known in self.lets:
            raise self.source.error(
                name,
                "unsupported",
                f"{name.id} is already bound, and bindings are immutable",
                expected="a new name, or a buffer",
            )
        value = self.exprs.expr(value_node)
        if isinstance(value, Var) and not value.name:
            if not (isinstance(known, Var) and known.dtype == value.dtype and name.id in self.exprs.scope):
                self.exprs.define(name.id, Var(name.id, value.dtype), name)
            return None
        if self.current and value.dtype not in ("handle", "void") and not isinstance(value, StringImm):
            return self._scalar(name, value.dtype, value)
        return self._let(name, value, dtype)

    def _let(self, name: ast.Name, value: Expr, dtype: str | None = None, points_to: tuple[str, ...] = ()) -> Wrapper:
        """Return a LetStmt over the rest of the sequence."""
        if dtype is not None:
            value = build.cast(value, dtype)
        var = Var(name.id, value.dtype, points_to)
        self.lets.add(var)
        self.exprs.define(name.id, var, name)
        place = self.source.place(name)
        return lambda body: self.mark(LetStmt(var, value, body), place)

    def _launch(self, name: ast.Name, call: ast.Call) -> Wrapper:
        """Read `tx = T.launch_thread("threadIdx.x", 64)`: the rest of the sequence runs on each thread."""
        tag, extent = parameters(self.exprs, call, ("thread", "extent"))
        assert tag is not None and extent is not None
        declared = self.threads.get(tag.id) if isinstance(tag, ast.Name) else None
        thread = self.exprs.string(tag) if declared is None else declared
        size, place = self.exprs.index(extent), self.source.place(call)
        var = Var(name.id, size.dtype)
        self.exprs.define(name.id, var, name)
        return lambda body: self.mark(LaunchThread(var, thread, size, body), place)

    def _scalar(self, name: ast.Name, dtype: str, value: Expr | None) -> Wrapper:
        """Declare TVM 0.27's mutable local scalar: a local buffer without axes, over the rest of the sequence."""
        buffer = Buffer(name.id, (), dtype, "local")
        place = self.source.place(name)
        first = [self._set(name, buffer, value)] if value is not None else []
        self.exprs.define(name.id, buffer, name)
        self.exprs.scalars.add(buffer)
        return lambda body: self._allocated(buffer, build.seq([*first, body]), (), place)

    def _set(self, name: ast.Name, buffer: Buffer, value: Expr) -> Stmt:
        """Read `x = value` for a mutable scalar."""
        return self.mark(BufferStore(buffer, self._stored(name, buffer, value), ()), self.source.place(name))

    def _annotated(self, node: ast.AnnAssign) -> Item | None:
        """Read `x: T.let = v`, `x: T.let[T.int32] = v`; `x: T.int32 = v` and `x: T.int32`; `x: T.int32[4]`, a local vector."""
        annotation = node.annotation
        is_let = self.exprs.script_name(annotation) == "T.let"
        if isinstance(annotation, ast.Subscript) and self.exprs.script_name(annotation.value) == "T.let":
            annotation, is_let = bare_type(annotation.slice), True
        if not isinstance(node.target, ast.Name) or (node.value is None and (is_let or not self.current)):
            raise self.source.error(node, "unsupported", "a typed name needs a value", expected="x: T.int32 = value")
        name = node.target
        if isinstance(annotation, ast.Subscript) and node.value is None:
            shape = ast.copy_location(ast.Tuple(self.exprs.sequence(annotation.slice), ast.Load()), annotation)
            vector = Declaration(node, {"shape": shape, "dtype": annotation.value})
            return self._allocate(name, vector, "local")
        if is_let and node.value is not None and self.exprs.called(annotation) == "T.handle":
            return self._let(
                name, self.exprs.expr(node.value), points_to=self.exprs.typed_var("", annotation).points_to
            )
        dtype = None if self.exprs.script_name(annotation) == "T.let" else self.exprs.dtype(annotation)
        if is_let or not self.current:
            assert node.value is not None
            known = self.exprs.scope.get(name.id)
            if isinstance(known, Var) and known in self.lets:
                return self._bind(name, node.value)
            return self._let(name, self.exprs.expr(node.value), dtype)
        assert dtype is not None
        return self._scalar(name, dtype, self.exprs.expr(node.value) if node.value is not None else None)

    def _store(
        self, node: ast.stmt, target: ast.Subscript, value_node: ast.expr, op: ast.operator | None = None
    ) -> Stmt:
        """Read `A[i, j] = value`, cast to the buffer's type as in TVM; with `op`, `A[i, j] += value`."""
        buffer = self.exprs.owner(target.value)
        if not isinstance(buffer, Buffer):
            raise self.source.error(
                target, "wrong-type", "stores need a buffer", expected="a buffer before the brackets"
            )
        self.positions.add(buffer, self.source.place(target.value))
        value = self.exprs.expr(value_node)
        if op is not None:
            value = arithmetic(self.exprs, node, op, build.load(buffer, self.exprs.indices(target, buffer)), value)
        indices = self.exprs.indices(target, buffer)
        value = self._stored(value_node, buffer, value, indices)
        return self.store(buffer, value, indices, self.source.place(node))

    def store(self, buffer: Buffer, value: Expr, indices: tuple[Expr, ...], place: Place) -> Stmt:
        return self.mark(BufferStore(buffer, value, indices), place)

    def _stored(self, node: ast.expr, buffer: Buffer, value: Expr, indices: tuple[Expr, ...] = ()) -> Expr:
        """Cast the value to the type of the accessed elements; the lanes must match."""
        dtype = accessed_dtype(buffer, indices)
        unlike = (value.dtype == "handle") != (dtype == "handle") or value.dtype == "void"
        if unlike or dt.with_lanes_of(dt.element(value.dtype), dtype) != value.dtype:
            raise self.source.error(
                node, "wrong-type", f"{buffer.name} holds {dtype} here, this is {value.dtype}", expected=f"a {dtype}"
            )
        return build.cast(value, dtype)

    def _augmented(self, node: ast.AugAssign) -> Item | None:
        known = self.exprs.scope.get(node.target.id) if isinstance(node.target, ast.Name) else None
        if isinstance(node.target, ast.Name) and isinstance(known, Buffer) and known in self.exprs.scalars:
            value = arithmetic(self.exprs, node, node.op, build.load(known, ()), self.exprs.expr(node.value))
            return self._set(node.target, known, value)
        if not isinstance(node.target, ast.Subscript):
            raise self.source.error(
                node, "unsupported", "only buffer elements can be updated", expected="A[i, j] += value"
            )
        return self._store(node, node.target, node.value, node.op)
