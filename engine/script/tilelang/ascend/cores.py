"""Kernels for AI cores: each block of the grid has a cube core and two vector cores, whose unified buffers are separate."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ....ir import (
    Annotations,
    AttrStmt,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    IntImm,
    Node,
    NodeAttr,
    Stmt,
    StringImm,
    Var,
    build,
    rewrite,
    walk,
)
from ...reading.reader import Item
from ...reading.statements.helpers import in_macro, macro_of
from ...subset.values import Function
from ..blocks import Lanes
from ..declarations import DeclarationReader
from ..names import REUSE
from ..sync.merge import UnknownOrderError
from ..sync.notes import Noted
from ..sync.statement import READ, Synchronised, sync, sync_of
from ..sync.tokens import Tokens
from .addresses import overwritten
from .flags import BOTH_SIDES, CUBE_SIDE, VECTOR_SIDE, inner_flags, pipes_of, synchronised
from .memories import ALLOCATIONS, CUBE, L0A, L0B, L0C, L1, UB
from .order import SIDE, Order
from .table import OPERATIONS

VECTOR_CORES = 2
ORDER = "tl.ascend_order"
"""The attribute around statements whose order is not known, with the reason."""
_ROLES: dict[str, tuple[str, ...]] = {
    "gemm_v0": (L1, L1, L0C),
    "gemm": (L1, L1, L0C),
    "mma": (L0A, L0B, L0C),
}
_PLANNED = re.compile(r"memory_planning\W+True", re.IGNORECASE)
"""The option by which the compiler plans addresses."""
_SYNC = ("set_flag", "wait_flag", "barrier_all", "pipe_barrier", "init_flag", "clear_flag")


class CoreReader(DeclarationReader):
    """Reads what is particular to kernels for AI cores."""

    def begin_function(self) -> None:
        super().begin_function()
        self.on_core = False  # whether the kernel that is read is one for AI cores
        self.scopes: dict[str, str] = {}  # memories of buffers by name that follow from their use
        self.has_cube = False
        self.core_side = BOTH_SIDES  # the core of the scope that is read
        self.addresses: dict[Buffer, int] = {}  # those that the text gives to buffers, in bytes
        self.unordered = ""  # why the order of statements is not known

    def is_core(self, call: ast.Call) -> bool:
        """Whether a launch is one on AI cores: `T.Kernel(n, is_npu=True) as (cid, vid)`."""
        given = next((k.value for k in call.keywords if k.arg == "is_npu"), None)
        return given is not None and bool(self.exprs.value(given))

    def enter_core(self, node: ast.With, call: ast.Call, names: Sequence[ast.expr]) -> Lanes | None:
        """Begin a kernel on AI cores; `names` are those of the number of the vector core, if the text has it."""
        self.on_core = True
        self.scopes = self._inferred(node)
        functions = {(self.exprs.called(part) or "").removeprefix("T.") for part in self._calls(node)}
        self.has_cube = bool(functions & {*_ROLES, "alloc_L1", "alloc_L0A", "alloc_L0B", "alloc_L0C"})
        if not names:
            return None
        var = Var(names[0].id if isinstance(names[0], ast.Name) else "vid", "int32")
        self.exprs.define(var.name, var, names[0])
        return Lanes((var,), (IntImm(VECTOR_CORES),), ("vthread.x",))

    def reuse(self) -> Annotations:
        """Return the annotation of a kernel for AI cores whose buffers share memory."""
        shares = bool(self.addresses) or any(map(_PLANNED.search, self.source.lines))
        return ((REUSE, IntImm(1)),) if shares else ()

    def leave_core(self, body: Stmt) -> Stmt:
        """Return the statements of the kernel in one order, or only to be read if it is not known."""
        order = Order(self.positions, self.loops, frozenset(self.axes))
        self.on_core = False
        lost = overwritten(body, self.addresses, VECTOR_CORES)
        if lost is not None:
            first, other = (buffer.name for buffer in lost)
            self.unordered = (
                self.unordered or f"{first} and {other} share addresses, and {first} is read after {other} is written"
            )
        if not self.unordered:
            try:
                found = order.order(body)
                self.synchronised.append(Synchronised(found))
                return self._noted(found)
            except UnknownOrderError as error:
                self.unordered = str(error)
        return NodeAttr(StringImm(self.unordered), ORDER, build.const(0, "int32"), self._noted(body))

    def _noted(self, body: Stmt) -> Stmt:
        """Return a statement without the flags and barriers in it, which become annotations of the blocks and loops beside them."""
        syncs = [node for node in walk(body) if isinstance(node, Evaluate) and sync_of(node) is not None]
        numbers: dict[Stmt, int] = {node: number for number, node in enumerate(syncs, 1)}
        tokens = Tokens(body, pipes_of, lambda part: synchronised(part, numbers), inner_flags)
        return Noted(self.positions, tokens).noted(body)

    def _calls(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> list[ast.Call]:
        """Return the calls in a kernel and in the macros that it calls."""
        found: list[ast.Call] = []
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                found.append(part)
                macro = macro_of(self.exprs, part)
                if macro is not None and macro.node not in seen:
                    found += self._calls(macro.node, seen | {macro.node})
        return found

    def _inferred(self, node: ast.With) -> dict[str, str]:
        """Return the memories of buffers by name that follow from the operations that use them."""
        calls = self._calls(node)
        found: dict[str, str] = {}
        for _ in range(4):
            before = len(found)
            for call in calls:
                function = (self.exprs.called(call) or "").removeprefix("T.")
                names = [_root(argument) for argument in call.args]
                for name, scope in zip(names, _ROLES.get(function, ()), strict=False):
                    found.setdefault(name, scope) if name else None
                if (
                    function == "copy"
                    and len(names) > 1
                    and found.get(names[1]) in ("wmma.matrix_a", "wmma.matrix_b")
                    and names[0]
                ):
                    found.setdefault(names[0], L1)
                macro = macro_of(self.exprs, call)
                if macro is not None and isinstance(macro.node, ast.FunctionDef):
                    for parameter, name in zip(macro.node.args.args, names, strict=False):
                        if parameter.arg in found and name:
                            found.setdefault(name, found[parameter.arg])
            if len(found) == before:
                break
        return found

    def scope_of(self, name: str, function: str, scope: str) -> str:
        """Return the memory of an allocation."""
        if not self.on_core:
            return scope
        return ALLOCATIONS.get(function) or self.scopes.get(name, UB)

    def _rare(self, node: ast.stmt) -> Item | None:
        if isinstance(node, ast.Return) and self.on_core and self.exprs.macros and isinstance(node.value, ast.Call):
            return self.statement(
                ast.copy_location(ast.Expr(node.value), node), is_last=True
            )  # of a function that chooses an operation
        return super()._rare(node)

    # --- units

    def is_private(self, buffer: Buffer) -> bool:
        if not self.on_core:
            return super().is_private(buffer)
        return buffer.scope == UB or (buffer.scope.startswith("local") and not self.has_cube)

    def runs_once(self, body: Stmt, conditions: Sequence[Expr]) -> bool:
        """Whether a statement is one of the cube core, which runs once."""
        nodes = list(walk(body))
        used = [node.buffer for node in nodes if isinstance(node, BufferLoad | BufferStore)]
        if not self.on_core or not any(buffer.scope in CUBE for buffer in used):
            return False
        if any(buffer in self.private for buffer in used):
            return False
        of_vector = self.lanes is not None and any(isinstance(node, Var) and node in self.lanes.vars for node in nodes)
        if of_vector or any(self.differs(condition) for condition in conditions):
            self.unordered = self.unordered or "a statement of the cube core uses the number of a vector core"
        return True

    def in_each(self, *, each: bool, sums: bool) -> bool:
        return sums if self.on_core else super().in_each(each=each, sums=sums)

    def conditions(self, body: Stmt, *, is_own: bool) -> list[Expr]:
        return self.masks if self.on_core else super().conditions(body, is_own=is_own)

    def read_here(self, value: Expr) -> Stmt | None:
        if not self.on_core or not any(isinstance(n, BufferLoad) and n.buffer.scope == UB for n in walk(value)):
            return None
        units = () if self.lanes is None else self.lanes.vars

        def leave(node: Node) -> Node:
            if isinstance(node, BufferLoad) and node.buffer in self.private:
                return BufferLoad(self.private[node.buffer], (*units, *node.indices))
            return node

        return sync("", READ, None, (), self.core_side, rewrite(value, leave))

    # --- scopes and flags

    def _with(self, node: ast.With, *, is_last: bool) -> Item | None:
        """Read `with T.If(condition):` around `with T.Then():` and `with T.Else():`."""
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or self.exprs.called(call) != "T.If":
            return super()._with(node, is_last=is_last)
        inner = [part for part in node.body if isinstance(part, ast.With)] if len(node.items) == 1 else []
        branches = {self.exprs.called(part.items[0].context_expr): part.body for part in inner}
        if len(node.items) == 2:
            branches = {self.exprs.called(node.items[1].context_expr): node.body}
        if not branches or not branches.keys() <= {"T.Then", "T.Else"} or len(inner) not in (len(node.body), 0):
            raise self.source.error(
                node, "unsupported", "this branch is not supported", expected="with T.If(condition): with T.Then(): …"
            )
        empty: list[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
        return self._if(
            ast.copy_location(ast.If(call.args[0], branches.get("T.Then", empty), branches.get("T.Else", [])), node)
        )

    def core_scope(self, node: ast.With, call: ast.Call) -> Stmt:
        """Read `with T.Scope("C"):`: statements of the cube core, or of the vector cores."""
        side = self.exprs.string(call.args[0])
        if side not in ("C", "V"):
            raise self.source.error(
                call, "wrong-arguments", f"there is no scope {side!r}", expected='T.Scope("C") or T.Scope("V")'
            )
        outer, self.core_side = self.core_side, CUBE_SIDE if side == "C" else VECTOR_SIDE
        made = AttrStmt(SIDE, build.const(self.core_side, "int32"), self.nested_body(node.body))
        self.core_side = outer
        return self.mark(made, self.source.header(node))

    def core_statement(self, function: str, call: ast.Call) -> tuple[bool, Item | None]:
        """Read a flag, a barrier or an operation of an AI core; the first result is whether it is one."""
        inlined = self.exprs.scope.get(call.func.id) if not function and isinstance(call.func, ast.Name) else None
        if (
            isinstance(inlined, Function)
            and isinstance(inlined.node, ast.FunctionDef)
            and macro_of(self.exprs, call) is None
        ):
            with in_macro(self.exprs, inlined, call):
                return True, self.same_scope(inlined.node.body)
        read = OPERATIONS.get(function)
        if read is not None:
            return True, read(self, call)
        if function == "annotate_address":
            self._addresses(call)
            return True, None
        text = f"{function}({', '.join(map(ast.unparse, [*call.args, *(k.value for k in call.keywords)]))})"
        if function in ("set_cross_flag", "wait_cross_flag"):
            return True, self._cross_flag(function, call, text)
        if function == "sync_all":
            self.unordered = self.unordered or "sync_all waits for the other blocks of the grid"
            return True, sync(text)
        return function in _SYNC, self._flag(function, call, text) if function in _SYNC else None

    def _flag(self, function: str, call: ast.Call, text: str) -> Stmt:
        """Read `T.set_flag("mte2", "v", 0)`, `T.wait_flag("mte2", "v", 0)`, `T.barrier_all()`, `T.pipe_barrier("v")`."""
        named = {k.arg: k.value for k in call.keywords}
        given = {**dict(zip(("src", "dst", "eventId"), call.args, strict=False)), **named}
        pipes = [self.exprs.string(given[key]).upper() for key in ("src", "dst") if key in given]
        if function in ("set_flag", "wait_flag"):
            number = self.exprs.expr(call.args[2] if len(call.args) > 2 else list(given.values())[-1])
            return sync(text, function, number, pipes, self.core_side)
        if function == "barrier_all" or (function == "pipe_barrier" and pipes == ["ALL"]):
            return sync(text, "barrier", None, (), self.core_side)
        return sync(text, "pipe" if function == "pipe_barrier" else "", None, pipes, self.core_side)

    def _addresses(self, call: ast.Call) -> None:
        """Read `T.annotate_address({A: 0, B: 32768})`, in bytes."""
        found = call.args[0] if call.args else None
        for key, value in zip(found.keys, found.values, strict=True) if isinstance(found, ast.Dict) else ():
            buffer = self.exprs.value(key) if key is not None else None
            address = self.exprs.value(value)
            address = address.value if isinstance(address, IntImm) else address
            if isinstance(buffer, Buffer) and isinstance(address, int):
                self.addresses[self.private.get(buffer, buffer)] = address
            else:
                self.unordered = self.unordered or f"the address of {ast.unparse(key or value)} is not known"

    def _cross_flag(self, function: str, call: ast.Call, text: str) -> Stmt:
        """Read `T.set_cross_flag("FIX", 0)`, `T.wait_cross_flag(0)`: flags between the cube core and the vector cores."""
        named = {k.arg: k.value for k in call.keywords}
        names = ("pipe", "flag", "mode") if function == "set_cross_flag" else ("flag", "pipe")
        given = {**dict(zip(names, call.args, strict=False)), **named}
        mode = given.get("mode")
        if mode is not None and self.exprs.constant_int(mode) != 2:
            self.unordered = self.unordered or f"{text} waits for cores of its own kind"
            return sync(text)
        number = self.exprs.expr(given["flag"])
        if self.masks or any(isinstance(node, BufferLoad) for node in walk(number)):
            self.unordered = self.unordered or f"whether {text} runs is known only in a run"
        pipes = (self.exprs.string(given["pipe"]).upper(),) if function == "set_cross_flag" and "pipe" in given else ()
        return sync(text, "set" if function == "set_cross_flag" else "wait", number, pipes, self.core_side)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


__all__ = ["CoreReader"]
