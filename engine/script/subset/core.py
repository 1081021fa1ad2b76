"""The evaluator of a closed subset of Python: it walks the syntax tree within budgets, and asks a dialect about what is not Python's own.

A value that is not certain is `Unknown`, with the line that is the cause: it is refused where a program needs it. A statement that cannot
be read is passed over if it does not concern the dialect's programs; what it may change is unknown from then on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ...cancellation import checkpoint
from ...ir import FAULTS, IntImm, Node, TilewrightError, build
from ..errors import ParseError, UnknownValueError, undefined_error
from ..reading.source import Source
from . import constants
from .bindings import leaves, root_name
from .budget import MAX_LOOP_STEPS, Budget
from .memory import Memory
from .scope import Scope, Unknown, Value
from .values import (
    Array,
    Class,
    Function,
    Instance,
    Lazy,
    Module,
    Options,
    View,
    dotted,
    hole_name,
    is_mutable,
    unknown_error,
)

_CONVERTING = ("int", "float", "str", "bool", "len", "list", "tuple", "dict", "range", "enumerate", "zip", "map", "reversed", "all", "any",
               "sum", "min", "max", "abs", "round", "pow", "divmod", "sorted")  # fmt: skip
"""Builtins whose results follow from their arguments."""
_LANGUAGE = ("tvm", "tilelang", "tilewright")
_FINAL = ("too-large", "too-deep", "internal-error")
"""Codes of errors that end the reading of the text."""


class Returned(msgspec.Struct, frozen=True, eq=False):
    """The value of a `return` in a function of the text."""

    value: Value


class Jump(msgspec.Struct, frozen=True, eq=False):
    """A `break` or `continue`."""

    leaves: bool


Outcome: TypeAlias = "Returned | Jump | None"
ReadExpression: TypeAlias = Callable[["Evaluator", Any], Value]
ReadStatement: TypeAlias = Callable[["Evaluator", Any], Outcome]
ReadCall: TypeAlias = Callable[["Evaluator", ast.Call], Value]


class Tables(msgspec.Struct, frozen=True):
    """What the evaluator reads: kinds of expressions and statements, Python's builtins by name, and functions of modules by dotted name."""

    expressions: Mapping[type[ast.expr], ReadExpression]
    statements: Mapping[type[ast.stmt], ReadStatement]
    builtins: Mapping[str, ReadCall]
    functions: Mapping[str, ReadCall]


