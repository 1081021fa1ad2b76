"""Values of a function's parameters from the calls in the text, followed through names, defaults, options of a command line, the shapes of
tensors, and the first configuration of a tuner.

Nothing is run. A name has the value of its last assignment before the call.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ...script.language import called_name, is_eager
from ...script.reading.vocabulary import DTYPES
from ...script.subset.constants import fold
from .needs import Known, constants_of, declared_tensors, defaults_of, literal, other_names, parameters_of

_LONGEST = 16
"""The most steps between a parameter and its value."""
_ALLOCATING = frozenset({"randn", "rand", "zeros", "ones", "empty", "full", "randint"})
_OF_SAME_SHAPE = frozenset({
    "cuda", "npu", "half", "float", "bfloat16", "to", "contiguous", "clone", "detach", "requires_grad_", "normal_", "uniform_", "type",
})  # fmt: skip
"""Methods of a tensor whose result has its shape."""
_MAKERS = frozenset({"compile", "get_tir", "lower"})
"""Methods of a kernel with its parameters as arguments: `kernel.compile(M=1024)`."""


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "int": int, "float": float, "bool": bool, "list": list, "tuple": tuple, "min": min, "max": max, "sqrt": math.sqrt,
    "cdiv": _ceildiv, "ceildiv": _ceildiv,
}  # fmt: skip
"""Functions of constants."""
_Around: TypeAlias = tuple[ast.FunctionDef, ...]


class _Place(msgspec.Struct, frozen=True, eq=False):
    """Where an expression stands: the functions around it from the outermost, its line, and the number of steps to it."""

    around: _Around
    line: int
    steps: int = 0

    def next(self) -> _Place:
        return _Place(self.around, self.line, self.steps + 1)


class CallSites:
    """The calls of a text's functions, and the assignments around each."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions: dict[str, ast.FunctionDef] = {}
        self._tree = tree
        self._calls: dict[str, list[tuple[ast.Call, _Around]]] = {}
        self._methods: dict[ast.FunctionDef, str] = {}  # those of torch.autograd, by the name of what calls them
        self._options: dict[str, ast.expr] = {}
        self._assigned: dict[ast.AST, dict[str, list[tuple[int, ast.expr]]]] = {}
        self._read(tree, ())
        self._aliases: dict[str, list[str]] = {}  # `run = Rotary.apply` of the module
        for alias, values in self._assignments(tree).items():
            if isinstance(values[-1][1], ast.Name | ast.Attribute):
                self._aliases.setdefault(ast.unparse(values[-1][1]), []).append(alias)

    def _read(self, node: ast.AST, around: _Around) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Call):
                self._read_call(part, around)
            if isinstance(part, ast.FunctionDef):
                self._functions.setdefault(part.name, part)
                if isinstance(node, ast.ClassDef) and part.name == "forward":
                    self._methods[part] = f"{node.name}.apply"
            self._read(part, (*around, part) if isinstance(part, ast.FunctionDef) else around)

    def _read_call(self, call: ast.Call, around: _Around) -> None:
        match call.func:
            case ast.Attribute(attr="add_argument"):
                self._options |= _option(call)
            case ast.Name(id=name):
                self._calls.setdefault(name, []).append((call, around))
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                called = name if attr in _MAKERS else f"{name}.{attr}"
                self._calls.setdefault(called, []).append((call, around))
            case _:
                pass

    def _arguments(self, function: ast.FunctionDef) -> Iterator[tuple[dict[str, ast.expr], _Place]]:
        """Yield the arguments of each call of a function by the names of its parameters."""
        name = self._methods.get(function, function.name)
        same = self._aliases.get(name, ())
        parameters = [argument.arg for argument in parameters_of(function)][function in self._methods :]
        for call, around in (pair for called in (name, *same) for pair in self._calls.get(called, ())):
            place = _Place(around, call.lineno)
            given: dict[str, ast.expr] = {}
            for parameter, value in zip(parameters, call.args, strict=False):
                if isinstance(value, ast.Starred):
                    break
                given[parameter] = value
            for keyword in call.keywords:
                if keyword.arg is None:
                    given |= _items(self._value(keyword.value, place))
                else:
                    given[keyword.arg] = keyword.value
            yield given, place

    def values_for(self, name: str) -> Known:
        """Return the values of a function's first call with values for all arguments, else of the call with the most."""
        function = self._functions.get(name)
        if function is None:
            return {}
        best: dict[str, ast.expr] = {}
        tensors = declared_tensors(function) if is_eager(function) else frozenset[str]()
        for given, place in self._arguments(function):
            sizes = _sizes_of(function, {name: self._shape(given[name], place) for name in tensors & given.keys()})
            values = {name: self._value(value, place) for name, value in given.items() if name not in tensors}
            known = {name: value for name, value in values.items() if value is not None}
            if len(known | sizes) > len(best):
                best = known | sizes
            if known and len(known) == len(values):
                break
        return {**self._first_config(function), **self._first_parameters(function), **best}

    def _first_parameters(self, test: ast.FunctionDef) -> dict[str, ast.expr]:
        """Return the first values of what a test takes: `@pytest.fixture(params=[16, 32])`, `n = tvm.testing.parameter(16)`."""
        found: dict[str, ast.expr] = {}
        for name in (argument.arg for argument in parameters_of(test)) if test.name.startswith("test") else ():
            fixture = self._functions.get(name)
            first = None if fixture is None else _first_of_fixture(fixture)
            for _, made in self._assignments(self._tree).get(name, ()):
                if isinstance(made, ast.Call) and called_name(made) == "parameter" and made.args:
                    first = made.args[0]
            value = self._value(first, _Place((), test.lineno))
            found |= {} if value is None else {name: value}
        return found

    # --- names

    def _origins(self, name: str, place: _Place) -> Iterator[tuple[ast.expr, _Place]]:
        """Yield what a name stands for: its last assignment, or the arguments of each call and the default of a parameter."""
        for level in range(len(place.around), -1, -1):
            scope: ast.AST = place.around[level - 1] if level else self._tree
            is_innermost = level == len(place.around)  # the functions around it are read to the end before
            assigned = self._assignments(scope).get(name, ())
            before = [(at, value) for at, value in assigned if at < place.line or not is_innermost]
            if before:
                line, value = before[-1]
                yield value, _Place(place.around[:level], line, place.steps + 1)
                return
            if isinstance(scope, ast.FunctionDef) and any(a.arg == name for a in parameters_of(scope)):
                for given, outer in self._arguments(scope) if place.steps < _LONGEST else ():
                    if name in given:
                        yield given[name], _Place(outer.around, outer.line, place.steps + 1)
                default = defaults_of(scope).get(name)
                if default is not None:
                    yield default, _Place(place.around[: level - 1], scope.lineno, place.steps + 1)
                return

    def _is_command_line(self, name: str, place: _Place) -> bool:
        """Whether a name is the options of a command line."""
        found = [value for value, _ in self._origins(name, place)]
        return not found or any(
            isinstance(v, ast.Call) and called_name(v) in ("parse_args", "parse_known_args") for v in found
        )

    def _assignments(self, scope: ast.AST) -> dict[str, list[tuple[int, ast.expr]]]:
        """Return the lines and values of the assignments to each name of a module or function, without those of functions in it."""
        found = self._assigned.get(scope)
        if found is None:
            found = self._assigned[scope] = {}
            for part in _own_statements(scope):
                for name, value in _assigned(part):
                    found.setdefault(name, []).append((part.lineno, value))
        return found

    # --- values

    def _value(self, node: ast.expr | None, place: _Place) -> ast.expr | None:
        """Return the constant, list or dict that an expression is; None if that is not known."""
        if node is None or place.steps > _LONGEST:
            return None
        if literal(node) is not None:
            return node

        def value(part: ast.expr | None) -> ast.expr | None:
            return self._value(part, place.next())

        match node:
            case ast.Name(id=name):
                return next(
                    (v for v in (self._value(*origin) for origin in self._origins(name, place)) if v is not None), None
                )
            case ast.Attribute(attr=attr) if attr in DTYPES:
                return ast.Constant(attr)
            case ast.Attribute(value=tensor, attr="shape"):
                shape = self._shape(tensor, place.next())
                return None if shape is None else ast.Tuple([extent or ast.Constant(None) for extent in shape])
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in self._options and self._is_command_line(
                name, place
            ):
                return value(self._options[attr])
            case ast.Subscript(value=whole, slice=index) if literal(index) is not None:
                return _item(value(whole), ast.literal_eval(index))
            case ast.BinOp(left=left, op=op, right=right):
                return _folded(op, value(left), value(right))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = [part for part in map(value, elements) if part is not None]
                return ast.Tuple(parts) if len(parts) == len(elements) else None
            case ast.Dict(keys=keys, values=values):
                return _dict(dict(zip(keys, map(value, values), strict=True)))
            case ast.ListComp(elt=element, generators=[ast.comprehension(target=target, iter=values, ifs=[])]):
                first = value(_named(element, dict(_pairs(target, ast.Subscript(values, ast.Constant(0))))))
                return None if first is None else ast.Tuple([first])
            case ast.Call():
                return self._called(node, place)
            case _:
                return None

    def _called(self, call: ast.Call, place: _Place) -> ast.expr | None:
        """Return the result of a function that is known; of `itertools.product` only the first item."""
        values = [self._value(part, place.next()) for part in call.args]
        match call:
            case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[axis]):
                return self._value(ast.Subscript(ast.Attribute(tensor, "shape"), axis), place.next())
            case ast.Call(func=ast.Name(id="dict"), args=[]):
                return _dict({ast.Constant(k.arg): self._value(k.value, place.next()) for k in call.keywords})
            case ast.Call(func=ast.Name(id="product") | ast.Attribute(attr="product")):
                first = [_item(part, 0) for part in values]
                known = [part for part in first if part is not None]
                return ast.Tuple([ast.Tuple(known)]) if len(known) == len(first) else None
            case _:
                return _applied(called_name(call), values)

    # --- shapes

    def _shape(self, node: ast.expr | None, place: _Place) -> list[ast.expr | None] | None:
        """Return the extents of a tensor that the text allocates; None if it is not known."""
        if node is None or place.steps > _LONGEST:
            return None
        match node:
            case ast.Name(id=name):
                return next(
                    (s for s in (self._shape(*origin) for origin in self._origins(name, place)) if s is not None), None
                )
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _OF_SAME_SHAPE:
                return self._shape(inner, place.next())
            case ast.Attribute(value=inner, attr="T") | ast.Call(func=ast.Attribute(value=inner, attr="t"), args=[]):
                found = self._shape(inner, place.next())
                return None if found is None else found[::-1]
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in _ALLOCATING:
                extents = args[2:] if attr == "randint" else args[:1] if attr == "full" else args
                extents = extents or [k.value for k in node.keywords if k.arg == "size"]
                return self._extents(extents, place.next())
            case _:
                return None

    def _extents(self, written: Sequence[ast.expr], place: _Place) -> list[ast.expr | None] | None:
        """Return the extents in `randn(M, N)`, `randn((M, N))`, `randn(shape)` or `randn(*shape)`."""
        match written:
            case [ast.Tuple(elts=parts) | ast.List(elts=parts)]:
                return self._extents(parts, place)
            case [ast.Starred(value=whole)] | [ast.Name() as whole]:
                found = self._value(whole, place)
                if isinstance(found, ast.Tuple | ast.List):
                    return [*found.elts]
                return [found] if isinstance(written[0], ast.Name) else None
            case _:
                is_written_out = not any(isinstance(part, ast.Starred) for part in written)
                return [self._value(part, place) for part in written] if is_written_out else None

    # --- tuners

    def _first_config(self, function: ast.FunctionDef) -> Known:
        """Return the first configuration of `@autotune(configs=…)`."""
        tuners = (d for d in function.decorator_list if isinstance(d, ast.Call) and called_name(d) == "autotune")
        for configs in (k.value for tuner in tuners for k in tuner.keywords if k.arg == "configs"):
            made_by = (
                self._functions.get(configs.func.id)
                if isinstance(configs, ast.Call) and isinstance(configs.func, ast.Name)
                else None
            )
            if made_by is None:
                return _items(_item(self._value(configs, _Place((), function.lineno)), 0))
            written = [(part, value) for part in _own_statements(made_by) for value in _made(part)]
            found = (self._config(value, _Place((made_by,), part.lineno)) for part, value in written)
            return next((known for known in found if known), dict[str, ast.expr]())
        return {}

    def _config(self, node: ast.expr, place: _Place) -> Known:
        """Return the first of the configurations in a list, or in the product of a dict of lists."""
        value = self._value(node, place)
        items = _items(value)
        if items and all(isinstance(item, ast.Tuple | ast.List) for item in items.values()):
            first = {name: _item(item, 0) for name, item in items.items()}
            return {name: item for name, item in first.items() if item is not None}
        return items or _items(_item(value, 0))


