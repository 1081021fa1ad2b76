"""Statement printer: loops, blocks, stores, bindings, allocations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from ...cancellation import checkpoint
from ...ir import (
    Allocate,
    Annotation,
    AnnotationMap,
    Annotations,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    FloatImm,
    For,
    ForKind,
    IfThenElse,
    IntegerBranch,
    IntImm,
    IterVar,
    LaunchThread,
    LetStmt,
    NodeAttr,
    Range,
    Return,
    SeqStmt,
    SteppedFor,
    Stmt,
    StringImm,
    Var,
    Verbatim,
    While,
    build,
    offset_dtype,
    structural_equal,
    walk,
    walk_stmts,
)
from ..reading.vocabulary import NAMED_LANES, UNNAMED_LANES
from .dialect import Words
from .expressions import ExprPrinter, end_of
from .writer import Names, Start, Writer, quoted

_LOOPS: dict[ForKind, str] = {
    "serial": "T.serial",
    "parallel": "T.parallel",
    "vectorized": "T.vectorized",
    "unrolled": "T.unroll",
    "thread_binding": "T.thread_binding",
}
_REMAP = {"spatial": "S", "reduce": "R"}


class StmtPrinter:
    """Writes statements to `out`, one or more lines each."""

    def __init__(self, out: Writer, names: Names, words: Words) -> None:
        self.out = out
        self.names = names
        self.words = words
        self.exprs = ExprPrinter(out, names)
        self._loops: dict[Var, For] = {}
        self._table: dict[type[Stmt], Callable[[Stmt], None]] = {
            BufferStore: self._store,
            For: self._for,
            SeqStmt: self._seq,
            IfThenElse: self._if,
            LetStmt: self._let,
            AssertStmt: self._assert,
            AttrStmt: self._attr,
            LaunchThread: self._launch,
            Evaluate: self._evaluate,
            BlockRealize: self._realize,
            Allocate: self._allocate,
            While: self._while,
            IntegerBranch: self._integer_branch,
            Return: self._return,
            SteppedFor: self._stepped,
            DeclBuffer: self._declared,
            NodeAttr: self._node_attr,
        }

    def stmt(self, stmt: Stmt) -> None:
        checkpoint()
        self._table[type(stmt)](stmt)

    def nested(self, stmt: Stmt) -> None:
        """Write a nested body: indented, with its own names."""
        with self.out.indented(), self.names.nested():
            self.stmt(stmt)

    def _header(self, node: Stmt, start: Start, text: str) -> None:
        """Write the end of a header line and record its place."""
        self.out.write(text)
        self.out.mark(node, start)
        self.out.line()

    # --- simple statements

    def _store(self, stmt: Stmt) -> None:
        assert isinstance(stmt, BufferStore)
        start = self.out.here()
        self.exprs.stored_indices(stmt.buffer, stmt.indices)
        self.out.write(" = ")
        self.exprs.expr(stmt.value)
        self._header(stmt, start, "")

    def _evaluate(self, stmt: Stmt) -> None:
        assert isinstance(stmt, Evaluate)
        start = self.out.here()
        call = isinstance(stmt.value, Call) and stmt.value.op.startswith(("call_", "tvm_", "T.", "Module."))
        if call or isinstance(stmt.value, Verbatim):
            self.exprs.expr(stmt.value)
        else:
            self.exprs.call("T.evaluate", stmt.value)
        self._header(stmt, start, "")

    def _seq(self, stmt: Stmt) -> None:
        assert isinstance(stmt, SeqStmt)
        for part in stmt.seq:
            if part is not stmt.seq[-1] and self._can_be_closed(part):
                self._closed(part)
            else:
                self.stmt(part)

    def _if(self, stmt: Stmt) -> None:
        assert isinstance(stmt, IfThenElse)
        start = self.out.here()
        self.out.write("if ")
        self.exprs.expr(stmt.condition)
        self._header(stmt, start, ":")
        self.nested(stmt.then_case)
        if stmt.else_case is not None:
            self.out.line("else:")
            self.nested(stmt.else_case)

    # --- statements with the rest of the sequence as body: open to its end, or closed by a `with`

    def _let(self, stmt: Stmt) -> None:
        assert isinstance(stmt, LetStmt)
        start = self.out.here()
        name = self.names.define(stmt.var, stmt.var.name)
        said = (
            self.words.let.format(type_text(stmt.var))
            if _is_named(stmt.var.dtype) or not self.words.scalars
            else "T.let"
        )
        self.out.write(f"{name}: {said} = ")
        self.exprs.expr(stmt.value)
        self._header(stmt, start, "")
        self.stmt(stmt.body)

    def _assert(self, stmt: Stmt) -> None:
        assert isinstance(stmt, AssertStmt)
        start = self.out.here()
        self.out.write("assert ")
        self.exprs.expr(stmt.condition)
        self._header(stmt, start, f", {_message(stmt)}" if stmt.message or stmt.more else "")
        self.stmt(stmt.body)

    def _attr(self, stmt: Stmt) -> None:
        assert isinstance(stmt, AttrStmt)
        start = self.out.here()
        self.out.write(f"with T.attr(0, {quoted(stmt.key)}, ")
        self.exprs.expr(stmt.value)
        self._header(stmt, start, "):")
        self.nested(stmt.body)

    def _while(self, stmt: Stmt) -> None:
        assert isinstance(stmt, While)
        start = self.out.here()
        self.out.write("while ")
        self.exprs.expr(stmt.condition)
        self._header(stmt, start, ":")
        self.nested(stmt.body)

    def _integer_branch(self, stmt: Stmt) -> None:
        assert isinstance(stmt, IntegerBranch)
        self._if(stmt.branch)

    def _return(self, stmt: Stmt) -> None:
        assert isinstance(stmt, Return)
        start = self.out.here()
        self.out.write("return ")
        self.exprs.expr(stmt.value)
        self._header(stmt, start, "")

    def _declared(self, stmt: Stmt) -> None:
        assert isinstance(stmt, DeclBuffer)
        start = self.out.here()
        self.names.define(stmt.buffer, stmt.buffer.name)
        self.exprs.name(stmt.buffer)
        if stmt.is_view and isinstance(stmt.data, BufferData):
            self.out.write(" = ")
            self.exprs.name(stmt.data.buffer)
            self.exprs.call(".view", *stmt.buffer.shape)
        else:
            self.out.write(" = T.decl_buffer(")
            self._arguments(stmt.buffer, dtype_always=True)
            self.out.write(", data=")
            self.exprs.expr(stmt.data)
            self.out.write(")")
        self._header(stmt, start, "")
        self.stmt(stmt.body)

    def _node_attr(self, stmt: Stmt) -> None:
        assert isinstance(stmt, NodeAttr)
        start = self.out.here()
        self.exprs.call("with T.attr", stmt.node, quoted(stmt.key), stmt.value)
        self._header(stmt, start, ":")
        self.nested(stmt.body)

    def declare(self, variables: Sequence[Var]) -> None:
        """Write `x = T.float32()` for variables without a value, and for those that are bound within expressions: TVM reads `T.Let` of
        declared variables only."""
        for var in variables:
            if not self.names.knows(var):
                self.names.define(var, var.name)
                self.exprs.name(var)
                self.out.line(f" = T.{type_text(var)}" if var.points_to else f" = T.{var.dtype}()")

    def _allocate(self, stmt: Stmt) -> None:
        assert isinstance(stmt, Allocate)
        self._allocated(stmt, stmt.buffers)

    def _allocated(self, stmt: Allocate, buffers: Sequence[Buffer]) -> None:
        """Write a line for each of these buffers, and the body; the line of a last scalar contains its first store."""
        rest = list(stmt.body.seq) if isinstance(stmt.body, SeqStmt) else [stmt.body]
        for buffer in buffers:
            start = self.out.here()
            if self._is_scalar(buffer, stmt.annotations):
                self._scalar(buffer, rest if buffer is buffers[-1] else [])
            else:
                self.names.define(buffer, buffer.name)
                self.exprs.name(buffer)
                self.out.write(f" = {self.words.allocate}")
                self.declaration(buffer, annotations=stmt.annotations)
            self._header(stmt, start, "")
        if rest:
            self.stmt(build.seq(rest))

    def _is_scalar(self, buffer: Buffer, annotations: Annotations) -> bool:
        return self.words.scalars and not buffer.shape and buffer.scope == "local" and not annotations

    def _scalar(self, buffer: Buffer, rest: list[Stmt]) -> None:
        """Write `x: T.float32 = value`. If `rest` starts with the scalar's first store, its value is used and the store is removed."""
        first = rest[0] if rest and isinstance(rest[0], BufferStore) and rest[0].buffer is buffer else None
        if first is not None and any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(first.value)):
            first = None
        start = self.out.here()
        name = self.names.define(buffer, buffer.name)
        self.out.write(name if first is not None and not _is_named(buffer.dtype) else f"{name}: T.{buffer.dtype}")
        if first is not None:
            del rest[0]
            self.out.write(" = ")
            self.exprs.expr(first.value)
            self.out.mark(first, start)
        self.exprs.scalars.add(buffer)

    def _launch(self, stmt: Stmt) -> None:
        assert isinstance(stmt, LaunchThread)
        start = self.out.here()
        name = self.names.define(stmt.var, stmt.var.name)
        self.out.write(f"{name} = ")
        self._launched(stmt)
        self._header(stmt, start, "")
        self.stmt(stmt.body)

    def _launched(self, stmt: LaunchThread) -> None:
        self.exprs.call("T.launch_thread", quoted(stmt.thread_tag), stmt.extent)

    def _can_be_closed(self, stmt: Stmt) -> TypeGuard[LetStmt | AssertStmt | Allocate | LaunchThread]:
        if isinstance(stmt, Allocate):
            return not all(self._is_scalar(b, stmt.annotations) for b in stmt.buffers)
        return isinstance(stmt, LetStmt | AssertStmt | LaunchThread)

    def _closed(self, stmt: LetStmt | AssertStmt | Allocate | LaunchThread) -> None:
        """Write the `with` form of a statement that ends before its sequence does."""
        start = self.out.here()
        with self.names.nested():
            match stmt:
                case LetStmt():
                    self.exprs.call("with T.LetStmt", stmt.value)
                    self._header(stmt, start, f" as {self.names.define(stmt.var, stmt.var.name)}:")
                case AssertStmt():
                    self.exprs.call("with T.Assert", stmt.condition, _message(stmt))
                    self._header(stmt, start, ":")
                case Allocate():
                    self.out.write("with T.allocate")
                    first = stmt.buffers[0]
                    self.declaration(first, annotations=stmt.annotations)
                    self._header(stmt, start, f" as {self.names.define(first, first.name)}:")
                case LaunchThread():
                    self.out.write("with ")
                    self._launched(stmt)
                    self._header(stmt, start, f" as {self.names.define(stmt.var, stmt.var.name)}:")
            with self.out.indented():
                if isinstance(stmt, Allocate):
                    self._allocated(stmt, stmt.buffers[1:])
                else:
                    self.stmt(stmt.body)

    # --- loops

    def _stepped(self, stmt: Stmt) -> None:
        assert isinstance(stmt, SteppedFor)
        self._nest([stmt.loop], stmt.step)

    def _for(self, stmt: Stmt) -> None:
        assert isinstance(stmt, For)
        self._nest(_grid(stmt))

    def _nest(self, loops: list[For], step: Expr | None = None) -> None:
        with self.names.nested():
            start = self.out.here()
            self.out.write("for ")
            # The bounds are outside of the loop's scope, but the printer only appends, so no name may occur twice.
            for i, loop in enumerate(loops):
                if i:
                    self.out.write(", ")
                self.names.define(loop.loop_var, loop.loop_var.name)
                self.exprs.name(loop.loop_var)
            self.out.write(" in ")
            if len(loops) > 1:
                self.exprs.call("T.grid", *(loop.extent for loop in loops))
            else:
                self._loop_range(loops[0], step)
            self.out.write(":")
            for loop in loops:
                self.out.mark(loop, start)
                self._loops[loop.loop_var] = loop
            self.out.line()
            with self.out.indented():
                self.stmt(loops[-1].body)
            for loop in loops:
                del self._loops[loop.loop_var]

    def _loop_range(self, loop: For, step: Expr | None = None) -> None:
        plain = loop.kind == "serial" and not loop.annotations
        self.out.write(f"{'range' if plain else _LOOPS[loop.kind]}(")
        if not build.is_const(loop.min, 0) or step is not None:
            self.exprs.expr(loop.min)
            self.out.write(", ")
        self.exprs.expr(end_of(Range(loop.min, loop.extent)))
        if step is not None:
            self.out.write(", " if plain else ", step=")
            self.exprs.expr(step)
        if loop.thread_tag is not None:
            self.out.write(f", thread={quoted(loop.thread_tag)}")
        self._annotations_keyword(loop.annotations)
        self.out.write(")")

    # --- blocks

    def _realize(self, stmt: Stmt) -> None:
        assert isinstance(stmt, BlockRealize)
        block = stmt.block
        with self.names.nested():
            start = self.out.here()
            self.out.write(f"with {self.words.block}({quoted(block.name)}):")
            self.out.mark(block, start)
            self._header(stmt, start, "")
            with self.out.indented():
                self._iterators(stmt)
                self._signature(stmt)
                for buffer in block.alloc_buffers:
                    self.allocated(buffer)
                self._match_buffers(block)
                if block.init is not None:
                    self.out.line("with T.init():")
                    self.nested(block.init)
                self.stmt(block.body)

    def _iterators(self, realize: BlockRealize) -> None:
        pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
        position = 0
        while position < len(pairs):
            run = position
            while run < len(pairs) and self._is_remap(*pairs[run]):
                run += 1
            if run - position > 1:
                self._remap(pairs[position:run])
                position = run
            else:
                self._axis(*pairs[position])
                position += 1

    def _is_remap(self, iter_var: IterVar, value: Expr) -> bool:
        loop = self._loops.get(value) if isinstance(value, Var) else None
        return (
            loop is not None
            and iter_var.iter_type in _REMAP
            and iter_var.var.dtype == loop.loop_var.dtype
            and structural_equal(iter_var.dom.min, loop.min)
            and structural_equal(iter_var.dom.extent, loop.extent)
        )

    def _remap(self, pairs: Sequence[tuple[IterVar, Expr]]) -> None:
        start = self.out.here()
        for i, (iter_var, _) in enumerate(pairs):
            self.names.define(iter_var.var, iter_var.var.name)
            if i:
                self.out.write(", ")
            self.exprs.name(iter_var.var)
        kinds = "".join(_REMAP[iter_var.iter_type] for iter_var, _ in pairs)
        self.out.write(f" = T.axis.remap({quoted(kinds)}, [")
        self.exprs.many([value for _, value in pairs])
        self.out.write("])")
        for iter_var, _ in pairs:
            self.out.mark(iter_var, start)
        self.out.line()

    def _axis(self, iter_var: IterVar, value: Expr) -> None:
        start = self.out.here()
        self.names.define(iter_var.var, iter_var.var.name)
        self.exprs.name(iter_var.var)
        self.out.write(f" = T.axis.{iter_var.iter_type}(")
        if build.is_const(iter_var.dom.min, 0):
            self.exprs.expr(iter_var.dom.extent)
        else:
            self.exprs.sizes((iter_var.dom.min, end_of(iter_var.dom)))
        self.out.write(", ")
        self.exprs.expr(value)
        self.out.write(")")
        self.out.mark(iter_var, start)
        self.out.line()

    def _signature(self, realize: BlockRealize) -> None:
        block = realize.block
        if not build.is_true(realize.predicate):
            self.exprs.call("T.where", realize.predicate)
            self.out.line()
        for function, regions in ("T.reads", block.reads), ("T.writes", block.writes):
            self.out.write(f"{function}(")
            for i, region in enumerate(regions):
                if i:
                    self.out.write(", ")
                self.exprs.region(region)
            self.out.line(")")
        if block.annotations:
            self.out.write(f"{self.words.block_attr}(")
            self.annotations(block.annotations)
            self.out.line(")")

    def _match_buffers(self, block: Block) -> None:
        self.define_sizes([m.buffer for m in block.match_buffers], set())
        for match in block.match_buffers:
            start = self.out.here()
            self.names.define(match.buffer, match.buffer.name)
            self.exprs.name(match.buffer)
            self.out.write(" = T.match_buffer(")
            self.exprs.region(match.source)
            self.out.write(", ")
            self._arguments(match.buffer, dtype_always=True)
            self.out.write(")")
            self.out.mark(match, start)
            self.out.line()

    # --- buffers

    def allocated(self, buffer: Buffer) -> None:
        """Write a buffer of a block on its own line."""
        self.names.define(buffer, buffer.name)
        self.exprs.name(buffer)
        self.out.write(f" = {self.words.alloc_buffer}")
        self.declaration(buffer)
        self.out.line()

    def declaration(
        self, buffer: Buffer, *, before: str = "", dtype_always: bool = False, annotations: Annotations = ()
    ) -> None:
        """Write `((128, 64), "float16", scope="local")`, without default values."""
        self.out.write(f"({before}, " if before else "(")
        self._arguments(buffer, dtype_always=dtype_always)
        self._annotations_keyword(annotations)
        self.out.write(")")

    def _arguments(self, buffer: Buffer, *, dtype_always: bool) -> None:
        self.exprs.sizes(buffer.shape)
        if dtype_always or buffer.dtype != "float32":
            self.out.write(f", {quoted(buffer.dtype)}")
        if buffer.strides:
            self.out.write(", strides=")
            self.exprs.sizes(buffer.strides)
        own_offset = isinstance(buffer.elem_offset, Var) and not self.names.knows(buffer.elem_offset)
        if buffer.elem_offset is not None and not own_offset:
            self.out.write(", elem_offset=")
            self.exprs.expr(buffer.elem_offset)
        elif buffer.elem_offset is None and buffer.offset_factor != 1:
            self.out.write(", elem_offset=")  # without it, TVM makes a variable
            self.exprs.expr(build.const(0, offset_dtype(buffer.shape)))
        if buffer.scope != "global":
            self.out.write(f", scope={quoted(buffer.scope)}")
        if buffer.data_alignment != 64:
            self.out.write(f", align={buffer.data_alignment}")
        if own_offset or buffer.offset_factor != 1:
            self.out.write(f", offset_factor={buffer.offset_factor}")
        if isinstance(buffer.elem_offset, Var) and own_offset and self.names.knows(buffer):
            self.names.alias(buffer.elem_offset, f"{self.names.of(buffer)}.elem_offset")
        if buffer.axis_separators:
            self.out.write(f", axis_separators={list(buffer.axis_separators)}")

    def define_sizes(self, buffers: Sequence[Buffer], known: set[Var]) -> None:
        """Write `m = T.int32()` for the variables that matching `buffers` defines. An offset without other uses needs no name."""
        for var in _size_vars(buffers):
            if var not in known and not self.names.knows(var):
                self.names.define(var, var.name)
                self.exprs.name(var)
                self.out.line(f" = T.{var.dtype}()")

    # --- annotations

    def annotations(self, annotations: Annotations) -> None:
        """Write `{"key": value}`."""
        self.out.write("{")
        for i, (key, value) in enumerate(annotations):
            self.out.write(f"{', ' if i else ''}{quoted(key)}: ")
            self._attribute(value)
        self.out.write("}")

    def _annotations_keyword(self, annotations: Annotations) -> None:
        if annotations:
            self.out.write(", annotations=")
            self.annotations(annotations)

    def _attribute(self, value: Annotation) -> None:
        """Write a value, as a Python constant if that reads back the same."""
        match value:
            case tuple():
                self.out.write("[")
                for i, item in enumerate(value):
                    self.out.write(", " if i else "")
                    self._attribute(item)
                self.out.write("]")
            case AnnotationMap():
                self.annotations(value.items)
            case IntImm(dtype="bool"):
                self.out.write(str(bool(value.value)))
            case IntImm(dtype="int64") if not build.fits(value.value, "int32"):
                self.out.write(str(value.value))
            case FloatImm(dtype="float64") if abs(value.value) != float("inf") and value.value == value.value:
                self.out.write(repr(float(value.value)))
            case StringImm():
                self.out.write(quoted(value.value))
            case Buffer():
                self.exprs.name(value)
            case _:
                self.exprs.expr(value)


