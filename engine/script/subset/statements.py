"""Python's statements, as far as they are decided when the text is read: loops are over known items, conditions on known values."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from ..errors import ParseError
from ..reading.source import Source
from ..targets import TargetName
from . import beside
from .bindings import EVERY_NAME, bound_names, calls_in, root_name, suppresses
from .builtins import BUILTINS
from .calls import function_of
from .core import Dialect, Evaluator, Jump, Outcome, ReadStatement, Returned, Tables
from .expressions import EXPRESSIONS
from .libraries import arrays, options, standard
from .libraries.enums import ENUMS, with_members
from .operators import operate
from .scope import Unknown, Value
from .targets import assign
from .values import Array, Class, Function, Module

_KNOWN_ROOTS = ("tvm", "te", "tir", "tirx", "s_tir", "relax", "topi", "T", "I", "R", "pytest", "autotvm", "auto_scheduler", "tilewright",
                "typing", "abc", "tilelang", "autotune", "bitblas", "mlc_llm")  # fmt: skip
"""Modules whose decorators register a function or mark it, and leave what it computes, and one such decorator that is imported by `*`."""
_MARKS = ("pytest.", "typing.", "abc.", "tvm.testing.", "tilelang.", "autotune")
"""Modules whose decorators only mark a function: none of them keeps it for other code, nor does `te.tag_scope`."""
_VENDORED = re.compile(r"^.*\.(?=tvm(?:\.|$))")
"""The package around a copy of TVM, as in `from bitblas import tvm`."""
_KINDS = {"staticmethod": "staticmethod", "classmethod": "classmethod", "property": "property", "abc.abstractmethod": "",
          "abstractmethod": "", "functools.cached_property": "property"}  # fmt: skip
RAISES = "the text raises an exception here"
"""The reason for passing over a branch that ends with an exception."""
_CACHES = ("functools.lru_cache", "functools.cache")
_BASES = ("object", "typing.NamedTuple", "abc.ABC", "typing.Protocol", "typing.Generic", *ENUMS)


def _nothing(run: Evaluator, node: ast.stmt) -> Outcome:
    return None


def _assert(run: Evaluator, node: ast.Assert) -> Outcome:
    try:
        holds = run.lenient(node.test)
    except ParseError:
        if not _asks_only(node.test):
            raise
        run.passed[node] = ""
        return None
    if holds is False:
        raise run.error(node, "unsupported", "the assertion fails", expected="a condition that holds")
    return None


def _asks_only(node: ast.expr) -> bool:
    """Whether the calls in an assertion are questions, which change nothing."""
    names = [part.func.attr if isinstance(part.func, ast.Attribute) else "" for part in calls_in(node)]
    return all(name.startswith("get") or name in ("same_as", "script", "structural_equal") for name in names)


def _expression(run: Evaluator, node: ast.Expr) -> Outcome:
    if not isinstance(node.value, ast.Constant) and isinstance(run.value(node.value), Unknown):
        run.passed[node] = ""
    return None


def _assignment(run: Evaluator, node: ast.Assign) -> Outcome:
    value = run.value(node.value)
    if isinstance(value, Unknown) and isinstance(node.value, ast.Call):
        run.passed[node] = ""
    for target in node.targets:
        assign(run, target, value)
    return None


def _annotated(run: Evaluator, node: ast.AnnAssign) -> Outcome:
    if node.value is not None:
        assign(run, node.target, run.value(node.value))
    return None


def _update(run: Evaluator, node: ast.AugAssign) -> Outcome:
    """Read `a += b`; a list is changed in place."""
    load = _loaded(node.target)
    before, by = run.value(load), run.value(node.value)
    if isinstance(before, list) and isinstance(node.op, ast.Add):
        for item in run.iterate(run.require_known(by, node.value), node) or ():
            before.append(item)
            run.budget.require_items(len(before), node)
        assign(run, node.target, before)
        return None
    if isinstance(before, Array):
        assign(run, node.target, run.runs(node, (before,)))
        return None
    if isinstance(before, dict):
        raise run.refused(node)
    combined = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
    assign(run, node.target, operate(run, combined, before, by))
    return None


def _loaded(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    match target:
        case ast.Name(id=name):
            made: ast.expr = ast.Name(name, ast.Load())
        case ast.Attribute(value=owner, attr=name):
            made = ast.Attribute(owner, name, ast.Load())
        case ast.Subscript(value=owner, slice=at):
            made = ast.Subscript(owner, at, ast.Load())
    return ast.copy_location(made, target)


def _delete(run: Evaluator, node: ast.Delete) -> Outcome:
    for target in node.targets:
        if not isinstance(target, ast.Name):
            raise run.refused(node)
        run.scope.define(target.id, Unknown(f"line {run.line(node)} deletes it"))
    return None


def _global(run: Evaluator, node: ast.Global) -> Outcome:
    run.scope.declare_global(node.names)
    return None


def _nonlocal(run: Evaluator, node: ast.Nonlocal) -> Outcome:
    run.scope.declare_nonlocal(node.names)
    return None


def _return(run: Evaluator, node: ast.Return) -> Outcome:
    return Returned(None if node.value is None else run.value(node.value))


def _break(run: Evaluator, node: ast.Break) -> Outcome:
    return Jump(leaves=True)


def _continue(run: Evaluator, node: ast.Continue) -> Outcome:
    return Jump(leaves=False)


def _raise(run: Evaluator, node: ast.Raise) -> Outcome:
    raise run.error(node, "unsupported", RAISES, expected="a line that is not reached")


# --- blocks


def _branch(run: Evaluator, node: ast.If) -> Outcome:
    """Read the branch of a condition that is known. An unknown one that guards a `raise` does not hold in a text that runs."""
    test = run.truth(node.test)
    if test is None:
        test = run.dialect.decided(run, node)
        run.memory.events += test is not None
    if test is None and _skips(run, node):
        run.memory.forget(run.scope, node)
        return run.block(node.orelse)
    if test is None:
        if node.body and isinstance(node.body[-1], ast.Raise) and len(node.body) == 1:
            run.memory.events += 1
            return run.block(node.orelse)
        run.undecided(node)
        return None
    return run.block(node.body if test else node.orelse)


def _skips(run: Evaluator, node: ast.If) -> bool:
    """Whether the branch of an unknown condition leaves a function that makes a program before it does, as a test without its device
    does: what is read is the program that the function makes."""
    last = node.body[-1]
    leaves_only = isinstance(last, ast.Continue) or (isinstance(last, ast.Return) and last.value is None)
    return (
        leaves_only
        and bool(run.functions)
        and not run.dialect.concerns(run, node)
        and run.dialect.concerns(run, run.functions[-1].node)
    )


def _loop(run: Evaluator, node: ast.For) -> Outcome:
    """Read a loop over known items, item by item."""
    items = run.iterate(run.value(node.iter), node.iter)
    if items is None:
        run.undecided(node)
        return None
    with run.loop(node) as require_short:
        for item in items:
            require_short()
            assign(run, node.target, item)
            outcome = run.block(node.body)
            if isinstance(outcome, Returned):
                return outcome
            if outcome is not None and outcome.leaves:
                return None
    return run.block(node.orelse)


def _while(run: Evaluator, node: ast.While) -> Outcome:
    """Read a loop whose condition is known each time; the steps of reading limit it."""
    with run.loop(node) as require_short:
        while True:
            run.budget.step(node)
            require_short()
            test = run.truth(node.test)
            if test is None:
                run.undecided(node)
                return None
            if not test:
                return run.block(node.orelse)
            outcome = run.block(node.body)
            if isinstance(outcome, Returned):
                return outcome
            if outcome is not None and outcome.leaves:
                return None


def _with(run: Evaluator, node: ast.With) -> Outcome:
    """Read the body of a `with` statement of other code. Raises "unsupported" for other contexts, and for those that end at
    exceptions."""
    for item in node.items:
        if suppresses(item.context_expr):
            if not _only_raises(node):
                raise run.refused(node)
            run.passed[node] = "it raises an exception"
            return None
        if not isinstance(run.value(item.context_expr), Unknown | TargetName):
            raise run.refused(node)
        if item.optional_vars is not None:
            assign(run, item.optional_vars, run.runs(node))
    return run.block(node.body)


def _only_raises(node: ast.With) -> bool:
    """Whether the body of `with pytest.raises(…)` is one call that raises, of arguments that change nothing."""
    match node:
        case ast.With(items=[item], body=[ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call)]):
            inner = (part for argument in (*call.args, *call.keywords) for part in calls_in(argument))
            names = [part.func.attr if isinstance(part.func, ast.Attribute) else "" for part in inner]
            return "raises" in ast.unparse(item.context_expr).lower() and all(name.startswith("get_") for name in names)
        case _:
            return False


def _try(run: Evaluator, node: ast.Try) -> Outcome:
    """Read the body of a `try` statement, as in a text that runs. What it assigns is not certain if other code runs in it, because this may
    raise an exception, unless only a missing module is handled."""
    before, known = run.memory.events, run.scope.all_names()
    outcome = run.block([*node.body, *node.orelse])
    if run.memory.events != before and not all(map(_handles_missing_module, node.handlers)):
        handled = frozenset(name for part in node.handlers for name in bound_names(part))
        assigned = bound_names(node) - {EVERY_NAME}
        run.memory.forget_names(run.scope, handled | (assigned & known), node)
        for handler in node.handlers:
            run.memory.forget(run.scope, handler)
        if outcome is not None and any(_leaves(part) for part in node.handlers):
            raise run.refused(node)  # pyright: ignore[reportArgumentType]
    last = run.block(node.finalbody)
    return last if last is not None else outcome


def _handles_missing_module(handler: ast.ExceptHandler) -> bool:
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(t, ast.Name) and t.id in ("ImportError", "ModuleNotFoundError") for t in types)


def _leaves(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Return | ast.Break | ast.Continue) for part in ast.walk(node))


# --- definitions


def _function(run: Evaluator, node: ast.FunctionDef) -> Outcome:
    found = run.dialect.definition(run, node)
    _define(run, node, _decorated(run, node) if found is None else found)
    return None


def _define(run: Evaluator, node: ast.FunctionDef | ast.ClassDef, value: Value) -> None:
    if run.scope.is_module:
        run.lines[node.name] = run.line(node)
    run.scope.define(node.name, value)


def _decorated(run: Evaluator, node: ast.FunctionDef) -> Value:
    """Return a function under decorators that are known; that under others is not."""
    function = function_of(run, node)
    kind = ""
    known: dict[tuple[object, ...], Value] | None = None
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        written = run.dotted(target)
        root = root_name(target)
        if written is None and root is not None and root.id not in run.scope:
            written = ast.unparse(target)
        if written in _KINDS:
            kind = _KINDS[written]
        elif written in _CACHES:
            known = {}
        elif written is None or written.partition(".")[0] not in _KNOWN_ROOTS:
            return _by_other_code(run, node, decorator)
        elif not written.startswith(_MARKS) and not written.endswith("tag_scope"):
            run.memory.ran(run.scope, node, (function,))
    return Function(function.node, function.scope, function.defaults, kind, None, known)


def _by_other_code(run: Evaluator, node: ast.stmt, decorator: ast.expr) -> Value:
    """Return what code makes of a definition that is not read, or that is written for other code: a function with `property.setter`."""
    run.memory.ran(run.scope, node, (run.scope.get(root.id) if (root := root_name(decorator)) is not None else None,))
    return Unknown(f"line {run.line(node)} decorates it by code that is not read")


def _class(run: Evaluator, node: ast.ClassDef) -> Outcome:
    found = run.dialect.definition(run, node)
    _define(run, node, _class_of(run, node) if found is None else found)
    return None


def _class_of(run: Evaluator, node: ast.ClassDef) -> Value:
    bases, is_open = _bases(run, node)
    names = [run.dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
    is_data = "dataclasses.dataclass" in names
    outer, scope = run.scope, run.scope.opened("class")
    with run.inside(scope):
        outcome = run.block(node.body)
    assert outcome is None and run.scope is outer
    values = dict(scope.items())
    declared = [
        part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    is_tuple = any(run.dotted(base) == "typing.NamedTuple" for base in node.bases)
    fields = tuple(dict.fromkeys([*(f for base in reversed(bases) for f in base.fields or ()), *declared]))
    made = Class(node.name, values, bases, is_open, fields if is_data or is_tuple else next(
        (base.fields for base in bases if base.fields is not None), None))  # fmt: skip
    for name, value in values.items():
        if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef):
            values[name] = Function(value.node, value.scope, value.defaults, value.kind, made, value.known)
    if is_data and _is_special(node):
        return Unknown(f"line {run.line(node)} defines a dataclass in a form that is not read")
    if any(name is None or name.partition(".")[0] not in (*_KNOWN_ROOTS, "dataclasses") for name in names):
        return Unknown(f"line {run.line(node)} decorates it by code that is not read")
    base = next((name for name in map(run.dotted, node.bases) if name in ENUMS), None)
    return run.new(made if base is None else with_members(run, made, base, node), node)


def _is_special(node: ast.ClassDef) -> bool:
    """Whether a dataclass has other parameters than its annotated names in order."""
    options = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    fields = [p for p in node.body if isinstance(p, ast.AnnAssign)]
    calls = [*options, *(f.value for f in fields if isinstance(f.value, ast.Call))]
    words = [ast.unparse(f.annotation) for f in fields]
    return any(keyword.arg in ("init", "kw_only") for call in calls for keyword in call.keywords) or any(
        special in word for word in words for special in ("ClassVar", "InitVar", "KW_ONLY")
    )


def _bases(run: Evaluator, node: ast.ClassDef) -> tuple[tuple[Class, ...], bool]:
    """Return the classes of the text that a class extends, and whether it also extends others."""
    found: list[Class] = []
    is_open = bool(node.keywords)
    for base in node.bases:
        target = base.value if isinstance(base, ast.Subscript) else base
        name = run.dotted(target) or (target.id if isinstance(target, ast.Name) and target.id not in run.scope else "")
        value = None if name in _BASES else run.lenient(base)
        if isinstance(value, Class):
            found.append(value)
        elif name not in _BASES:
            is_open = True
    return tuple(found), is_open or len(found) > 1


def _import(run: Evaluator, node: ast.Import | ast.ImportFrom) -> Outcome:
    """Define the imported names as those of their modules, or of files beside the text; nothing is imported."""
    run.memory.events += 1
    for alias in node.names:
        names = beside.all_imported(run, node) if alias.name == "*" and isinstance(node, ast.ImportFrom) else None
        for known, value in (names or {}).items():
            run.scope.define(known, value)
        if names is not None:
            continue
        if alias.name == "*":
            run.memory.forget(run.scope, node, f"line {run.line(node)} imports it")
            continue
        name = alias.asname or alias.name.partition(".")[0]
        if isinstance(node, ast.ImportFrom):
            full = f"{node.module or ''}.{alias.name}".lstrip(".")
            name = alias.asname or alias.name
        else:
            full = alias.name if alias.asname else name
        if run.scope.is_module:
            run.lines[name] = run.line(node)
        value = standard.CONSTANTS[full] if full in standard.CONSTANTS else beside.imported(run, node, alias)
        run.scope.define(name, Module(_VENDORED.sub("", full)) if value is None else value)
        if value is None and "." in full:
            run.dialect.imported(run, name)
    return None


STATEMENTS: Mapping[type[ast.stmt], ReadStatement] = {
    ast.Pass: _nothing,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _update,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
    ast.If: _branch,
    ast.For: _loop,
    ast.While: _while,
    ast.With: _with,
    ast.Try: _try,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
"""Readers of statements by kind."""


def evaluator(source: Source, dialect: Dialect, around: Evaluator | None = None) -> Evaluator:
    """Return an evaluator of a text in a language, also inside another one; its `run` reads the statements."""
    return Evaluator(
        source,
        dialect,
        Tables(EXPRESSIONS, STATEMENTS, BUILTINS, {**standard.FUNCTIONS, **arrays.FUNCTIONS, **options.FUNCTIONS}),
        around,
    )


__all__ = ["RAISES", "evaluator"]
