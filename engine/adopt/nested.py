"""Programs that functions and methods of a text make: those that the text calls are read as called, others with values for the parameters
of the functions around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ..ir import TilewrightError
from ..script import Note, Parsed
from ..script.errors import parse_error
from ..script.language import is_script
from ..script.reading.source import Source
from ..script.subset.calls import called, function_of
from ..script.subset.core import Evaluator
from ..script.subset.scope import Scope, Value
from ..script.subset.statements import evaluator
from ..script.subset.values import Attributes, Bound, Class, Function
from ..te.reader import TEReader
from .schedule_reader import ScheduleDialect

Kind: TypeAlias = Literal["size", "dtype", "flag", "scope", "list", "tensor"]
Definition: TypeAlias = ast.FunctionDef | ast.ClassDef


class Need(msgspec.Struct, frozen=True):
    """A parameter of a function around a program: its name, kind, and the value from its default or from a call, as text ("": none).
    `optional`: it has a default, which need not be written out as a constant."""

    name: str
    kind: Kind
    value: str = ""
    optional: bool = False

    @property
    def shown(self) -> str:
        return f"{self.name}={self.value}" if self.value else f"{self.name} ({self.kind})"


class NestedProgram(msgspec.Struct, frozen=True, eq=False):
    """A program in functions or methods: the definitions around it from the outermost, and its own."""

    around: tuple[Definition, ...]
    node: Definition
    needs: tuple[Need, ...]

    @property
    def name(self) -> str:
        return ".".join([*(node.name for node in self.around), self.node.name])

    @property
    def shown(self) -> str:
        given = ", ".join(need.shown for need in self.needs)
        return f"{self.name} with {given}" if given else self.name


def nested_programs(tree: ast.Module) -> list[NestedProgram]:
    """Return the programs that functions and methods of a text define, in order."""
    found = [*_definitions(tree.body, ())]
    calls = _calls(tree) if found else {}
    return [NestedProgram(around, node, _needs(around, calls)) for around, node in found]


def has_nested(tree: ast.Module) -> bool:
    """Whether functions or methods of a text define programs."""
    return next(_definitions(tree.body, ()), None) is not None


def _definitions(
    body: Sequence[ast.stmt], around: tuple[Definition, ...]
) -> Iterator[tuple[tuple[Definition, ...], Definition]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not is_script(node):
                yield from _definitions(node.body, (*around, node))
            elif around and any(isinstance(outer, ast.FunctionDef) for outer in around):
                yield around, node
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _definitions(getattr(node, field, ()), around)


# --- parameters


def _needs(around: Sequence[Definition], calls: Mapping[str, ast.Call]) -> tuple[Need, ...]:
    """Return the parameters of the functions around a program, with those of the constructor for a method."""
    found: dict[str, Need] = {}
    for outer, node in zip((None, *around), around, strict=False):
        if isinstance(node, ast.FunctionDef):
            if isinstance(outer, ast.ClassDef):
                found |= {need.name: need for need in _of_class(outer)}
            is_bound = isinstance(outer, ast.ClassDef) and not _is_static(node)
            call = None if isinstance(outer, ast.ClassDef) else calls.get(node.name)
            found |= {need.name: need for need in _of_function(node, call, skip=is_bound)}
    return tuple(found.values())


def _is_static(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _of_class(node: ast.ClassDef) -> list[Need]:
    """Return the parameters of a class's constructor, or the fields of a dataclass."""
    made = next((p for p in node.body if isinstance(p, ast.FunctionDef) and p.name == "__init__"), None)
    if made is not None:
        return _of_function(made, None, skip=True)
    if not any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        return []
    fields = [p for p in node.body if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)]
    return [_need(f.target.id, f.annotation, f.value) for f in fields if isinstance(f.target, ast.Name)]


