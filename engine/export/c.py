"""Export of a scheduled program as C: the loops after `lower`, one function, only C's standard library.

Comments name each block and each loop's kind: a parallel, vectorized or bound loop runs in order here, as it does in `execute`. Integer
results are equal bit for bit, float results up to rounding (a compiler may contract or reassociate, see `-ffp-contract`). The code does not
check for accesses outside of buffers or for reads of uninitialized memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from ..arith import Analyzer
from ..execute import NO_OPERATION, PURE_CALLS, element, lane_of, lanes_of
from ..ir import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IRModule,
    LaunchThread,
    LetStmt,
    Node,
    PrimFunc,
    Ramp,
    Range,
    SeqStmt,
    Stmt,
    StringImm,
    TilewrightError,
    Var,
    build,
    refusing_depth,
    rewrite,
    structural_equal,
    walk,
    walk_stmts,
)
from ..ir import dtype as dt
from ..lower import PASSES, require_known
from .c_expr import CExpressions, loads_in_order
from .c_words import CNames, c_type, function_name, helper_text, refuse

Storage = Literal["heap", "arguments"]
Accesses = Literal["free", "exact"]

SMALL_BYTES = 1024
"""An intermediate buffer up to this size is a local variable; compilers keep one of few elements in registers."""
BLOCK = "block"


class CFunction(msgspec.Struct, frozen=True, eq=False):
    """A function's C: `text` with its helpers, `name`, and its `arguments` in order, parameters and then, with storage "arguments",
    intermediate buffers. `can_fail`: it returns an int, 0 on success."""

    name: str
    text: str
    arguments: tuple[Buffer | Var, ...]
    can_fail: bool
    line_of: dict[str, tuple[int, ...]]
    """For each block, the numbers of the lines in `text` that contain its stores."""


def to_c(program: PrimFunc | IRModule, *, storage: Storage = "heap", accesses: Accesses = "free") -> str:
    """Return the C file of a function, or of all functions of a module.

    Intermediate buffers that are not small come from `malloc`, or with storage "arguments" from the caller. With accesses "exact", each
    access of the program is one access of the compiled code (by `volatile`), in program order, so that cache accesses can be counted.
    Raises TilewrightError "no-c" for unsupported constructs, and the errors of `lower`.
    """
    funcs = program.functions if isinstance(program, IRModule) else (program,)
    made = [_Function(f, storage, accesses) for f in funcs]
    helpers = {key: None for m in made for key in m.expressions.helpers}
    return _file(helpers, made)


def c_function(func: PrimFunc, *, storage: Storage = "heap", accesses: Accesses = "free") -> CFunction:
    """Export one function with the metadata that a caller in another language needs."""
    made = _Function(func, storage, accesses)
    text = _file(made.expressions.helpers, [made])
    offset = text[: text.index(made.text)].count("\n") + 1
    lines = {name: tuple(offset + n for n in numbers) for name, numbers in made.lines_of.items()}
    return CFunction(made.name, text, made.arguments, made.can_fail, lines)


def c_functions(funcs: Sequence[PrimFunc]) -> tuple[str, tuple[CFunction, ...]]:
    """Return one C file of several functions, and each with its metadata; the `text` of each is its own part of the file."""
    made = [_Function(f, "heap", "free") for f in funcs]
    helpers = {key: None for m in made for key in m.expressions.helpers}
    return _file(helpers, made), tuple(CFunction(m.name, m.text, m.arguments, m.can_fail, {}) for m in made)


QUIET = """\
#if defined(__GNUC__) && !defined(__clang__)
/* Values are written before they are read, which the compiler cannot always see. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
"""


def _file(helpers: Mapping[tuple[str, str], None], made: Sequence[_Function]) -> str:
    head = "/* Exported by Tilewright. */\n" + "".join(
        f"#include <{h}.h>\n" for h in ("math", "stdbool", "stdint", "stdlib")
    )
    head += QUIET
    functions = "\n".join(helper_text(*key) for key in helpers)
    return "\n".join([head, *([functions + "\n"] if functions else []), "\n".join(m.text for m in made)])


@refusing_depth(TilewrightError)
def _lowered(func: PrimFunc) -> PrimFunc:
    """Return `lower(func)` with each named block marked by an AttrStmt."""
    require_known(func)
    for step in PASSES:
        if step.name == "LowerOpaqueBlock":
            func = rewrite(func, _noted)
        func = step.apply(func)
    return func


