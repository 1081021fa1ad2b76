"""Calls: of functions, classes and methods of the text, of Python's builtins, and of what the dialect adds; attributes of all of these."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from .beside import submodule
from .bindings import bound_names
from .budget import MAX_CALLS
from .core import Evaluator, Returned
from .libraries.arrays import array_attribute, array_method
from .libraries.enums import member_of
from .libraries.options import OptionParser, option_call
from .methods import METHODS
from .scope import Unknown, Value
from .targets import items
from .values import (
    Array,
    Attributes,
    Bound,
    Class,
    Field,
    Function,
    Instance,
    Options,
    Parent,
    Record,
    RecordType,
    TextModule,
    unknown_error,
)

_RARE = (ast.Yield, ast.YieldFrom, ast.Await)


def read_call(run: Evaluator, node: ast.Call) -> Value:
    node = _with_name(run, node)
    dotted = run.dotted(node.func)
    if dotted is not None:
        read = run.tables.functions.get(dotted)
        return run.dialect.call(run, dotted, node) if read is None else read(run, node)
    if isinstance(node.func, ast.Name) and node.func.id not in run.scope:
        name = node.func.id
        read = run.dialect.builtins.get(name) or run.tables.builtins.get(name)
        if read is not None:
            return read(run, node)
        if name == "super" and not node.args:
            return _parent(run, node)
    if isinstance(node.func, ast.Attribute):
        return _method(run, run.value(node.func.value), node.func.attr, node)
    return apply(run, run.value(node.func), node)


def _with_name(run: Evaluator, node: ast.Call) -> ast.Call:
    """Return `getattr(module, "name")(…)` as `module.name(…)`; other calls as they are."""
    match node.func:
        case ast.Call(func=ast.Name("getattr"), args=[module, attribute], keywords=[]) if (
            "getattr" not in run.scope and run.dotted(module) is not None
        ):
            name = run.value(attribute)
            if isinstance(name, str) and name.isidentifier():
                function = ast.copy_location(ast.Attribute(module, name, ast.Load()), node.func)
                return ast.copy_location(ast.Call(function, node.args, node.keywords), node)
        case _:
            pass
    return node


def apply(run: Evaluator, callee: Value, node: ast.Call) -> Value:
    """Call a value with the arguments of a call."""
    match callee:
        case Unknown():
            return run.passed_call(node)
        case Function() | Bound() | Class():
            args = items(run, node.args)
            named = _keywords(run, node)
            return called(run, callee, args, node, named)
        case RecordType():
            return _record(run, callee, items(run, node.args), node, _keywords(run, node))
        case Instance(of=of) if (method := _found(of, "__call__")) is not None:
            return apply(run, Bound(method, callee) if isinstance(method, Function) else method, node)
        case _:
            return run.dialect.apply(run, callee, node)


def _keywords(run: Evaluator, node: ast.Call) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for keyword in node.keywords:
        value = run.value(keyword.value)
        given = {keyword.arg: value} if keyword.arg is not None else run.require_known(value, keyword.value)
        if not isinstance(given, dict):
            raise run.error(keyword.value, "wrong-type", "only a dict can be unpacked here", expected="**options")
        for name, item in given.items():
            if not isinstance(name, str) or name in found:
                raise run.error(
                    keyword.value, "wrong-arguments", f"the argument {name} is given twice", expected="name=value"
                )
            found[name] = item
    return found


def called(
    run: Evaluator, callee: Value, args: Sequence[Value], node: ast.AST, named: Mapping[str, Value] | None = None
) -> Value:
    """Return the result of a function, method or class of the text for these arguments."""
    match callee:
        case Bound(function=function, owner=owner):
            return _function_called(run, function, [owner, *args], node, named or {})
        case Function():
            return _function_called(run, callee, args, node, named or {})
        case Class():
            return _made(run, callee, args, node, named or {})
        case _:
            raise run.error(node, "unsupported", "this cannot be called", expected="a function of the text")


# --- functions


def function_of(run: Evaluator, node: ast.Lambda | ast.FunctionDef) -> Function:
    """Return the function that a lambda or def defines, with its defaults, which it evaluates once."""
    signature = node.args
    names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
    given = [*zip(names[len(names) - len(signature.defaults) :], signature.defaults, strict=True)]
    given += [(a.arg, d) for a, d in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if d is not None]
    return Function(node, run.scope, {name: run.lenient(default) for name, default in given})


def _function_called(
    run: Evaluator, function: Function, args: Sequence[Value], node: ast.AST, named: Mapping[str, Value]
) -> Value:
    if run.depth >= MAX_CALLS:
        raise run.error(
            node, "too-deep", "calls of functions are nested too deeply", expected=f"at most {MAX_CALLS} levels"
        )
    _require_plain(run, function, node)
    values = bound(run, function, args, named, node)
    known = _cached(function, values)
    if known is not None and function.known is not None and known in function.known:
        return function.known[known]
    local = frozenset[str]() if isinstance(function.node, ast.Lambda) else _locals(function.node)
    scope = run.memory.opened(function.scope.opened("function", local))
    run.depth += 1
    run.functions.append(function)
    try:
        with run.inside(scope):
            for name, value in values.items():
                scope.define(name, value)
            result = _result(run, function)
    finally:
        run.functions.pop()
        run.depth -= 1
    if known is not None and function.known is not None:
        function.known[known] = result
    return result


def _result(run: Evaluator, function: Function) -> Value:
    if isinstance(function.node, ast.Lambda):
        return run.value(function.node.body)
    outcome = run.block(function.node.body)
    return outcome.value if isinstance(outcome, Returned) else None


def _cached(function: Function, values: Mapping[str, Value]) -> tuple[object, ...] | None:
    """Return the key of a call of a function with a cache; None for one without, or with arguments that are no constants."""
    if function.known is None or not all(v is None or isinstance(v, bool | int | float | str) for v in values.values()):
        return None
    return tuple((name, type(value), value) for name, value in values.items())


def _locals(node: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function binds in its own scope."""
    outside = {name for part in ast.walk(node) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names}
    return frozenset(name for part in node.body for name in bound_names(part)) - outside