def type_text(var: Var) -> str:
    """Return the type of a variable without "T.": `int32`, `handle("float32", "shared")`."""
    if not var.points_to:
        return var.dtype
    element, scope = var.points_to
    return (
        f"handle(storage_scope={quoted(scope)})" if element == "void" else f"handle({quoted(element)}, {quoted(scope)})"
    )


def _message(stmt: AssertStmt) -> str:
    """Return the message, with the kind of the error if it is not the usual one."""
    if stmt.kind == "RuntimeError" and not stmt.more:
        return quoted(stmt.message)
    return f"({quoted(stmt.kind)}, [{', '.join(map(quoted, (stmt.message, *stmt.more)))}])"


def _is_named(dtype: str) -> bool:
    """Whether TVM reads `T.` plus the type. It does not for some vectors; their type then follows from the value."""
    element, _, lanes = dtype.partition("x")
    return not lanes or (lanes in NAMED_LANES and element not in UNNAMED_LANES)


def is_implicit_root(realize: BlockRealize) -> bool:
    """Whether the parser adds this block around the function's statements implicitly, so that the printer omits it."""
    block = realize.block
    if (block.iter_vars, block.reads, block.writes, block.annotations, block.match_buffers, block.init) != (
        (),
        (),
        (),
        (),
        (),
        None,
    ):
        return False
    if block.name != "root" or not build.is_true(realize.predicate):
        return False
    if block.alloc_buffers:
        return True
    body_is_root = isinstance(block.body, BlockRealize) and not block.body.block.iter_vars
    return not body_is_root and any(isinstance(s, BlockRealize) for s in walk_stmts(block.body))