def _noted(node: Node) -> Node:
    if isinstance(node, BlockRealize) and node.block.name not in ("", "root"):
        return AttrStmt(BLOCK, StringImm(node.block.name), node)
    return node


class _Function:
    def __init__(self, func: PrimFunc, storage: Storage, accesses: Accesses) -> None:
        self.func = func = _lowered(func)
        self.storage, self.accesses = storage, accesses
        self.lines: list[str] = []
        self.depth = 1
        self.names = CNames()
        self.ranges: dict[Var, Range] = {}
        self.expressions = CExpressions(self.names, Analyzer(self.ranges))
        self.written = {n.buffer for n in walk_stmts(func.body) if isinstance(n, BufferStore)}
        self.read = {n.buffer for n in walk(func.body) if isinstance(n, BufferLoad)}
        allocated = [b for n in walk_stmts(func.body) if isinstance(n, Allocate) for b in n.buffers]
        # Heap buffers are allocated once, at the function's start: their contents are undefined when their allocation is reached again.
        self.heap = [b for b in allocated if not self._is_small(b)]
        self.asserts = False
        self.block = ""
        self.lines_of: dict[str, list[int]] = {}
        self.name = function_name(func.name)
        self.arguments = self._arguments()
        signature = [self._declared(a) for a in self.arguments]
        for buffer in allocated:
            if dt.is_vector(buffer.dtype):
                raise refuse("a buffer of vectors", buffer)
        for buffer in self.heap:
            self.names.declare(buffer, buffer.name)
        self.statement(func.body)
        self.can_fail = self.asserts or (bool(self.heap) and storage == "heap")
        if storage == "arguments":
            self.arguments = (*self.arguments, *self.heap)
            signature += [f"{self._pointer(b)}{self.names.called[b]}" for b in self.heap]
        head = f"{'int' if self.can_fail else 'void'} {self.name}({', '.join(signature) or 'void'}) {{"
        opened = self._opening()
        self.lines_of = {name: [n + 1 + len(opened) for n in numbers] for name, numbers in self.lines_of.items()}
        self.text = "\n".join([head, *opened, *self.lines, *self._closing(), "}", ""])

    # -- the function

    def _arguments(self) -> tuple[Buffer | Var, ...]:
        """Return the parameters in order, then the sizes that occur only in shapes."""
        held = dict(self.func.buffer_map)
        found: list[Buffer | Var] = [held.get(p, p) for p in self.func.params]
        for buffer in self.func.buffers:
            for expr in (*buffer.shape, *buffer.strides, *([buffer.elem_offset] if buffer.elem_offset else [])):
                found += [n for n in walk(expr) if isinstance(n, Var) and n not in found]
        return tuple(dict.fromkeys(found))

    def _declared(self, argument: Buffer | Var) -> str:
        if isinstance(argument, Buffer):
            if dt.is_vector(argument.dtype):
                raise refuse("a buffer of vectors", argument)
            const = "" if argument in self.written else "const "
            return f"{const}{self._pointer(argument)}{self.names.declare(argument, argument.name)}"
        return f"{c_type(argument.dtype, argument)} {self.names.declare(argument, argument.name)}"

    def _pointer(self, buffer: Buffer) -> str:
        return f"{'volatile ' if self.accesses == 'exact' else ''}{c_type(buffer.dtype, buffer)} *restrict "

    def _opening(self) -> list[str]:
        if self.storage == "arguments" or not self.heap:
            return ["    int status = 0;"] if self.asserts else []
        made = [
            f"    {self._pointer(b)}{self.names.called[b]} = malloc(sizeof({c_type(b.dtype)}) * (size_t)({self._size(b)}));"
            for b in self.heap
        ]
        missing = " || ".join(f"{self.names.called[b]} == NULL" for b in self.heap)
        return [*made, "    int status = 1;", f"    if ({missing})", "        goto done;", "    status = 0;"]

    def _closing(self) -> list[str]:
        if not self.can_fail:
            return []
        heap = self.heap if self.storage == "heap" else []
        freed = [f"    free((void *){self.names.called[b]});" for b in reversed(heap)]
        return [*(["done:"] if self.asserts or heap else []), *freed, "    return status;"]

    def _size(self, buffer: Buffer) -> str:
        known = _constant_size(buffer)
        if known is not None:
            return str(known)
        inside = {n for e in buffer.shape for n in walk(e) if isinstance(n, Var)}
        if not inside <= set(self.arguments):
            raise refuse(f"buffer {buffer.name}, whose size depends on the iteration", buffer)
        return " * ".join(f"({self.expressions.index(e)})" for e in buffer.shape)

    # -- statements

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def statement(self, stmt: Stmt) -> None:
        method = _STATEMENTS.get(type(stmt))
        if method is None:
            raise refuse(f"a {type(stmt).__name__}", stmt)
        method(self, stmt)

    def nested(self, head: str, body: Callable[[], None], comment: str = "") -> None:
        self.line(f"{head} {{".lstrip() + (f"  /* {_comment(comment)} */" if comment else ""))
        self.depth += 1
        self.names.enter()
        body()
        self.names.leave()
        self.depth -= 1
        self.line("}")

    def sequence(self, stmt: SeqStmt) -> None:
        for s in stmt.seq:
            self.statement(s)

    def loop(self, stmt: For) -> None:
        comment = {"serial": "", "thread_binding": stmt.thread_tag or ""}.get(stmt.kind, stmt.kind)
        self._loop(stmt.loop_var, stmt.min, stmt.extent, comment, lambda: self.statement(stmt.body))

    def launch(self, stmt: LaunchThread) -> None:
        self._loop(
            stmt.var, build.const(0, stmt.var.dtype), stmt.extent, stmt.thread_tag, lambda: self.statement(stmt.body)
        )

    def _loop(self, var: Var, first: Expr, extent: Expr, comment: str, body: Callable[[], None]) -> None:
        kind = c_type(var.dtype, var)
        start = self.expressions.index(first)
        end = self.expressions.index(build.add(first, extent))
        low, high = (
            self.expressions.analyzer.bounds(first).low,
            self.expressions.analyzer.bounds(build.add(first, extent)).high,
        )
        if low is not None and high is not None:
            self.ranges[var] = build.make_range(low, max(1, high - low))
            self.expressions.analyzer = Analyzer(self.ranges)
        self.names.enter()
        name = self.names.declare(var, var.name)
        fixed = any(isinstance(n, BufferLoad | Call) for n in walk(extent))  # the value at loop entry
        stop = self.names.declare(extent, f"{name}_end") if fixed else end
        also = f", {stop} = {end}" if fixed else ""
        head = f"for ({kind} {name} = {start}{also}; {name} < {stop}; ++{name})"
        self.nested(head, body, comment)
        self.names.leave()

    def branch(self, stmt: IfThenElse) -> None:
        self.nested(f"if ({self.expressions.condition(stmt.condition)})", lambda: self.statement(stmt.then_case))
        otherwise = stmt.else_case
        if otherwise is not None:
            self.lines.pop()
            self.nested("} else", lambda: self.statement(otherwise))

    def let(self, stmt: LetStmt) -> None:
        if dt.is_vector(stmt.var.dtype):
            raise refuse("a vector that is kept in a variable", stmt)
        value = self.expressions.value(stmt.value)
        name = self.names.declare(stmt.var, stmt.var.name)
        self.line(f"const {c_type(stmt.var.dtype, stmt)} {name} = {value};")
        self.line(f"(void){name};")
        self.statement(stmt.body)

    def allocate(self, stmt: Allocate) -> None:
        for buffer in stmt.buffers:
            if buffer not in self.heap:
                name, size = self.names.declare(buffer, buffer.name), _constant_size(buffer)
                self.line(
                    f"{c_type(buffer.dtype, buffer)} {name}[{max(1, size or 1)}];  /* {_comment(buffer.scope)} */"
                )
                if buffer not in self.read:
                    self.line(f"(void){name};")
        self.statement(stmt.body)

    def _is_small(self, buffer: Buffer) -> bool:
        size = _constant_size(buffer)
        fits = size is not None and size * dt.size_bytes(buffer.dtype) <= SMALL_BYTES
        return fits and (self.storage == "heap" or buffer.scope != "global")

    def assertion(self, stmt: AssertStmt) -> None:
        self.asserts = True
        self.line(f"if (!({self.expressions.condition(stmt.condition)})) {{  /* {_comment(stmt.message)} */")
        self.line("    status = 2;")
        self.line("    goto done;")
        self.line("}")
        self.statement(stmt.body)

    def attribute(self, stmt: AttrStmt) -> None:
        around = self.block
        if stmt.key == BLOCK and isinstance(stmt.value, StringImm):
            self.block = stmt.value.value
            self.line(f"/* {_comment(self.block)} */")
        self.statement(stmt.body)
        self.block = around

    def evaluate(self, stmt: Evaluate) -> None:
        value = stmt.value
        if build.is_noop(stmt) or (isinstance(value, Call) and value.op in NO_OPERATION):
            return
        unknown = next((n for n in walk(value) if isinstance(n, Call) and n.op not in PURE_CALLS), None)
        if unknown is not None:
            raise refuse(f"the intrinsic {unknown.op!r}", unknown)
        self.line(f"(void)({self.expressions.value(value)});")

    # -- stores

    def store(self, stmt: BufferStore) -> None:
        if stmt.indices and isinstance(stmt.indices[-1], Ramp):
            return self._by_lane(stmt)
        if self.accesses == "exact":
            return self.nested("", lambda: self._in_order(stmt)) if self._loads(stmt) else self._store(stmt)
        return self._store(stmt)

    def _store(self, stmt: BufferStore) -> None:
        target = self.expressions.element(stmt.buffer, stmt.indices)
        self._mark()
        self.line(f"{target} = {self.expressions.value(stmt.value)};")

    def _loads(self, stmt: BufferStore) -> list[BufferLoad]:
        return [load for e in (stmt.value, *stmt.indices) for load in loads_in_order(e)]

    def _in_order(self, stmt: BufferStore) -> None:
        """Load each unconditionally evaluated operand in its own statement, because C leaves the order within an expression open.

        Equal loads of a statement are done once.
        """
        before = dict(self.expressions.kept)
        every = [n for e in (stmt.value, *stmt.indices) for n in walk(e) if isinstance(n, BufferLoad)]
        for load in self._loads(stmt):
            if load not in self.expressions.kept:
                value = self.expressions.element(load.buffer, load.indices)
                name = self.names.declare(load, f"{self.names.called[load.buffer]}_value")
                self._mark()
                self.line(f"const {c_type(load.dtype, load)} {name} = {value};")
                self.expressions.kept.update((n, name) for n in every if _are_equal_loads(n, load))
        self._store(stmt)
        self.expressions.kept = before

    def _mark(self) -> None:
        self.lines_of.setdefault(self.block, []).append(len(self.lines))

    def _by_lane(self, stmt: BufferStore) -> None:
        """Write a vector store as a loop over its lanes. The whole vector is computed before any lane is stored."""
        *points, last = stmt.indices
        assert isinstance(last, Ramp)
        lane, lanes = Var("lane", last.base.dtype), lanes_of(stmt.value.dtype)
        target = (*points, element(last, lane))
        value = lane_of(stmt.value, lane, lambda old, new: None)
        if any(isinstance(n, BufferLoad) and n.buffer is stmt.buffer for n in walk(value)):
            made = Buffer("vector", (build.const(lanes, "int32"),), dt.element(stmt.value.dtype), "local")
            kept = build.serial(lane, lanes, BufferStore(made, value, (lane,)))
            after = Var("lane", lane.dtype)
            back = BufferStore(stmt.buffer, BufferLoad(made, (after,)), (*points, element(last, after)))
            whole = Allocate((made,), build.seq([kept, build.serial(after, lanes, back)]))
            return self.nested("", lambda: self.statement(whole))
        return self.statement(build.serial(lane, lanes, BufferStore(stmt.buffer, value, target)))


