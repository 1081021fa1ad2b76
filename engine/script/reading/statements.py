"""Statement reader: loops, blocks, stores, bindings."""

from __future__ import annotations

import ast
from typing import TypeVar

from msgspec.structs import replace as replace_fields

from ...cancellation import checkpoint
from ...ir import (
    FAULTS,
    Allocate,
    Annotations,
    AssertStmt,
    AttrStmt,
    Buffer,
    BufferData,
    BufferStore,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntegerBranch,
    IntImm,
    LaunchThread,
    LetStmt,
    MatchBufferRegion,
    NodeAttr,
    Place,
    Return,
    SteppedFor,
    Stmt,
    StringImm,
    Var,
    Verbatim,
    While,
    accessed_dtype,
    build,
)
from ...ir import dtype as dt
from ..subset.values import Function
from .blocks import BlockFrame, is_axis, read_annotations, read_axis, read_regions, unique_name
from .buffers import Declaration, address_of, allocate_declaration, declaration, read_buffer
from .early import bound_values, define_iterators, early_header, read_bind, with_loops
from .expressions import ExpressionReader
from .helpers import as_store, bare_type, in_macro, macro_of, written_out
from .intrinsics import is_unknown, named_var, parameters
from .loops import loop_headers, loop_targets
from .operators import arithmetic
from .reader import Item, Wrapper, compose
from .source import PositionTable, Source
from .vocabulary import DECLARATIONS

S = TypeVar("S", bound=Stmt)

STATEMENTS = ("reads", "writes", "where", "block_attr", "sblock_attr", "bind", "func_attr", "attr", "evaluate", "init")
"""Functions that are statements."""
_BLOCK_ONLY = ("T.reads", "T.writes", "T.where", "T.block_attr", "T.sblock_attr", "T.bind")
_NOT_READ: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "a function inside a function is",
    ast.ClassDef: "a class inside a function is",
    ast.Import: "an import inside a function is",
    ast.ImportFrom: "an import inside a function is",
    ast.Try: "try is",
    ast.Delete: "del is",
}