# --- statements


def _own_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a module or function in order, without those of functions and classes in it."""
    for field in ("body", "orelse", "handlers", "finalbody"):
        for part in getattr(scope, field, ()):
            if isinstance(part, ast.stmt):
                yield part
            if not isinstance(part, ast.FunctionDef | ast.ClassDef):
                yield from _own_statements(part)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and values of an assignment; a loop assigns the first item."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _pairs(target, value)
        case ast.For(target=target, iter=values):
            yield from _pairs(target, ast.Subscript(values, ast.Constant(0)))
        case _:
            pass


def _made(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the values that a statement assigns, returns or appends to a list."""
    match node:
        case ast.Return(value=ast.expr() as value) | ast.Expr(
            ast.Call(func=ast.Attribute(attr="append"), args=[value])
        ):
            yield value
        case _:
            yield from (value for _, value in _assigned(node))


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names) | ast.List(elts=names), _:
            items = value.elts if isinstance(value, ast.Tuple | ast.List) else None
            for n, inner in enumerate(names if items is None else names[: len(items)]):
                yield from _pairs(inner, ast.Subscript(value, ast.Constant(n)) if items is None else items[n])
        case _:
            pass


def _named(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with values for some names."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return values.get(node.id, node)

    return Names().visit(ast.parse(ast.unparse(node), mode="eval").body)


def _first_of_fixture(fixture: ast.FunctionDef) -> ast.expr | None:
    """Return the first value of a fixture that gives its parameters as they are."""
    gives = [part.value for part in ast.walk(fixture) if isinstance(part, ast.Return) and part.value is not None]
    if [ast.unparse(value) for value in gives] != ["request.param"]:
        return None
    decorators = [d for d in fixture.decorator_list if isinstance(d, ast.Call) and called_name(d) == "fixture"]
    params = [k.value for d in decorators for k in d.keywords if k.arg == "params"]
    return next((p.elts[0] for p in params if isinstance(p, ast.List | ast.Tuple) and p.elts), None)


def _option(call: ast.Call) -> dict[str, ast.expr]:
    """Return the default of an option of argparse by its name; 0 stands for an option that is not given."""
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    known = {k.arg: k.value for k in call.keywords}
    named = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    dest = known.get("dest")
    name = str(dest.value) if isinstance(dest, ast.Constant) else named.lstrip("-").replace("-", "_")
    match known.get("action"):
        case ast.Constant(value="store_true" | "store_false" as action):
            return {name: known.get("default", ast.Constant(action == "store_false"))}
        case _:
            return (
                {name: known["default"]}
                if literal(known.get("default", ast.Constant(0))) not in ("0", "-1", "None")
                else {}
            )


# --- constants


def _dict(items: Mapping[ast.expr | None, ast.expr | None]) -> ast.Dict:
    known = {key: value for key, value in items.items() if value is not None}
    return ast.Dict([*known], [*known.values()])


def _items(node: ast.expr | None) -> dict[str, ast.expr]:
    """Return the items of a dict by their names."""
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _item(node: ast.expr | None, key: Any) -> ast.expr | None:
    """Return an item of a list, tuple or dict."""
    if isinstance(node, ast.Tuple | ast.List):
        found = node.elts[key] if isinstance(key, int) and -len(node.elts) <= key < len(node.elts) else None
        return None if isinstance(found, ast.Constant) and found.value is None else found
    return _items(node).get(key)


def _folded(op: ast.operator, left: ast.expr | None, right: ast.expr | None) -> ast.expr | None:
    a, b = (None if part is None or literal(part) is None else ast.literal_eval(part) for part in (left, right))
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return None
    try:
        return ast.Constant(fold(op, a, b))
    except ValueError:
        return None


def _applied(name: str, values: list[ast.expr | None]) -> ast.expr | None:
    texts = [literal(value) for value in values if value is not None]
    known = [ast.literal_eval(text) for text in texts if text is not None]
    if name not in _FUNCTIONS or len(known) < len(values):
        return None
    try:
        return ast.parse(repr(_FUNCTIONS[name](*known)), mode="eval").body
    except (ValueError, TypeError, ArithmeticError, SyntaxError):
        return None


def _sizes_of(function: ast.FunctionDef, shapes: Mapping[str, list[ast.expr | None] | None]) -> dict[str, ast.expr]:
    """Return the sizes that an eager kernel takes from the shapes of its arguments: M and K of `A: T.Tensor((M, K), dtype)`."""
    wanted, others = {*constants_of(function)}, other_names(function)
    declared = [(a.arg, a.annotation) for a in parameters_of(function)]
    declared += [
        (part.target.id, part.annotation)
        for part in ast.walk(function)
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]
    found: dict[str, ast.expr] = {}
    for name, written in declared:
        shape = shapes.get(name)
        match written:
            case ast.Call(args=[ast.Tuple(elts=extents) | ast.List(elts=extents), *_]):
                pass
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Tuple(elts=extents) | ast.List(elts=extents), *_])):
                pass
            case _:
                continue
        if shape is not None and len(shape) == len(extents):
            for extent, value in zip(extents, shape, strict=True):
                size = others.get(extent.id, extent.id) if isinstance(extent, ast.Name) else ""
                if size in wanted and value is not None:
                    found[size] = value
    return found


__all__ = ["CallSites"]