def _are_equal_loads(a: BufferLoad, b: BufferLoad) -> bool:
    """Whether two loads are structurally equal, with indices that contain no loads."""
    return a is b or (
        a.buffer is b.buffer
        and all(structural_equal(x, y) for x, y in zip(a.indices, b.indices, strict=True))
        and not any(isinstance(n, BufferLoad) for i in a.indices for n in walk(i))
    )


def _constant_size(buffer: Buffer) -> int | None:
    """Return the number of elements of the buffer; None if a size is symbolic."""
    extents = [build.int_value(e) for e in buffer.shape]
    known = [e for e in extents if e is not None]
    return prod(known) if len(known) == len(extents) else None


def _comment(text: str) -> str:
    return (
        "".join(c if c.isprintable() and c.isascii() else "?" for c in text).replace("*/", "* /").replace("/*", "/ *")
    )


_STATEMENTS: Mapping[type[Stmt], Callable[[_Function, Any], None]] = MappingProxyType(
    {
        Allocate: _Function.allocate,
        AssertStmt: _Function.assertion,
        AttrStmt: _Function.attribute,
        BufferStore: _Function.store,
        Evaluate: _Function.evaluate,
        For: _Function.loop,
        IfThenElse: _Function.branch,
        LaunchThread: _Function.launch,
        LetStmt: _Function.let,
        SeqStmt: _Function.sequence,
    }
)