class StatementReader:
    """Translates Python statements to IR, one function at a time. In the `current` dialect T.alloc_buffer is a statement, not part of a
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

    # --- sequences

    def body(self, nodes: list[ast.stmt]) -> Stmt:
        """Read the statements in order; the rest of the sequence becomes the body of a binding."""
        items: list[Item] = []
        for node in nodes:
            item = self.statement(node, is_last=node is nodes[-1])
            if item is not None:
                items.append(item)
        tail: list[Stmt] = []
        for item in reversed(items):
            tail = [item, *tail] if isinstance(item, Stmt) else [item(build.seq(tail))]
        return build.seq(tail)

    def nested_body(self, nodes: list[ast.stmt]) -> Stmt:
        """Read a body with its own scope, under a loop or a branch."""
        direct, self.direct = self.direct, False
        with self.exprs.scope.nested():
            result = self.body(nodes)
        self.direct = direct
        return result

    def statement(self, node: ast.stmt, *, is_last: bool) -> Item | None:
        """Read one statement; None if it only describes its block."""
        checkpoint()
        try:
            return self._statement(node, is_last=is_last)
        except FAULTS as error:
            raise self.source.refused(node, error) from error

    def _statement(self, node: ast.stmt, *, is_last: bool) -> Item | None:
        match node:
            case ast.Assign():
                return self._assign(node)
            case ast.For():
                return self._for(node)
            case ast.With():
                return self._with(node, is_last=is_last)
            case ast.Expr():
                return self._expression(node)
            case ast.If():
                return self._if(node)
            case _:
                return self._rare(node)

    def _rare(self, node: ast.stmt) -> Item | None:
        match node:
            case ast.AnnAssign():
                return self._annotated(node)
            case ast.AugAssign():
                return self._augmented(node)
            case ast.Assert():
                return self._assert(node)
            case ast.Pass():
                return None
            case ast.While(orelse=[]):
                return self.mark(
                    While(self.exprs.condition(node.test), self.nested_body(node.body)), self.source.header(node)
                )
            case ast.Return(value=ast.expr() as value):
                return self.mark(Return(self.exprs.expr(value)), self.source.place(node))
            case ast.Break() | ast.Continue():
                word = "break" if isinstance(node, ast.Break) else "continue"
                return self.mark(Evaluate(Verbatim(f"T.{word}_loop()")), self.source.place(node))
            case _:
                what = _NOT_READ.get(type(node), f"{type(node).__name__} is")
                raise self.source.error(
                    node, "unsupported", f"{what} not part of the subset", expected="for, with, if, stores and bindings"
                )

    def mark(self, stmt: S, place: Place) -> S:
        self.positions.add(stmt, place)
        return stmt

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
        if isinstance(node.value, ast.Tuple) and isinstance(target, ast.Tuple) and len(node.value.elts) == len(names):
            items = [self._bind(name, value) for name, value in zip(names, node.value.elts, strict=True)]
            return compose([item for item in items if item is not None])
        if isinstance(target, ast.Tuple | ast.List) and self._unpack(names, node.value):
            return None
        if len(names) != 1 or isinstance(target, ast.Tuple | ast.List):
            raise self.source.error(
                node,
                "wrong-arguments",
                "several names need several values",
                expected="T.axis.remap, or one value for each name",
            )
        if (
            isinstance(node.value, ast.Call)
            and function == "T.Buffer"
            and any(k.arg == "data" for k in node.value.keywords)
        ):
            return self._declare(names[0], node.value, function)
        match node.value:
            case ast.Call(func=ast.Attribute(attr="view", value=ast.Name(id=owned))):
                owner = self.exprs.scope.get(owned)
                if isinstance(owner, Buffer):
                    return self._view(names[0], node.value, owner)
            case _:
                pass
        if isinstance(node.value, ast.Call) and function in DECLARATIONS:
            return self._declare(names[0], node.value, function)
        if isinstance(node.value, ast.Call) and function == "T.handle":
            self.exprs.define(names[0].id, self.exprs.typed_var(names[0].id, node.value), names[0])
            return None
        if isinstance(node.value, ast.Call) and function == "T.env_thread":
            (tag,) = parameters(self.exprs, node.value, ("thread_tag",))
            assert tag is not None
            self.threads[names[0].id] = self.exprs.string(tag)
            return None
        if isinstance(node.value, ast.Call) and function == "T.launch_thread":
            return self._launch(names[0], node.value)
        if isinstance(node.value, ast.Call) and function == "T.Var":
            self.exprs.define(names[0].id, named_var(self.exprs, node.value), names[0])
            return None
        if isinstance(node.value, ast.Call) and function == "T.meta_var" and len(node.value.args) == 1:
            self.exprs.define(names[0].id, self.exprs.value(node.value.args[0]), names[0])
            return None
        return self._bind(names[0], node.value)

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
            return self._declare_at(name, declared, address_of(self.exprs, declared.arguments.pop("data")))
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

    # --- block descriptions

    def _expression(self, node: ast.Expr) -> Item | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None  # a docstring
        if (macro := macro_of(self.exprs, node.value)) is not None:
            return self._macro(macro, node)
        if (store := as_store(self.exprs, node.value)) is not None:
            return self._assign(store)
        function = self.exprs.called(node.value)
        if isinstance(node.value, ast.Call) and function is not None:
            if function in _BLOCK_ONLY:
                in_branch = function in ("T.reads", "T.writes") and not self.around
                self._require_block(node, function, directly=not in_branch)
                self._describe(node.value, function)
                return None
            if function == "T.func_attr":
                (attrs,) = parameters(self.exprs, node.value, ("attrs",))
                assert attrs is not None
                self.func_attrs = (*self.func_attrs, *read_annotations(self.exprs, attrs))
                return None
            if function == "T.attr":
                return self._attribute(node.value)
            if function == "T.launch_thread" and isinstance(name := node.value.args[0], ast.Name):
                return self._launch(name, node.value)
            if function == "T.evaluate":
                (value,) = parameters(self.exprs, node.value, ("value",))
                assert value is not None
                return self.mark(Evaluate(self.exprs.expr(value)), self.source.place(node))
            if function == "T.ret" and len(node.value.args) == 1:
                return self.mark(Return(self.exprs.expr(node.value.args[0])), self.source.place(node))
            carried = self.exprs.carried(node.value) if is_unknown(function, STATEMENTS) else None
            if carried is not None:
                return self.mark(Evaluate(carried), self.source.place(node))
        if function is None and (called := self.exprs.carried(node.value)) is not None:
            return self.mark(Evaluate(called), self.source.place(node))
        return self.mark(Evaluate(self.exprs.expr(node.value)), self.source.place(node))

    def _macro(self, macro: Function, node: ast.Expr) -> Item | None:
        """Read the statements that a call of a macro stands for."""
        assert isinstance(macro.node, ast.FunctionDef) and isinstance(node.value, ast.Call)
        with in_macro(self.exprs, macro, node.value):
            found = [self.statement(part, is_last=False) for part in macro.node.body]
        stmts = [item for item in found if isinstance(item, Stmt)]
        if len(stmts) != len([item for item in found if item is not None]):
            raise self.source.error(
                node,
                "unsupported",
                "a macro that declares names or buffers is not supported",
                expected="stores, loops and blocks",
            )
        return build.seq(stmts) if stmts else None

    def _attribute(self, call: ast.Call) -> Wrapper:
        """Read `T.attr(0, "key", value)`, or several as `T.attr({"key": value})`, around the rest."""
        place = self.source.place(call)
        if len(call.args) == 1:
            notes = read_annotations(self.exprs, call.args[0])
        else:
            subject, key, value = parameters(self.exprs, call, ("node", "attr_key", "value"))
            assert subject is not None and key is not None and value is not None
            notes = ((self.exprs.string(key), self.exprs.expr(value)),)
            found = self.exprs.carried(subject) if is_unknown(self.exprs.called(subject)) else None
            node = self.exprs.expr(subject) if found is None else found
            if not (isinstance(node, IntImm) and node.value == 0):
                return lambda body: self.mark(NodeAttr(node, notes[0][0], notes[0][1], body), place)

        def around(body: Stmt) -> Stmt:
            for key, value in reversed(notes):
                if not isinstance(value, Expr):
                    raise self.source.error(
                        call, "wrong-type", f"the value of attribute {key!r} is not supported", expected="a number"
                    )
                body = self.mark(AttrStmt(key, value, body), place)
            return body

        return around

    def _describe(self, call: ast.Call, function: str) -> None:
        frame = self.frame
        if function == "T.reads":
            frame.reads = (*(frame.reads or ()), *read_regions(self.exprs, call))
        elif function == "T.writes":
            frame.writes = (*(frame.writes or ()), *read_regions(self.exprs, call))
        elif function == "T.where":
            (predicate,) = parameters(self.exprs, call, ("predicate",))
            assert predicate is not None
            frame.predicate.append(self.exprs.condition(predicate))
        elif function == "T.bind":
            read_bind(self.exprs, call, frame)
        else:
            (attrs,) = parameters(self.exprs, call, ("attrs",))
            assert attrs is not None
            frame.annotations = (*frame.annotations, *read_annotations(self.exprs, attrs))

    def _require_block(self, node: ast.AST, what: str, *, directly: bool = True) -> None:
        if self.frame.is_function or (directly and not self.direct):
            block = "T.sblock" if self.current else "T.block"
            where = "directly in a block" if directly else "in a block"
            raise self.source.error(
                node, "unsupported", f"{what} must be {where}", expected=f'with {block}("name"): above it'
            )

    # --- nesting

    def _with(self, node: ast.With, *, is_last: bool) -> Item | None:
        if len(node.items) != 1:
            raise self.source.error(
                node.items[1].context_expr,
                "unsupported",
                "one block per with statement",
                expected="several blocks in one with statement",
            )
        item = node.items[0]
        call, function = item.context_expr, self.exprs.called(item.context_expr)
        if not isinstance(call, ast.Call) or function is None:
            raise self.source.error(
                call, "unsupported", "with needs a block", expected='T.sblock("name") or T.block("name")'
            )
        if function in ("T.block", "T.sblock"):
            return self._block(node, call, is_last=is_last)
        if function == "T.init" and not call.args:
            self._require_block(call, "T.init")
            self.frame.init = self.nested_body(node.body)
            return None
        if function in ("T.LetStmt", "T.let") and call.args and isinstance(item.optional_vars, ast.Name):
            with self.exprs.scope.nested():
                wrap = self._let(item.optional_vars, self.exprs.expr(call.args[0]))
                return wrap(self.nested_body(node.body))
        launched = item.optional_vars or next(iter(call.args), None)  # `as tx`, or a declared thread
        if function == "T.launch_thread" and isinstance(launched, ast.Name):
            with self.exprs.scope.nested():
                wrap = self._launch(launched, call)
                return wrap(self.nested_body(node.body))
        if function == "T.allocate" and isinstance(item.optional_vars, ast.Name):
            with self.exprs.scope.nested():
                wrap = self._allocate(item.optional_vars, allocate_declaration(self.exprs, call))
                return wrap(self.nested_body(node.body))
        if function == "T.Assert" and len(call.args) == 2:
            condition, message = self.exprs.condition(call.args[0]), self.exprs.string(call.args[1])
            return self.mark(AssertStmt(condition, message, self.nested_body(node.body)), self.source.header(node))
        if function == "T.attr":
            return self._attribute(call)(self.nested_body(node.body))
        raise self.source.error(
            call,
            "unsupported",
            f"{function} is not supported here",
            expected='T.sblock("name"), T.block("name") or T.init()',
        )

    def _block(self, node: ast.With, call: ast.Call, *, is_last: bool) -> Stmt:
        early = early_header(self.exprs, node)
        name_node = early.name if early is not None else parameters(self.exprs, call, ("name",), 0)[0]
        name = self.exprs.string(name_node) if name_node is not None else ""
        at_top = self.frame.is_function and self.direct
        outer = self.frame, self.direct
        frame = self.frame = BlockFrame(name)
        self.direct = True
        may_be_root = at_top and is_last and not outer[0].alloc_buffers
        if not (name == "root" and may_be_root):
            self.block_names.setdefault("root", 0)
            frame.name = unique_name(name, self.block_names)
        around, self.around = self.around, []
        with self.exprs.scope.nested():
            if early is not None:
                define_iterators(self.exprs, early, frame)
            body = self.body(node.body)
        self.around = around
        self.frame, self.direct = outer
        made: list[For] = []
        if early is not None:
            frame.iter_values, made = bound_values(self.exprs, node, frame, around)
        realize = frame.realize(body, is_root=may_be_root and not frame.iter_vars)
        place = self.source.header(node)
        self.positions.add(realize.block, place)
        return with_loops(self.mark(realize, place), made)

    def _if(self, node: ast.If) -> Stmt | None:
        test = self.exprs.value(node.test)
        if not isinstance(test, Expr):  # a constant of the text: decided at read time, as in TVM
            chosen = node.body if test else node.orelse
            return self.nested_body(chosen) if chosen else None
        is_number = not isinstance(test, IntImm) and dt.is_int(test.dtype) and not dt.is_vector(test.dtype)
        condition = test if is_number else self.exprs.condition(node.test)
        then_case = self.nested_body(node.body)
        else_case = self.nested_body(node.orelse) if node.orelse else None
        branch = self.mark(IfThenElse(condition, then_case, else_case), self.source.header(node))
        return self.mark(IntegerBranch(branch), self.source.header(node)) if is_number else branch

    def _assert(self, node: ast.Assert) -> Item | None:
        condition = self.exprs.condition(node.test)
        place = self.source.place(node)
        match node.msg:
            case ast.Tuple(elts=[kind_node, ast.List(elts=[_, *_] as parts)]):
                kind, (message, *more) = self.exprs.string(kind_node), map(self.exprs.string, parts)
                return lambda body: self.mark(AssertStmt(condition, message, body, kind, tuple(more)), place)
            case _:
                message = self.exprs.string(node.msg) if node.msg is not None else ""
                return lambda body: self.mark(AssertStmt(condition, message, body), place)

    # --- loops

    def headers(self, node: ast.expr) -> tuple[list[For], Expr | None]:
        return loop_headers(self.exprs, node)

    def _for(self, node: ast.For) -> Stmt:
        if node.orelse:
            raise self.source.error(
                node.orelse[0], "unsupported", "for … else is not part of the subset", expected="no else"
            )
        headers, step = self.headers(node.iter)
        targets = loop_targets(self.exprs, node.target, headers)
        place = self.source.header(node)
        made: list[For] = []
        with self.exprs.scope.nested():
            for target, loops, is_one in targets:
                for number, header in enumerate(loops):
                    var = Var(target.id if is_one else f"{target.id}_{number}", header.extent.dtype)
                    loop = For(
                        var, header.min, header.extent, header.kind, header.body, header.thread_tag, header.annotations
                    )
                    self.loops[var] = loop
                    self.around.append(loop)
                    made.append(loop)
                found = tuple(loop.loop_var for loop in made[len(made) - len(loops) :])
                self.exprs.define(target.id, found[0] if is_one else found, target)
            result = self.nested_body(node.body)
        for loop in reversed(made):
            del self.loops[loop.loop_var]
            self.around.pop()
            result = For(loop.loop_var, loop.min, loop.extent, loop.kind, result, loop.thread_tag, loop.annotations)
            self.positions.add(result, place)
            if step is not None:
                result = self.mark(SteppedFor(result, step), place)
        return result