def _require_plain(run: Evaluator, function: Function, node: ast.AST) -> None:
    """Require that a function is no generator, and asks nothing of other code."""
    pending: list[ast.AST] = (
        [*function.node.body] if isinstance(function.node, ast.FunctionDef) else [function.node.body]
    )
    while pending:
        part = pending.pop()
        if isinstance(part, _RARE):
            raise run.error(node, "unsupported", f"the function's line {run.line(part)} is not part of the supported subset of Python",
                            expected="a function that only returns a value")  # fmt: skip
        if not isinstance(part, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(part)


def bound(
    run: Evaluator, function: Function, args: Sequence[Value], named: Mapping[str, Value], node: ast.AST
) -> dict[str, Value]:
    """Return the values of a function's parameters. Raises "wrong-arguments"."""
    signature = function.node.args
    names = [a.arg for a in (*signature.posonlyargs, *signature.args)]
    keywords = [a.arg for a in signature.kwonlyargs]
    only = {a.arg for a in signature.posonlyargs}
    given = dict(zip(names, args, strict=False))
    rest: dict[Value, Value] = {k: v for k, v in named.items() if k not in (*names, *keywords) or k in only}
    wrong = bool(given.keys() & named.keys() - only) or (len(args) > len(names) and signature.vararg is None)
    wrong = wrong or (bool(rest) and signature.kwarg is None)
    found = {**function.defaults, **given, **{k: v for k, v in named.items() if k not in rest}}
    if signature.vararg is not None:
        found[signature.vararg.arg] = run.new(tuple(args[len(names) :]), node)
    if signature.kwarg is not None:
        found[signature.kwarg.arg] = run.new({**rest}, node)
    missing = [name for name in (*names, *keywords) if name not in found]
    if wrong or missing:
        raise run.error(node, "wrong-arguments", f"{function.name} takes ({', '.join([*names, *keywords])})",
                        expected=f"{len(names)} arguments, here are {len(args) + len(named)}")  # fmt: skip
    return found


# --- classes and their objects


def _made(run: Evaluator, of: Class, args: Sequence[Value], node: ast.AST, named: Mapping[str, Value]) -> Value:
    """Return a new object of a class, or the member of an enumeration."""
    if of.members:
        return member_of(run, of, args, named, node)
    made = Instance(of, {})
    run.new(made, node)
    if of.owner_of("__new__") is not None:
        raise run.error(node, "unsupported", f"{of.name} makes its objects itself", expected="a class with __init__")
    initial = _found(of, "__init__")
    if isinstance(initial, Function):
        _function_called(run, initial, [made, *args], node, named)
    elif of.fields is not None:
        _set_fields(run, made, args, node, named)
    elif of.opens or initial is not None:
        run.runs(node, (made, *args, *named.values()))
    elif args or named:
        raise run.error(node, "wrong-arguments", f"{of.name}() takes no arguments", expected=f"{of.name}()")
    return made


def _record(run: Evaluator, of: RecordType, args: Sequence[Value], node: ast.AST, named: Mapping[str, Value]) -> Record:
    """Return a new object of a named tuple."""
    given = {**dict(zip(of.fields, args, strict=False)), **named}
    if given.keys() != {*of.fields} or len(args) + len(named) != len(of.fields):
        raise run.error(
            node, "wrong-arguments", f"{of.name} has the fields {', '.join(of.fields)}", expected=f"{of.name}(…)"
        )
    found = Record(given[name] for name in of.fields)
    found.fields = of.fields
    run.new(found, node)
    return found


def _set_fields(
    run: Evaluator, made: Instance, args: Sequence[Value], node: ast.AST, named: Mapping[str, Value]
) -> None:
    """Give an object of a dataclass its fields."""
    of, fields = made.of, made.of.fields or ()
    given = {**dict(zip(fields, args, strict=False)), **named}
    if len(args) > len(fields) or not given.keys() <= {*fields} or len(given) != len(args) + len(named):
        raise run.error(
            node, "wrong-arguments", f"{of.name} has the fields {', '.join(fields)}", expected=f"{of.name}(…)"
        )
    for name in fields:
        if name in given:
            made.values[name] = given[name]
            continue
        owner = of.owner_of(name)
        default = Field() if owner is None else owner.values[name]
        if isinstance(default, Field):
            if default.factory is None and not default.has_default:
                raise run.error(
                    node, "wrong-arguments", f"the field {name} of {of.name} has no value", expected=f"{name}=…"
                )
            default = default.default if default.has_default else factory_value(run, default.factory, node)
        made.values[name] = default
    after = _found(of, "__post_init__")
    if isinstance(after, Function):
        _function_called(run, after, [made], node, {})


def factory_value(run: Evaluator, factory: Value, node: ast.AST) -> Value:
    """Return what a factory makes: `list`, `dict`, or a function of the text."""
    made: dict[str, Value] = {"list": [], "dict": {}, "tuple": ()}
    if isinstance(factory, str):
        return run.new(made[factory], node)
    return called(run, factory, (), node)


def _found(of: Class, name: str) -> Value:
    owner = of.owner_of(name)
    return None if owner is None else owner.values[name]


def _parent(run: Evaluator, node: ast.Call) -> Value:
    """Read `super()` in a method."""
    function = run.functions[-1] if run.functions else None
    if (
        function is None
        or function.owner is None
        or not isinstance(function.node, ast.FunctionDef)
        or not function.node.args.args
    ):
        raise run.error(node, "unsupported", "super() has a meaning in methods only", expected="a method")
    return Parent(function.owner, run.scope.get(function.node.args.args[0].arg))


def _method(run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
    match owner:
        case Unknown(origin=origin) if run.dialect.is_whole(origin):
            return owner
        case Unknown():
            return run.passed_call(node)
        case Parent(of=of, owner=made):
            return _parents_method(run, of, made, name, node)
        case Attributes(values=values) if name not in values:
            return run.passed_call(node)  # an object of other code
        case Instance() | Class() | Attributes() | TextModule():
            assert isinstance(node.func, ast.Attribute)
            return apply(run, attribute_of(run, owner, name, node.func), node)
        case Array():
            return array_method(run, owner, name, node)
        case OptionParser():
            return option_call(run, owner, name, node)
        case _:
            read = METHODS.get((type(owner), name))
            if read is None:
                return run.dialect.method(run, owner, name, node)
            return read(run, owner, items(run, node.args), _keywords(run, node), node)


def _parents_method(run: Evaluator, of: Class, made: Value, name: str, node: ast.Call) -> Value:
    for base in of.bases:
        method = _found(base, name)
        if isinstance(method, Function):
            return apply(run, Bound(method, made), node)
    if of.opens:
        if isinstance(made, Instance):
            for known in made.values:
                made.values[known] = Unknown(f"line {run.line(node)} may change it")
        return run.passed_call(node)
    if name == "__init__":
        return None
    raise run.error(node, "unknown-name", f"the classes above {of.name} have no {name}", expected="a method")


def attribute_of(run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
    """Return `owner.name`."""
    match owner:
        case Unknown(origin=origin):
            return owner if run.dialect.is_whole(origin) else run.runs(node)
        case Record() if name in owner.fields:
            return owner[owner.fields.index(name)]
        case Instance(values=values) if name in values and not _is_property(owner.of, name):
            return values[name]
        case Instance(of=of):
            return _from_class(run, of, owner, name, node)
        case Class():
            return _from_class(run, owner, None, name, node)
        case Options(values=values):
            return values[name] if name in values else run.runs(node)
        case Attributes(values=values, title=title):
            if name not in values:
                raise unknown_error(run.source, Unknown("it is not given", f"{title}.{name}"), node)
            return values[name]
        case TextModule():
            return submodule(run, owner, name, node)
        case Array():
            return array_attribute(run, owner, name, node)
        case Function() if name == "__name__":
            return owner.name
        case Function():
            return run.runs(node)
        case _:
            return run.dialect.attribute(run, owner, name, node)


def _is_property(of: Class, name: str) -> bool:
    found = _found(of, name)
    return isinstance(found, Function) and found.kind == "property"


def _from_class(run: Evaluator, of: Class, made: Instance | None, name: str, node: ast.Attribute) -> Value:
    """Return an attribute of a class, for one of its objects if given."""
    owner = of.owner_of(name)
    if owner is None:
        if of.opens or of.owner_of("__getattr__") is not None:
            return run.runs(node, () if made is None else (made,))
        if name == "__name__" and made is None:
            return of.name
        raise run.error(node, "unknown-name", f"{of.name} has no attribute {name}", expected=", ".join(of.values)[:200])
    found = owner.values[name]
    match found:
        case Function(kind="property") if made is not None:
            return _function_called(run, found, [made], node, {})
        case Function(kind="classmethod"):
            return Bound(found, of)
        case Function(kind="") if made is not None:
            return Bound(found, made)
        case Function():
            return found
        case _ if of.opens:
            return run.runs(node)  # classes of other code can make something else of it, as enum.Enum does
        case _:
            return run.seen(found)


__all__ = ["apply", "attribute_of", "bound", "called", "function_of", "read_call"]
