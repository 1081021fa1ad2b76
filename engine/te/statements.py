"""Reader of TE text: its statements and the functions that it defines, as far as they are decided when the text is read.

Loops are over known items, conditions on known values. A statement that builds, measures or prints is passed over and listed in `passed`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..cancellation import checkpoint
from ..ir import FAULTS, Place
from ..script import Note
from ..script.errors import ParseError, parse_error
from ..script.subset.bindings import is_configuration, root_name, suppresses
from ..script.subset.scope import Unknown, Value
from .certainty import CertainReader
from .model import Attributes, Function, ListValue, Returned, Runtime
from .reader import MAX_CALLS
from .stages import Stage, TESchedule


class TeStatementReader(CertainReader):
    """Reads statements too."""

    # --- functions of the text

    def call(
        self, function: Function, args: Sequence[Value], node: ast.AST, named: dict[str | None, Value] | None = None
    ) -> Value:
        """Return the result of a function of the text for these arguments: its evaluated body."""
        if self._calls >= MAX_CALLS:
            raise self.error(
                node, "too-deep", "calls of functions are nested too deeply", expected=f"at most {MAX_CALLS} levels"
            )
        self.require_local(function, node)
        outer, self.scope = self.scope, function.scope.opened()
        self._calls += 1
        try:
            for name, value in self._bound(function, args, named or {}, node).items():
                self.scope.define(name, value)
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body)
            returned = self._block(function.node.body)
            return returned.value if returned is not None else None
        finally:
            self._calls -= 1
            self.scope = outer

    def _bound(
        self, function: Function, args: Sequence[Value], named: dict[str | None, Value], node: ast.AST
    ) -> dict[str, Value]:
        signature = function.node.args
        names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
        keywords = [a.arg for a in signature.kwonlyargs]
        found = dict(function.defaults)
        found |= dict(zip(names, args, strict=False))
        found |= {k: v for k, v in named.items() if k is not None}
        if signature.vararg is not None:
            found[signature.vararg.arg] = tuple(args[len(names) :])
        known = {*names, *keywords, *([signature.vararg.arg] if signature.vararg else [])}
        extra = len(args) > len(names) and signature.vararg is None
        if extra or set(found) != known or signature.kwarg:
            raise self.error(node, "wrong-arguments", f"the function takes ({', '.join([*names, *keywords])})",
                             expected=f"{len(names)} arguments, here are {len(args) + len(named)}")  # fmt: skip
        return found

    # --- statements, at the top and in functions

    def top(self, node: ast.stmt) -> None:
        """Read a statement outside of functions, and forget what it may bind besides what its reading defines."""
        self.statement(node)
        self.settle(node)

    def statement(self, node: ast.stmt) -> Returned | None:
        """Read a statement; return the value of a `return`. Raises "unsupported" for classes and statements that are not decided here."""
        checkpoint()
        self.step(node)
        try:
            return self._statement(node)
        except FAULTS as error:
            raise self.source.refused(node, error) from error

    def _statement(self, node: ast.stmt) -> Returned | None:
        match node:
            case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(ast.Name(name), "append" | "extend" as method), args=[item])
            ) if isinstance(self.scope.get(name), tuple):
                self._extend(name, item, node, many=method == "extend")
            case ast.Expr():
                if isinstance(self.value(node.value), Runtime):
                    self.passed.append(node)
            case ast.Assign():
                value = self.value(node.value)
                if isinstance(value, Runtime) and isinstance(node.value, ast.Call):
                    self.passed.append(node)
                for target in node.targets:
                    self.assign(target, value, node)
            case ast.AnnAssign(value=ast.expr() as assigned):
                self.assign(node.target, self.value(assigned), node)
            case ast.AugAssign(target=ast.Name() as target):
                left = ast.copy_location(ast.Name(target.id, ast.Load()), target)
                before = self.scope.get(target.id)
                self.assign(target, self.value(ast.copy_location(ast.BinOp(left, node.op, node.value), node)), node)
                self.forget_items(before, node)
            case ast.FunctionDef():
                self.scope.define(node.name, self.defined(node))
            case ast.ClassDef() if is_configuration(node):
                self.scope.define(node.name, self._configuration(node))
            case ast.Return():
                return Returned(self.value(node.value) if node.value is not None else None)
            case ast.With(items=[item]) if not suppresses(item.context_expr) and isinstance(
                self.value(item.context_expr), Runtime
            ):
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, Runtime(), node)
                return self._block(node.body)
            case ast.For(orelse=[]):
                return self._loop(node)
            case ast.If():
                return self._branch(node)
            case _:
                raise self._refused(node)
        return None

    def _configuration(self, node: ast.ClassDef) -> Attributes:
        """Return the constants of a class that has nothing else."""
        outer, self.scope = self.scope, self.scope.opened()
        try:
            self._block(node.body)
            return Attributes(dict(self.scope.items()), node.name)
        finally:
            self.scope = outer

    def _extend(self, name: str, item: ast.expr, node: ast.AST, *, many: bool) -> None:
        """Read `loops.append(loop)`: the name gets a longer list."""
        before, value = self.scope.get(name), self.value(item)
        added = value if many and isinstance(value, tuple) else (value,)
        assert isinstance(before, tuple)
        self.scope.replace(name, ListValue(self.listed((*before, *added), node)))
        self.forget_items(before, node)

    def defined(self, node: ast.FunctionDef) -> Value:
        """Return the value of a function's definition. Decorators of modules register functions at run time and are ignored; those of the
        text change the function."""
        if any(root is not None and root.id in self.scope for root in map(root_name, node.decorator_list)):
            return Unknown(f"line {self.source.place(node).line} decorates it by code that is not read")
        return self.function(node)

    def _block(self, body: Sequence[ast.stmt]) -> Returned | None:
        """Read statements up to a `return`."""
        for statement in body:
            returned = self.statement(statement)
            if returned is not None:
                return returned
        return None

    def _loop(self, node: ast.For) -> Returned | None:
        """Read a loop over known items, item by item."""
        items = self.value(node.iter)
        items = tuple(items) if isinstance(items, str) else items
        if isinstance(items, Runtime):
            return self._pass_over(node)
        if not isinstance(items, tuple):
            raise self.error(node.iter, "unsupported", "the items of this loop are not known when the text is read",
                             expected="range(4), a list, the result of get_loops, …",
                             fix=("write the loop out, one line per step",))  # fmt: skip
        for item in items:
            if id(items) in self.changed:
                raise self.error(
                    node.iter,
                    "unsupported",
                    "the loop changes the list of its items",
                    expected="a list that stays the same",
                )
            self.assign(node.target, item, node)
            returned = self._block(node.body)
            if returned is not None:
                return returned
        return None

    def _branch(self, node: ast.If) -> Returned | None:
        """Read the branch of a condition that is known; a condition on run-time values must not decide the schedule."""
        test = self.truth(node.test)
        return self._pass_over(node) if test is None else self._block(node.body if test else node.orelse)

    def _pass_over(self, node: ast.For | ast.If) -> None:
        """Pass over a statement that only running the code decides. Raises "unsupported" if it may change the schedule."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.is_schedule_call(part):
                raise self._refused(node)
        self.passed.append(node)
        self.forget(node)
        if isinstance(node, ast.For):
            self.assign(node.target, Runtime(), node)

    def is_schedule_call(self, node: ast.Call) -> bool:
        """Whether a call may change a schedule."""
        root = root_name(node.func)
        return root is not None and isinstance(self.scope.get(root.id), Stage | TESchedule)

    def passed_notes(self) -> tuple[Note, ...]:
        """Return a note that lists the lines that were passed over, if there are any."""
        lines = sorted({self.source.place(node).line for node in self.passed})
        if not lines:
            return ()
        listed = ", ".join(map(str, lines[:12])) + (", …" if len(lines) > 12 else "")
        text = f"this code builds, runs or prints, which is never done here; it is passed over (lines {listed})"
        return (Note(text, self.source.place(self.passed[0])),)

    def _refused(self, node: ast.stmt) -> ParseError:
        return parse_error("unsupported", "this is not part of the supported subset of Python", self._first_line(node),
                           found=self.source.text(node),
                           expected="assignments, calls of te and of schedules, loops over known items, functions of such lines",
                           fix=("write out the lines that define the program and its schedule",))  # fmt: skip

    def _first_line(self, node: ast.stmt) -> Place:
        return (
            self.source.header(node)
            if isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.FunctionDef | ast.ClassDef)
            else self.source.place(node)
        )

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Register the imported names with their modules; nothing is imported."""
        for alias in node.names:
            if alias.name == "*":
                self.forget(node)
                continue
            self.scope.discard(alias.asname or alias.name.partition(".")[0])
            if isinstance(node, ast.ImportFrom):
                self.aliases[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}".lstrip(".")
            else:
                self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        super().assign(target, value, node)
        if isinstance(target, ast.Name):
            self.record.named(value, target.id)


__all__ = ["TeStatementReader"]
