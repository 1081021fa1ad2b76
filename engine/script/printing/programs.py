"""Program printer: the current dialect, for TVM >= 0.26, or the classic dialect of TVM 0.8-0.23."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...ir import (
    Annotations,
    BlockRealize,
    Buffer,
    IRModule,
    Let,
    PrimFunc,
    StringImm,
    TilewrightError,
    Var,
    refusing_depth,
    unbound_vars,
    walk,
)
from ..reading.source import Positions
from .dialect import CLASSIC, CURRENT, OPTIONS, PRIVATE, RETURNS, S_TIR, Words
from .statements import StmtPrinter, is_implicit_root, type_text
from .writer import Names, Writer, identifier

LINE_LENGTH = 120
"""Longer signatures are wrapped, one parameter per line."""

Dialect = Literal["current", "classic"]


class Printed(msgspec.Struct, frozen=True, eq=False):
    """A program's text with the places of its nodes."""

    text: str
    positions: Positions


def to_script(program: IRModule | PrimFunc, dialect: Dialect = "current") -> str:
    """Print the program as TVMScript. Imports are comments above it, as in TVM's own print; `tvm.script.from_source` accepts no others."""
    return print_program(program, dialect).text


@refusing_depth(TilewrightError)
def print_program(program: IRModule | PrimFunc, dialect: Dialect = "current") -> Printed:
    """Print the program and record the place of each node: a loop or block at its header, a variable or buffer at each occurrence.

    `axis_separators` are written as a keyword of the buffer, which TVM accepted up to 0.25.
    """
    if dialect not in ("current", "classic"):
        raise ValueError(f"no dialect {dialect!r}; there are current and classic")
    words = CURRENT if dialect == "current" else CLASSIC
    out = Writer()
    if isinstance(program, IRModule):
        out.line("# from tvm.script import ir as I")
    out.line(f"# from tvm.script import {words.module} as T")
    out.line()
    if isinstance(program, IRModule):
        _print_module(out, words, program)
    else:
        _FunctionPrinter(out, words, program).print()
    return Printed(out.text(), out.positions())


def _print_module(out: Writer, words: Words, module: IRModule) -> None:
    out.line("@I.ir_module")
    start = out.here()
    out.write("class Module:")
    out.mark(module, start)
    out.line()
    with out.indented():
        if module.attrs:
            printer = StmtPrinter(out, Names(), words)
            out.write("I.module_attrs(")
            printer.annotations(module.attrs)
            out.line(")")
            out.line()
        for i, func in enumerate(module.functions):
            if i:
                out.line()
            _FunctionPrinter(out, words, func).print()
        if not module.functions:
            out.line("pass")


class _FunctionPrinter:
    """Printer of one function. Parameters without variables are declared in the signature; others are matched in the body."""

    def __init__(self, out: Writer, words: Words, func: PrimFunc) -> None:
        self.out = out
        self.words = words
        self.func = func
        self.names = Names()
        self.stmts = StmtPrinter(out, self.names, words)
        self.buffers = dict(func.buffer_map)
        self.known: set[Var] = {*func.params}
        self.later: list[tuple[Var, Buffer]] = []

    def print(self) -> None:
        private = any(name == PRIVATE for name, _ in self.func.attrs)
        lowered = any(name == S_TIR for name, _ in self.func.attrs)
        option = "" if lowered else self.words.function_option
        options = ["private=True"] * private + [option] * bool(option)
        self.out.line(f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func")
        start = self.out.here()
        self.out.write(f"def {identifier(self.func.name)}(")
        self._parameters()
        self.out.write(")")
        returned = dict(self.func.attrs).get(RETURNS)
        self.out.write(f" -> T.{returned.value}:" if isinstance(returned, StringImm) else ":")
        self.out.mark(self.func, start)
        self.out.line()
        with self.out.indented():
            self._matched()
            self._attributes()
            lets = [node.var for node in walk(self.func.body) if isinstance(node, Let)]
            self.stmts.declare([*unbound_vars(self.func), *lets])
            self._body()

    def _parameters(self) -> None:
        """Write the parameters on the function's line if they fit, otherwise one per line."""
        for buffer in self.func.buffers:
            self.names.define(buffer, buffer.name)
        for param in self.func.params:
            buffer = self.buffers.get(param)
            if buffer is None or _variables(buffer):
                self.names.define(param, f"var_{self.names.of(buffer)}" if buffer is not None else param.name)
        scratch = Writer()
        self._parameter_list(scratch, wrapped=False)
        wrapped = self.out.here()[1] + len(scratch.text()) + len("):") > LINE_LENGTH + 1
        self._parameter_list(self.out, wrapped=wrapped)
        self.later = [(p, b) for p, b in self.func.buffer_map if self.names.knows(p)]

    def _parameter_list(self, out: Writer, *, wrapped: bool) -> None:
        stmts = StmtPrinter(out, self.names, self.words)
        if wrapped:
            out.line()
        for i, param in enumerate(self.func.params):
            if i and not wrapped:
                out.write(", ")
            with out.indented(wrapped):
                self._parameter(out, stmts, param)
                if wrapped:
                    out.line(",")

    def _parameter(self, out: Writer, stmts: StmtPrinter, param: Var) -> None:
        start = out.here()
        if self.names.knows(param):
            out.write(f"{self.names.of(param)}: T.{type_text(param)}")
        else:
            stmts.exprs.name(self.buffers[param])
            out.write(": T.Buffer")
            stmts.declaration(self.buffers[param], dtype_always=True)
        out.mark(param, start)

    def _matched(self) -> None:
        self.stmts.define_sizes([b for _, b in self.later], self.known)
        for param, buffer in self.later:
            self.stmts.exprs.name(buffer)
            self.out.write(" = T.match_buffer")
            self.stmts.declaration(buffer, before=self.names.of(param), dtype_always=True)
            self.out.line()

    def _attributes(self) -> None:
        attrs: Annotations = tuple((self.words.attribute(n), v) for n, v in self.func.attrs if n not in OPTIONS)
        if attrs:
            self.out.write("T.func_attr(")
            self.stmts.annotations(attrs)
            self.out.line(")")

    def _body(self) -> None:
        body = self.func.body
        if isinstance(body, BlockRealize) and is_implicit_root(body):
            start = self.out.here()
            self.out.write(f'# with {self.words.block}("root"):')
            self.out.mark(body, start)
            self.out.mark(body.block, start)
            self.out.line()
            for buffer in body.block.alloc_buffers:
                self.stmts.allocated(buffer)
            self.stmts.stmt(body.block.body)
        else:
            self.stmts.stmt(body)


def _variables(buffer: Buffer) -> set[Var]:
    parts = (*buffer.shape, *buffer.strides, *((buffer.elem_offset,) if buffer.elem_offset is not None else ()))
    return {node for part in parts for node in walk(part) if isinstance(node, Var)}