def _grid(loop: For) -> list[For]:
    """Return the loops that one T.grid covers: serial from zero, directly nested, bounds independent of each other."""
    loops = [loop]
    while _is_grid(loops[-1]) and isinstance(loops[-1].body, For) and _is_grid(loops[-1].body):
        inner = loops[-1].body
        if any(node is outer.loop_var for node in walk(inner.extent) for outer in loops):
            break
        loops.append(inner)
    return loops


def _is_grid(loop: For) -> bool:
    return loop.kind == "serial" and build.is_const(loop.min, 0) and not loop.annotations


def _size_vars(buffers: Sequence[Buffer]) -> Iterable[Var]:
    """Return the size variables in order, without offsets that are a variable of a single buffer, of the type that TVM gives them."""
    counts: dict[Var, int] = {}
    lone: set[Var] = set()
    for buffer in buffers:
        for part in (*buffer.shape, *buffer.strides):
            for node in walk(part):
                if isinstance(node, Var):
                    counts[node] = counts.get(node, 0) + 2
        if isinstance(buffer.elem_offset, Var):
            counts[buffer.elem_offset] = counts.get(buffer.elem_offset, 0) + 1
            if buffer.elem_offset.dtype == offset_dtype(buffer.shape):
                lone.add(buffer.elem_offset)
    return [var for var, count in counts.items() if var not in lone or count > 1]