class Dialect:
    """What a language adds to Python: modules, functions, values and operators. This one adds nothing."""

    builtins: Mapping[str, ReadCall] = {}
    """Functions that replace Python's builtins, or are defined without an import."""

    def entered(self, scope: Scope) -> None:
        """Record the scope in which the evaluation goes on."""

    def module(self, name: str) -> Module | None:
        """Return the module of a name that the text need not import."""
        return None

    def placed(self, value: Node, node: ast.expr) -> None:
        """Record the place of a part of a program."""

    def named(self, value: Value, name: str) -> None:
        """Record that the text assigns a value to a name."""

    def supplied(self, name: str, value: Unknown) -> Value:
        """Return the value that users give for an attribute, item or call of other code, by its text; others as they are."""
        return value

    def is_whole(self, name: str) -> bool:
        """Whether an object that is not known is given as a whole, not by its attributes."""
        return False

    def has_axes(self, run: Evaluator) -> bool:
        """Whether the function that is read gets parts of a program, such as axes, so that its variables are no constants."""
        return False

    def takes(self, run: Evaluator, name: str) -> bool:
        """Whether a variable without a known value takes one from outside: not in functions of axes, nor in those of other files."""
        return True

    def name(self, run: Evaluator, node: ast.Name) -> Value:
        """Return the value of a name that the text does not define. Raises "unknown-name"."""
        similar = run.scope.similar(node.id)
        error = run.error(node, "unknown-name", f"the name {node.id} is not defined here", expected="a name that is assigned above",
                          fix=tuple(similar))  # fmt: skip
        raise undefined_error(error, node.id, similar)

    def global_value(self, run: Evaluator, name: str, node: ast.expr) -> Value:
        """Return the value of a dotted name of a module."""
        return run.runs(node)

    def call(self, run: Evaluator, name: str, node: ast.Call) -> Value:
        """Return the result of a function of a module, by its dotted name."""
        return run.passed_call(node, keeps=self.keeps(name))

    def keeps(self, name: str) -> bool:
        """Whether a function of a module changes none of the lists and objects that it gets."""
        return False

    def require_kept(self, run: Evaluator, given: Sequence[Value], node: ast.Call) -> None:
        """Require that other code gets nothing that it must not change."""

    def apply(self, run: Evaluator, callee: Value, node: ast.Call) -> Value:
        """Call a value that is no function of the text."""
        raise run.error(
            node.func, "unsupported", "this cannot be called", expected="a function of a module or of the text"
        )

    def method(self, run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
        raise run.error(node.func, "unsupported", f".{name}() is not part of the supported subset here",
                        expected="a method of a list, a dict, a string or a class of the text")  # fmt: skip

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        raise run.error(node, "unsupported", f".{name} is not supported here", expected="an expression")

    def item(self, run: Evaluator, owner: Value, node: ast.Subscript) -> Value:
        raise run.error(node, "wrong-type", "this value has no items", expected="a list, a dict or a string")

    def items(self, run: Evaluator, value: Value, node: ast.AST) -> Iterable[Value] | None:
        """Return the items of a value in a loop; None if it has none."""
        return None

    def truth(self, run: Evaluator, value: Value, node: ast.AST) -> bool | None:
        raise run.error(node, "unsupported", "this condition is not known when the text is read",
                        expected="a condition on constants")  # fmt: skip

    def fold(self, op: ast.operator, a: int | float, b: int | float) -> int | float:
        """Return `a op b`. Raises ValueError for an undefined result."""
        return constants.fold(op, a, b)

    def binary(self, run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Value:
        raise run.error(node, "wrong-type", "these values have no such operator", expected="numbers, strings or lists")

    def unary(self, run: Evaluator, node: ast.UnaryOp, value: Value) -> Value:
        raise run.error(node, "wrong-type", "this value has no such operator", expected="a number")

    def compare(self, run: Evaluator, node: ast.Compare, op: ast.cmpop, a: Value, b: Value) -> Value:
        raise run.error(node, "wrong-type", "these values cannot be compared here", expected="constants")

    def logical(self, run: Evaluator, node: ast.expr, op: ast.boolop, a: Value, b: Value) -> Value:
        """Return `a and b` or `a or b` of which one is not plain."""
        raise run.error(node, "wrong-type", "these values have no truth here", expected="constants")

    def is_same(self, a: Value, b: Value) -> bool | None:
        """Return whether two values that Python compares as objects are the same one; None for other values."""
        return None

    def is_of(self, value: Value, name: str) -> bool | None:
        """Return whether a value is of a type of TVM; None if that is not known."""
        return None

    def builtin(self, run: Evaluator, name: str, args: Sequence[Value], node: ast.Call) -> Value:
        """Return `len`, `min` or `max` of values that are not Python's own."""
        raise run.error(node, "wrong-type", f"{name} of these values is not known", expected="constants")

    def definition(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> Value:
        """Return what a definition is in this language, such as a program; None for Python's own."""
        return None

    def decided(self, run: Evaluator, node: ast.If) -> bool | None:
        """Return the truth of a condition that is not known, if it has only one in the runs that are read."""
        return None

    def goes_on(self, run: Evaluator, node: ast.stmt) -> bool:
        """Whether the runs that are read go on after a statement that may leave the function, and need nothing of it for certain."""
        return False

    def is_reached(self, run: Evaluator) -> bool:
        """Whether the runs that are read have reached what is sought in the function."""
        return False

    def imported(self, run: Evaluator, name: str) -> None:
        """Record that the text imports a name of a file that is not read."""

    def forgot(self, run: Evaluator, node: ast.stmt) -> None:
        """Record that a statement was passed over, and that the names that it binds are unknown."""

    def is_program(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> bool:
        """Whether a definition is a program of this language."""
        return False

    def is_alike(self, source: Source) -> bool:
        """Whether another file has the dialect of the text, so that its functions mean the same here."""
        return True

    def note(self, run: Evaluator, text: str, node: ast.AST) -> None:
        """Record what users should know of how `node` is read."""

    def read_beside(self, run: Evaluator, path: Path, node: ast.AST) -> None:
        """Record that a file beside the text is read, which `node` imports."""

    def concerns(self, run: Evaluator, node: ast.AST) -> bool:
        """Whether code may change a program or schedule of this language, so that it must be read."""
        return False


class Evaluator:
    """Evaluates a text. `passed` are the statements that were passed over, with the reason or "" for code that runs or prints."""

    def __init__(self, source: Source, dialect: Dialect, tables: Tables, around: Evaluator | None = None) -> None:
        """Create an evaluator; one inside another, for the functions that a program calls, shares its budget and its memory."""
        self.source = source
        self.dialect = dialect
        self.tables = tables
        self.budget = Budget(source) if around is None else around.budget
        self.scope = Scope()
        self.scope.define("__name__", "__main__")
        self.memory = Memory(source, self._keeps) if around is None else around.memory
        self.passed: dict[ast.stmt, str] = {}
        self.lines: dict[str, int] = {}  # the line that defined a name of the text's own statements last
        self.at: ast.stmt | None = None  # the statement that is read
        self.depth = 0 if around is None else around.depth
        self._origins: dict[ast.AST, str] = {}  # what made an expression unknown when it was read last
        self._holes: dict[
            str, dict[str, Value]
        ] = {}  # values of other code by name, with the variables of the first that has the name
        self._loops = 0  # those that are read
        self.functions: list[Function] = []  # those whose calls are evaluated, the innermost last

    # --- budgets and errors

    def error(
        self, node: ast.AST, code: str, message: str, *, expected: str = "", fix: tuple[str, ...] = ()
    ) -> ParseError:
        """Create the error that points at `node`; the caller raises it."""
        return self.source.error(node, code, message, expected=expected, fix=fix)

    def line(self, node: ast.AST) -> int:
        return self.source.place(node).line

    def new(self, value: Value, node: ast.AST) -> Value:
        """Return a new list, dict, tuple or object of the text. Raises "too-large"."""
        self.budget.require_new(value, node)
        if is_mutable(value):
            self.memory.made.append(value)
        return value

    # --- expressions

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression. Raises ParseError outside the subset."""
        self.budget.step(node)
        read = self.tables.expressions.get(type(node))
        if read is None:
            raise self.error(node, "unsupported", f"{type(node).__name__} expressions are not part of the supported subset of Python",
                             expected="constants, lists, dicts, calls, comprehensions")  # fmt: skip
        try:
            found = read(self, node)
        except (build.DTypeError, ZeroDivisionError) as error:
            raise self.source.refused(node, error) from error
        if isinstance(found, Node):
            self.dialect.placed(found, node)
        if isinstance(found, Unknown) and isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            self._origins[node] = found.name
            name = self._hole(node)
            return self.dialect.supplied(name, found) if name else found
        return self.seen(found)

    def seen(self, value: Value) -> Value:
        """Return a value as it is known now: lists and objects that other code may have changed are unknown."""
        by = self.memory.change_of(value)
        return value if by is None else Unknown(f"line {self.line(by)} may change its items", self.origin_of(by))

    def known(self, node: ast.expr) -> Value:
        """Return the value of an expression that must be known. Raises "unsupported"."""
        return self.require_known(self.value(node), node)

    def require_known(self, value: Value, node: ast.AST) -> Value:
        if isinstance(value, Unknown):
            raise unknown_error(self.source, value, node)
        return value

    def runs(self, node: ast.AST, given: Sequence[Value] = (), *, keeps: bool = False) -> Unknown:
        """Return the value of code that is never run; it may change what it was `given`."""
        self.memory.ran(self.scope, node, given, keeps=keeps)
        origin = self._origin(node)
        found = Unknown(
            f"line {self.line(node)} makes it by code that is never run", origin, "" if origin else self._hole(node)
        )
        self._origins[node] = found.name
        return found

    def _hole(self, node: ast.AST) -> str:
        """Return the name under which the value of an attribute, item or call of other code can be given; "" if it is of a value that is
        known, depends on a program, or is not the same each time."""
        name = hole_name(node)
        root = root_name(node) if isinstance(node, ast.expr) else None
        if not name or root is None or self._converts(node) or (self.functions and self.dialect.has_axes(self)):
            return ""
        owner = self.scope.peek(root.id) if root.id in self.scope else self.dialect.module(root.id)
        if not (
            owner is None
            or isinstance(owner, Unknown | Instance | Options)
            or (isinstance(owner, Module) and self._is_foreign(owner.name))
        ):
            return ""
        used = {part.id: self.scope.peek(part.id) for part in ast.walk(node) if isinstance(part, ast.Name)}
        if any(isinstance(value, Node) for value in used.values()) or self.dialect.concerns(self, node):
            return ""
        known = self._holes.setdefault(name, used)
        return name if known.keys() == used.keys() and all(map(_is_same, known.values(), used.values())) else ""

    def origin_of(self, node: ast.AST) -> str:
        """Return what made an expression unknown when it was read last; "" if that is not recorded."""
        return self._origins.get(node, "")

    def _origin(self, node: ast.AST) -> str:
        """Return the variable or attribute that makes an expression unknown; "" for the result of a call, and what is taken of one."""
        written = dotted(node)
        is_entry = (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        )
        if written or is_entry or (isinstance(node, ast.Call | ast.Attribute) and not self._converts(node)):
            return written
        for part in ast.walk(node):
            known = self._origins.get(part, "")
            value = self.scope.get(part.id) if isinstance(part, ast.Name) else None
            if known or isinstance(value, Unknown):
                return known or (value.name if isinstance(value, Unknown) else "") or dotted(part)
        return ""

    def _is_foreign(self, module: str) -> bool:
        """Whether a module is neither TVM nor a part of it."""
        return self.dialect.module(module.partition(".")[0]) is None and module.partition(".")[0] not in _LANGUAGE

    def _converts(self, node: ast.AST) -> bool:
        """Whether a node is a call of a builtin whose result follows from its arguments: `int(…)`."""
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        return name in _CONVERTING and name not in self.scope

    def passed_call(self, node: ast.Call, *, keeps: bool = False) -> Unknown:
        """Pass over a call of other code: its arguments are evaluated, and it may change them."""
        given = [self.lenient(argument) for argument in (*node.args, *(keyword.value for keyword in node.keywords))]
        self.dialect.require_kept(self, given, node)
        return self.runs(node, given, keeps=keeps)

    def lenient(self, node: ast.expr) -> Value:
        """Return the value of an argument of code that is not evaluated; Unknown if it cannot be read and does not matter."""
        node = node.value if isinstance(node, ast.Starred) else node
        try:
            return self.value(node)
        except ParseError as error:
            if error.code in _FINAL or self.dialect.concerns(self, node):
                raise
            self.memory.forget(self.scope, node)
            return Unknown(f"line {self.line(node)}: {error.refusal.message}")

    def number(self, node: ast.expr) -> int:
        """Return an integer that must be known."""
        value = self.known(node)
        value = value.value if isinstance(value, IntImm) else value
        if isinstance(value, int):
            return int(value)
        raise self.error(node, "wrong-type", "this must be a constant integer", expected="an integer")

    def truth(self, node: ast.expr) -> bool | None:
        """Return the truth of a condition; None if only running the code decides it."""
        return self.truth_of(self.value(node), node)

    def truth_of(self, value: Value, node: ast.AST) -> bool | None:
        match value:
            case Unknown():
                return None
            case bool() | int() | float() | str() | tuple() | list() | dict() | range() | None:
                return bool(value)
            case Module(name=name) if "." in name:
                return None  # it may be a constant of another file
            case Function() | Class() | Module():
                return True
            case Instance(of=of) if not of.opens and not any(of.owner_of(name) for name in ("__bool__", "__len__")):
                return True
            case _:
                return self.dialect.truth(self, value, node)

    def dotted(self, node: ast.expr) -> str | None:
        """Return "tvm.te.compute" for a module's name under any import name; None for a name of the text."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        root = self.scope.get(node.id) if node.id in self.scope else self.dialect.module(node.id)
        return ".".join((root.name, *reversed(names))) if isinstance(root, Module) else None

    @contextmanager
    def inside(self, scope: Scope) -> Generator[None]:
        """Evaluate in another scope for the duration of the context."""
        outer, self.scope = self.scope, scope
        self.dialect.entered(scope)
        try:
            yield
        finally:
            self.scope = outer
            self.dialect.entered(outer)

    def iterate(self, value: Value, node: ast.AST) -> Iterator[Value] | None:
        """Return the items of a value, one after the other; None if only running the code decides them. Raises "unsupported"."""
        match value:
            case Unknown() | Module():
                return None
            case tuple() | list() | str() | range() | dict():
                return self._live(value, node)
            case View(owner=owner):
                return self._live(owner, node, value.items())
            case Lazy(items=items):
                return items
            case Array():
                return self._live(value, node, value.items())
            case _:
                pass
        found = self.dialect.items(self, value, node)
        if found is None:
            raise self.error(node, "unsupported", "the items are not known when the text is read",
                             expected="range(4), a list, the result of get_loops, …")  # fmt: skip
        return iter(found)

    def _live(self, value: Any, node: ast.AST, items: Iterator[Value] | None = None) -> Iterator[Value]:
        """Yield the items of a list as it is when each is asked for, as Python does."""
        try:
            for item in value if items is None else items:
                if self.memory.change_of(value) is not None:
                    raise self.error(
                        node, "unsupported", "other code may change the items", expected="a list that stays the same"
                    )
                yield item
        except RuntimeError:  # a dict that changes its size
            raise self.error(
                node, "unsupported", "the loop changes the dict of its items", expected="another dict"
            ) from None

    # --- statements

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Read the statements of the text itself."""
        for node in body:
            self.statement(node)

    def block(self, body: Sequence[ast.stmt]) -> Outcome:
        """Read statements up to a `return`, `break` or `continue`."""
        for node in body:
            outcome = self.statement(node)
            if outcome is not None:
                return outcome
        return None

    def statement(self, node: ast.stmt) -> Outcome:
        """Read a statement. Raises the error of one that concerns the dialect's programs, or that decides what follows."""
        checkpoint()
        self.budget.step(node)
        read = self.tables.statements.get(type(node))
        outer = self.at
        if outer is None or self.source.owner(node) is self.source:
            self.at = node
        try:
            if read is None:
                raise self.refused(node)
            return read(self, node)
        except TilewrightError as error:
            self._pass_unread(node, error)
        except FAULTS as error:
            found = self.source.refused(node, error)
            self._pass_unread(node, found)
        finally:
            self.at = outer
        return None

    def _pass_unread(self, node: ast.stmt, error: TilewrightError) -> None:
        """Pass over a statement that cannot be read. Raises its error if the statement matters."""
        if not isinstance(error, ParseError) or error.code in _FINAL:
            raise error
        goes_on = self.dialect.goes_on(self, node) and not self.dialect.is_reached(self)
        if not goes_on and (leaves(node) or self.dialect.concerns(self, node)):
            raise error
        self.pass_over(node, error.refusal.message, error.name if isinstance(error, UnknownValueError) else "")

    def pass_over(self, node: ast.stmt, why: str = "", origin: str = "") -> None:
        """Pass over a statement that only running the code decides; `origin` is the variable that makes it unknown."""
        self.passed[node] = why
        line = self.line(node)
        self.memory.forget(self.scope, node, f"line {line} may change it" + (f" ({why})" if why else ""), origin)
        self.dialect.forgot(self, node)

    @contextmanager
    def loop(self, node: ast.stmt) -> Generator[Callable[[], None]]:
        """Read a loop in the context, which calls the given function in each iteration: one that concerns no program, such as one over
        data, leaves steps for the rest of the text. Raises "long-loop"."""
        first = self.budget.steps
        self._loops += 1

        def require_short() -> None:
            if self.budget.steps - first <= MAX_LOOP_STEPS or leaves(node) or self.dialect.concerns(self, node):
                return
            if self._loops == 1:
                self.budget.give_back(first)
            raise self.error(
                node, "long-loop", "this loop needs too many steps of reading", expected=f"at most {MAX_LOOP_STEPS}"
            )

        try:
            yield require_short
        finally:
            self._loops -= 1

    def undecided(self, node: ast.stmt) -> None:
        """Pass over a statement whose condition or items are not known. Raises "unsupported" if it matters."""
        head = getattr(node, "test", getattr(node, "iter", node))
        origin = self._origin(head) or self.origin_of(head)
        if not self.dialect.goes_on(self, node) and (leaves(node) or self.dialect.concerns(self, node)):
            raise UnknownValueError(self.refused(node).refusal, origin)
        self.pass_over(node, origin=origin)

    def refused(self, node: ast.stmt) -> ParseError:
        """Create the error for a statement outside the subset."""
        return self.source.line_error(node, "unsupported", "this is not part of the supported subset of Python",
                                      expected="assignments, calls, loops over known items, functions of such lines",
                                      fix=("write out the lines that define the program and its schedule",))  # fmt: skip

    def _keeps(self, call: ast.Call) -> bool:
        """Whether a call that is not evaluated changes nothing that it gets."""
        if isinstance(call.func, ast.Name) and call.func.id in self.tables.builtins and call.func.id not in self.scope:
            return True
        return self.dialect.keeps(self.dotted(call.func) or "")


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values of a variable are the same."""
    if isinstance(a, Unknown) and isinstance(b, Unknown):
        return a.is_same(b)
    return a is b or (isinstance(a, bool | int | float | str) and type(a) is type(b) and a == b)


__all__ = ["Dialect", "Evaluator", "Jump", "Outcome", "Returned", "Tables"]