def _of_function(node: ast.FunctionDef, call: ast.Call | None, *, skip: bool) -> list[Need]:
    """Return the parameters of a function, with the values of a call."""
    positional = [*node.args.posonlyargs, *node.args.args]
    given = dict(zip([a.arg for a in reversed(positional)], reversed(node.args.defaults), strict=False))
    given |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    if call is not None:
        given |= dict(zip([a.arg for a in positional], call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    parameters = [*positional[1 if skip else 0 :], *node.args.kwonlyargs]
    found = [_need(a.arg, a.annotation, given.get(a.arg)) for a in parameters]
    return [need if need.value else replace(need, kind=_used_as(need.name, node) or need.kind) for need in found]


def _used_as(name: str, node: ast.FunctionDef) -> Kind | None:
    """Return what a function uses a parameter as, if its code tells: `x.shape` is that of a tensor, `shape[0]` an item of a list."""
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=used), attr="shape" | "ndim") if used == name:
                return "tensor"
            case ast.Subscript(value=ast.Name(id=used)) | ast.Starred(value=ast.Name(id=used)) if used == name:
                return "list"
            case ast.Call(func=ast.Name("len"), args=[ast.Name(id=used)]) if used == name:
                return "list"
            case _:
                pass
    return None


def _calls(tree: ast.Module) -> dict[str, ast.Call]:
    """Return for each function the first call whose arguments are written out as constants."""
    found: dict[str, ast.Call] = {}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id in found:
            continue
        if all(_literal(value) is not None for value in (*call.args, *(k.value for k in call.keywords))):
            found[call.func.id] = call
    return found


