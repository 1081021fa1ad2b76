"""Bodies of a program: sequences, blocks, branches and loops."""

from __future__ import annotations

import ast
from typing import TypeVar

from ....cancellation import checkpoint
from ....ir import (
    FAULTS,
    AssertStmt,
    AttrStmt,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntegerBranch,
    IntImm,
    NodeAttr,
    Return,
    SteppedFor,
    Stmt,
    Var,
    Verbatim,
    While,
    build,
)
from ....ir import dtype as dt
from ...subset.values import Function
from ..blocks import BlockFrame, read_annotations, read_regions, unique_name
from ..buffers import allocate_declaration
from ..intrinsics import is_unknown, parameters
from ..reader import Item, Wrapper
from .assignments import AssignmentReader
from .early import bound_values, define_iterators, early_header, read_bind, with_loops
from .helpers import as_store, in_macro, macro_of
from .loops import loop_headers, loop_targets

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


class StatementReader(AssignmentReader):
    """Translates Python statements to IR, one function at a time. In the `current` dialect T.alloc_buffer is a statement, not part of a
    block."""

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