def _literal(node: ast.expr) -> str | None:
    """Return the text of an argument that is a constant; None for others."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return ast.unparse(node)


def _need(name: str, annotation: ast.expr | None, default: ast.expr | None) -> Need:
    value = "" if default is None else _literal(default) or ""
    written = "" if annotation is None else ast.unparse(annotation).lower()
    return Need(name, _kind(name.lower(), written, value), value, default is not None)


def _kind(name: str, annotation: str, value: str) -> Kind:
    """Return what a parameter is, by its type, its default and its name."""
    if "bool" in annotation or value in ("True", "False"):
        return "flag"
    if any(word in annotation for word in ("list", "tuple", "sequence")) or value.startswith(("[", "(")):
        return "list"
    if "scope" in name:
        return "scope"
    if "dtype" in name or "format" in name or "str" in annotation or value.startswith(("'", '"')):
        return "dtype"
    return "size"


# --- reading


class _Seeker(ScheduleDialect):
    """Reads a text up to a definition, with the functions around it."""

    def __init__(self, reader: TEReader, wanted: NestedProgram) -> None:
        super().__init__(reader)
        self.wanted = wanted
        self.result: Parsed | TilewrightError | None = None
        self.scopes: dict[ast.AST, Scope] = {}  # those of the definitions around the program

    def definition(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> Value:
        if node in self.wanted.around:
            self.scopes[node] = run.scope
        if node is not self.wanted.node:
            return super().definition(run, node)
        try:
            found = super().definition(run, node)
        except TilewrightError as error:
            self.result = self.result or error
            raise
        self.result = self.parsed[node.name]
        return found


def read_nested(
    source: Source, wanted: NestedProgram, given: Mapping[str, Any]
) -> tuple[Parsed, tuple[Note, ...], frozenset[str]]:
    """Return a program with its notes, and the names in `given` that were used. Raises the errors of the program's text, and ParseError
    "missing-values" without a value for a parameter."""
    reader = TEReader(source, {})
    dialect = _Seeker(reader, wanted)
    run = reader.python = evaluator(source, dialect)
    reader.scope = run.scope
    for node in source.tree.body:
        _leniently(run, node)
    used: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()
    if not isinstance(dialect.result, Parsed):
        dialect.result = None
        used, notes = _call(run, dialect, given)
    if isinstance(dialect.result, TilewrightError):
        raise dialect.result
    if dialect.result is None:
        raise source.error(wanted.node, "unsupported", f"the functions around {wanted.node.name} do not reach it with these values",
                           expected="values for which Python defines the program")  # fmt: skip
    return dialect.result, (*dialect.result.notes, *notes), used


def _leniently(run: Evaluator, node: ast.stmt) -> None:
    """Read a statement of the text; one that cannot be read is passed over."""
    try:
        run.statement(node)
    except TilewrightError as error:
        run.pass_over(node, error.refusal.message)


def _call(run: Evaluator, dialect: _Seeker, given: Mapping[str, Any]) -> tuple[frozenset[str], tuple[Note, ...]]:
    """Call the functions around the program, from the outermost."""
    wanted = dialect.wanted
    values = _values(run.source, wanted, given)
    owner: Class | None = None
    for node in wanted.around:
        if isinstance(dialect.result, Parsed):
            break
        scope = dialect.scopes.get(node)
        value = None if scope is None else scope.get(node.name)
        if isinstance(node, ast.ClassDef):
            owner = value if isinstance(value, Class) else None
            if owner is None:
                raise run.source.line_error(
                    node, "unsupported", f"the class {node.name} is not read", expected="a class of the text"
                )
            continue
        try:
            _call_one(run, node, value, owner, scope, values)
        except TilewrightError as error:
            if dialect.result is None and node is wanted.around[-1]:
                dialect.result = error
        owner = None
    shown = ", ".join(f"{n.name}={given.get(n.name, n.value)}" for n in wanted.needs if n.name in values)
    text = (
        f"{wanted.name} is not called in the text: it is read with {shown}"
        if shown
        else f"{wanted.name} is not called in the text"
    )
    used = frozenset(given) & {need.name for need in wanted.needs}
    return used, (Note(text, run.source.place(wanted.node)),)


def _call_one(
    run: Evaluator,
    node: ast.FunctionDef,
    value: Value,
    owner: Class | None,
    scope: Scope | None,
    values: Mapping[str, Any],
) -> None:
    """Call a function or method with the values of its parameters; others have their defaults."""
    if scope is None:
        return
    with run.inside(scope):
        function = function_of(run, node)
    callee: Value = function
    if owner is not None and not _is_static(node):
        made = next((p for p in owner.values.values() if isinstance(p, Function) and p.name == "__init__"), None)
        initial = (
            _given(made, values, 1)
            if made is not None
            else {k: v for k, v in values.items() if k in (owner.fields or ())}
        )
        callee = Bound(Function(node, scope, function.defaults, "", owner), called(run, owner, (), node, initial))
    called(run, callee, (), node, _given(function, values, 1 if isinstance(callee, Bound) else 0))


def _given(function: Function, values: Mapping[str, Any], skip: int) -> dict[str, Value]:
    signature = function.node.args
    names = [a.arg for a in (*signature.posonlyargs, *signature.args)][skip:] + [a.arg for a in signature.kwonlyargs]
    return {name: values[name] for name in names if name in values}


def _values(source: Source, wanted: NestedProgram, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters: the given ones, else those of the text. Raises "missing-values"."""
    found: dict[str, Any] = {}
    missing: list[Need] = []
    for need in wanted.needs:
        if need.name in given:
            found[need.name] = _typed(need, given[need.name])
        elif need.value:
            found[need.name] = ast.literal_eval(need.value)
        elif not need.optional:
            missing.append(need)
    if missing:
        names = ", ".join(need.shown for need in missing)
        options = " ".join(f"--size {need.name}={_EXAMPLES[need.kind]}" for need in missing)
        place = source.place(wanted.node)
        raise parse_error("missing-values", f"{wanted.name} needs values for {names}", place, found=wanted.node.name,
                          expected="a value for each parameter of the functions around the program", fix=(options,))  # fmt: skip
    return found


_EXAMPLES: Mapping[Kind, str] = {
    "size": "128", "dtype": "float16", "flag": "1", "scope": "shared", "list": "16x16", "tensor": "16x64xfloat16",
}  # fmt: skip


def _typed(need: Need, value: Any) -> Any:
    """Return a value as its kind: 0 and 1 are flags, 16x64 is a list, 16x64xfloat16 a tensor."""
    if need.kind == "flag" and value in (0, 1):
        return bool(value)
    sizes = [int(part) for part in str(value).split("x") if part.isdecimal()]
    if need.kind == "tensor":
        dtype = str(value).rpartition("x")[2]
        known: dict[str, Value] = {"shape": tuple(sizes), "ndim": len(sizes)}
        return Attributes(known if dtype.isdecimal() else {**known, "dtype": dtype}, need.name)
    return sizes if need.kind == "list" else value


__all__ = ["Need", "NestedProgram", "has_nested", "nested_programs", "read_nested"]
