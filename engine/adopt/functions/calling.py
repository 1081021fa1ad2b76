"""Reads a program that functions make: the text, then calls of the functions around the program, from the outermost."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...ir import Buffer, TilewrightError, Var, build, refusing_faults
from ...schedule import Schedule
from ...script import Note, Parsed
from ...script.errors import ParseError, UnknownValueError
from ...script.reading.source import Source
from ...script.subset.calls import called, function_of
from ...script.subset.core import Evaluator
from ...script.subset.scope import Scope, Unknown, Value
from ...script.subset.statements import RAISES, evaluator
from ...script.subset.values import Attributes, Bound, Class, Function, Instance, Module, dotted
from ...te.model import Compute, Placeholder, Tensor
from ...te.prim_func import needed
from ...te.program import made_program
from ...te.reader import TEReader
from ...te.sizes import typed_variable
from ...te.stages import Record
from ...te.tensors import identifier, outputs_of
from ...te.translate import translate
from ...te.tuning import TuningConfig
from ...te.vta import ENVIRONMENT, environment
from ..pasted import Snippet, snippet_of
from ..schedule_reader import BlockSchedule, ReadProgram, ScheduleDialect
from .dependencies import changed_later
from .needs import is_config, is_static, missing_values, named_need, parameters_of, values_of
from .nested import NestedProgram
from .reaching import holding, reaching
from .uses import TENSOR_PARTS, uses_of


class _Seeker(ScheduleDialect):
    """Reads a text up to a definition, with the functions around it."""

    def __init__(self, reader: TEReader, wanted: NestedProgram, given: Mapping[str, Any]) -> None:
        super().__init__(reader)
        self.wanted = wanted
        self._called = wanted.called
        self._is_eager = wanted.is_eager
        parameters = {need.name for need in wanted.needs}
        reader.outside = {name: typed_variable(name, value) for name, value in given.items() if name not in parameters}
        reader.device.given = {**given}
        self.of_axes: set[str] = set()  # unknown variables of functions of axes
        self.tensors: dict[
            str, int
        ] = {}  # sizes that code uses as tensors, with their number of axes, 0 if it is not known
        self.result: Parsed | TilewrightError | None = None
        self.of_result: dict[str, Any] = {}  # the values of the parameters with which the functions made it
        self.scopes: dict[ast.AST, Scope] = {}  # those of the definitions around the program

    def definition(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> Value:
        if node in self._called or (self._is_eager and node is self.wanted.node):
            self.scopes[node] = run.scope
        if not self.wanted.is_script:
            return super().definition(run, node)
        if node is not self.wanted.node:
            return Unknown("it is another program") if self.is_program(run, node) else None
        try:
            found = super().definition(run, node)
        except TilewrightError as error:
            self.result = self.result or error
            raise
        made = self.parsed.get(node.name)
        if made is not None and not isinstance(self.result, Parsed):
            scope = run.scope
            known = {need.name: scope[need.name] for need in self.wanted.needs if need.name in scope}
            self.of_result = {name: value for name, value in known.items() if _is_literal(value)}
        if not isinstance(self.result, Parsed):
            self.result = made
        return found

    def entered(self, scope: Scope) -> None:
        super().entered(scope)
        if (
            isinstance(self.wanted.node, ast.Lambda)
            and self._is_around(self.run)
            and self.run.functions[-1].node is self.wanted.around[-1]
        ):
            self.scopes.setdefault(self.wanted.node, scope)

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner, Var) and name in TENSOR_PARTS:
            self.tensors[owner.name] = max(self.tensors.get(owner.name, 0), _axes_of(run.source.owner(node).tree, node))
        return super().attribute(run, owner, name, node)

    def takes(self, run: Evaluator, name: str) -> bool:
        if run.functions and self.has_axes(run):
            self.of_axes.add(name)
            return False
        return not run.functions or self._is_inside(run.functions[-1].node)

    def has_axes(self, run: Evaluator) -> bool:
        return run.functions[-1].node is not self.wanted.node and super().has_axes(run)

    def _is_inside(self, node: ast.AST) -> bool:
        """Whether a function is one that is called for the program, or is defined in one."""
        if self.run.source.owner(node) is not self.run.source:
            return False
        first = getattr(node, "lineno", 0)
        functions = (outer for outer in self._called if not isinstance(outer, ast.ClassDef))
        return any(outer.lineno <= first <= (outer.end_lineno or 0) for outer in functions)

    def _is_around(self, run: Evaluator) -> bool:
        """Whether the function that is read is one around the program, which is not reached yet."""
        return bool(run.functions) and run.functions[-1].node in self.wanted.around and self.result is None

    def goes_on(self, run: Evaluator, node: ast.stmt) -> bool:
        has_schedule = self.schedule is not None or self.reader.record.schedule is not None
        return self._is_around(run) and not has_schedule and not any(part is self._next(run) for part in ast.walk(node))

    def is_reached(self, run: Evaluator) -> bool:
        return self._is_around(run) and self._next(run) in self.scopes

    def decided(self, run: Evaluator, node: ast.If) -> bool | None:
        """Return what an unknown condition is in a run that reaches the program: the branch with the program is read, and one without that
        leaves the function is not."""
        if not self._is_around(run):
            return None
        for body, value in ((node.body, True), (node.orelse, False)):
            if any(part is self._next(run) for inner in body for part in ast.walk(inner)):
                return value
        if node.body and isinstance(node.body[-1], ast.Return | ast.Raise):
            return False
        return True if node.orelse and isinstance(node.orelse[-1], ast.Return | ast.Raise) else None

    def _next(self, run: Evaluator) -> ast.AST:
        """Return the definition on the way to the program in the function that is read."""
        path = (*self.wanted.around, self.wanted.node)
        return path[path.index(run.functions[-1].node) + 1]  # pyright: ignore[reportArgumentType]


@refusing_faults(ParseError, "reading the text")
def read_nested(
    source: Source, wanted: NestedProgram, given: Mapping[str, Any], chosen: int | None = None
) -> tuple[Snippet, frozenset[str]]:
    """Return a program with its notes and schedule, the `chosen` one of several, and the names in `given` that were used.

    Raises the errors of the program's text, and ParseError "missing-values" without a value for a parameter."""
    reader = TEReader(source, {}, chosen=chosen)
    dialect = _Seeker(reader, wanted, given)
    run = reader.python = evaluator(source, dialect)
    reader.scope = run.scope
    reader.define_outside()
    is_given = any(need.name in given for need in wanted.needs)
    for node in source.tree.body:
        _leniently(run, node)
        if isinstance(dialect.result, Parsed) and not is_given:
            return replace(_of_parsed(dialect.result), values=dialect.of_result), frozenset()
    dialect.result = None
    caller = _Caller(run, dialect, given)
    try:
        found = caller.eager() if wanted.is_eager else caller.defined() if wanted.is_script else caller.computed()
    except UnknownValueError as error:
        known = {name for name, value in caller.values.items() if value is not None}
        if not error.name or error.name in {*given, *known, *dialect.of_axes}:
            raise
        raise missing_values(
            wanted.name, source.place(wanted.node), [named_need(error.name, source.trees)], error.refusal.message
        ) from error
    return found, frozenset(given) & {*caller.values, *reader.used}


def _is_literal(value: Value) -> bool:
    """Whether Python can write a value as a constant."""
    if isinstance(value, tuple | list):
        return all(map(_is_literal, value))
    return value is None or isinstance(value, bool | int | float | str)


def _of_parsed(parsed: Parsed, *notes: Note) -> Snippet:
    return Snippet(parsed.program, Schedule(parsed.program), {}, (*parsed.notes, *notes))


def _leniently(run: Evaluator, node: ast.stmt) -> None:
    """Read a statement of the text; one that cannot be read is passed over."""
    try:
        run.statement(node)
    except TilewrightError as error:
        run.pass_over(node, error.refusal.message)


class _Caller:
    """Calls the functions around a program with given values, those of the text, or none for parameters that it does not depend on."""

    def __init__(self, run: Evaluator, dialect: _Seeker, given: Mapping[str, Any]) -> None:
        self.run = run
        self.dialect = dialect
        self.given = given
        self.wanted = dialect.wanted
        self.values, self.open = values_of(
            run.source,
            self.wanted.name,
            self.wanted.node,
            self.wanted.needs,
            given,
            symbolic=not self.wanted.is_script and not self.wanted.is_eager,
        )
        for need in self.wanted.needs:
            if need.kind == "function" and isinstance(written := self.values.get(need.name), str):
                self.values[need.name] = run.value(_name_in(run, written))

    @property
    def note(self) -> Note:
        """Return the note that names the values."""
        known = {
            need.name: str(self.given.get(need.name, need.value))
            for need in self.wanted.needs
            if need.name in self.values
        }
        known |= {need.name: "a size" for need in self.open if need.kind == "size"}
        known |= {name: str(self.given[name]) for name in sorted(self.dialect.reader.used)}
        shown = ", ".join(f"{name}={value}" for name, value in known.items())
        text = f"{self.wanted.name} is read with {shown}" if shown else f"{self.wanted.name} is not called in the text"
        return Note(text, self.run.source.place(self.wanted.node))

    @property
    def _failed(self) -> list[ast.Assert]:
        """The assertions that fail with the values."""
        return [node for node, why in self.run.passed.items() if isinstance(node, ast.Assert) and why]

    @property
    def notes(self) -> tuple[Note, ...]:
        """The note that names the values, and one for each assertion that fails with them, and for each exception."""
        source = self.run.source
        failed: list[tuple[ast.stmt, str]] = [
            (node, f"this assertion fails with these values and is passed over: {ast.unparse(node)}")
            for node in self._failed
        ]
        failed += [
            (node, f"the text raises an exception here with these values, which is passed over: {ast.unparse(node)}")
            for node, why in self.run.passed.items()
            if why == RAISES
        ]
        own = (Note(text, source.place(node)) for node, text in failed if source.owner(node) is source)
        return (self.note, *own)

    def call_around(self) -> None:
        """Call the functions around the definition until they reach it."""
        owner: Class | Unknown | None = None
        for node in self.wanted.around:
            if isinstance(self.dialect.result, Parsed):
                return
            if isinstance(node, ast.ClassDef):
                owner = self._class(node)
                continue
            try:
                self._call(node, owner)
            except TilewrightError as error:
                if self.dialect.result is None and node is self.wanted.around[-1] and self.wanted.is_script:
                    self.dialect.result = error
            owner = None

    def defined(self) -> Snippet:
        """Call the functions around a program of TVMScript, and return it."""
        self.call_around()
        result = self.dialect.result
        if isinstance(result, Parsed):
            return _of_parsed(result, *self.dialect.reader.notes, *self.notes)
        raise self._not_reached(self.wanted.node) if result is None else result

    def eager(self) -> Snippet:
        """Return an eager kernel of TileLang, read with values of its parameters that are no tensors."""
        self.call_around()
        node, scope = self.wanted.node, self.dialect.scopes.get(self.wanted.node)
        assert isinstance(node, ast.FunctionDef)
        if scope is None:
            raise self._not_reached(node)
        with self.run.inside(scope):
            defaults = function_of(self.run, node).defaults
            found = self.dialect.definitions_of(node).read(node, self.run, {**defaults, **self.values})
        assert found is not None
        return _of_parsed(found, *self.notes)

    def _not_reached(self, node: ast.AST) -> ParseError:
        needed = [need for need in reaching(self.wanted.around, node, self.wanted.needs) if need.name not in self.given]
        if needed:
            return missing_values(
                self.wanted.name, self.run.source.place(node), needed, "with other values it is not reached"
            )
        return self.run.source.error(node, "unsupported", f"the functions around {self.wanted.name} do not reach it with these values",
                                     expected="values for which Python defines the program")  # fmt: skip

    def computed(self) -> Snippet:
        """Call the function that computes, and return its program and schedule. Raises "missing-values" if it does not work for all
        sizes."""
        self.call_around()
        outer = self.wanted.around[-1] if self.wanted.around else None
        owner = self._class(outer) if isinstance(outer, ast.ClassDef) else None
        assert isinstance(self.wanted.node, ast.FunctionDef | ast.Lambda)
        self._forget_changed(self.wanted.node)
        reader = self.dialect.reader
        self.dialect.schedule, self.dialect.handles, reader.record, reader.notes = None, {}, Record(), []
        reader.schedules, reader.first = 0, len(reader.operations)
        try:
            value = self._call(self.wanted.node, owner)
            return self._snippet(value)
        except TilewrightError as error:
            tensors = self.dialect.tensors.keys() & {need.name for need in self.open}
            own = {need.name for need in self.open}
            asks = isinstance(error, UnknownValueError) and error.name not in {*self.given, *own} and not tensors
            if self.dialect.schedule is not None and not asks:
                place = error.refusal.place or self.run.source.place(self.wanted.node)
                return snippet_of(self.dialect, None, error, (place,), *self.notes)
            tensors = self.dialect.tensors
            sizes = [
                replace(need, kind="tensor", rank=tensors[need.name] or need.rank) if need.name in tensors else need
                for need in self.open
                if need.kind == "size"
            ]
            if not asks:
                known = [need for need in self.wanted.needs if need.name not in self.given]
                sizes += holding(self._failed, known)
            if sizes and not asks:
                place = self.run.source.place(self.wanted.node)
                raise missing_values(self.wanted.name, place, sizes, error.refusal.message) from error
            raise

    def _forget_changed(self, node: ast.FunctionDef | ast.Lambda) -> None:
        """Forget the names that a function uses and that the functions around it change after it is defined: they may be called before."""
        scope = self.dialect.scopes.get(node)
        for function in self.wanted.around:
            if scope is not None and isinstance(function, ast.FunctionDef):
                self._give_attributes(scope, function)
                taken = {argument.arg for argument in parameters_of(function)}
                for name, line in changed_later(function, node, taken).items():
                    if not isinstance(scope.get(name), Module):
                        scope.forget([name], Unknown(f"line {line} may change it after it is used", name))
                        self.dialect.give(scope, name)

    def _give_attributes(self, scope: Scope, method: ast.FunctionDef) -> None:
        """Give an object that other code may have changed the attributes from outside."""
        name = method.args.args[0].arg if method.args.args else ""
        value, attributes = scope.get(name), self._attributes_of(name)
        if attributes and isinstance(value, Instance) and isinstance(self.run.seen(value), Unknown):
            scope.define(name, Instance(Class(value.of.name, {}, (value.of,), True), attributes))

    def _class(self, node: ast.ClassDef) -> Class | Unknown:
        scope = self.dialect.scopes.get(node)
        value = None if scope is None else scope.get(node.name)
        return value if isinstance(value, Class) else Unknown(f"the class {node.name} is not read")

    def _call(self, node: ast.FunctionDef | ast.Lambda, owner: Class | Unknown | None) -> Value:
        """Call a function or method."""
        scope = self.dialect.scopes.get(node)
        if scope is None:
            raise self._not_reached(node)
        with self.run.inside(scope):
            function = function_of(self.run, node)
        callee: Value = function
        if owner is not None and not is_static(node):
            method = Function(node, scope, function.defaults, "", owner if isinstance(owner, Class) else None)
            callee = Bound(method, self._object(owner, node))
        skip = 1 if isinstance(callee, Bound) else 0
        return called(self.run, callee, (), node, self._arguments(function, skip, needed=node is self.wanted.node))

    def _object(self, owner: Class | Unknown, node: ast.FunctionDef | ast.Lambda) -> Value:
        """Return the object of a method, made with the values; one of a constructor that cannot be read is not known, except for given
        attributes."""
        attributes = self._attributes_of(node.args.args[0].arg) if node.args.args else {}
        if isinstance(owner, Unknown):
            return Instance(Class("object", {}, (), True), attributes)
        made = owner.owner_of("__init__")
        initial = None if made is None else made.values["__init__"]
        fields = {name: self.values[name] for name in owner.fields or () if name in self.values}
        named = self._arguments(initial, 1, needed=False) if isinstance(initial, Function) else fields
        try:
            found = called(self.run, owner, (), node, named)
        except ParseError:
            return Instance(Class(owner.name, {}, (owner,), True), attributes)
        if isinstance(found, Instance) and not isinstance(self.run.seen(found), Unknown):
            found.values.update(attributes)
            return found
        return Instance(Class(owner.name, {}, (owner,), True), attributes)

    def _arguments(self, function: Function, skip: int, *, needed: bool) -> dict[str, Value]:
        """Return the values of a function's parameters; those that the program does not depend on are unknown."""
        found: dict[str, Value] = {}
        for argument in parameters_of(function.node)[skip:]:
            name = argument.arg
            attributes = self._attributes_of(name)
            if is_config(function.node, name):
                found[name] = TuningConfig()
            elif name in self.values:
                found[name] = self._tensor(name, self.values[name], function.node) if needed else self.values[name]
            elif attributes and name in uses_of(function.node).entries:
                found[name] = self.run.new({**attributes}, function.node)
            elif attributes.keys() & ENVIRONMENT.keys():
                found[name] = environment(attributes)
            elif attributes:
                found[name] = Attributes(attributes, name)
            elif needed and any(need.name == name and need.kind == "size" for need in self.open):
                found[name] = Var(name, "int32")
            elif name in self.dialect.reader.outside:
                found[name] = self.dialect.reader.outside[name]
                self.dialect.reader.used.add(name)
            elif name not in function.defaults:
                found[name] = Unknown("it is a parameter of a function that is not called", name)
        return found

    def _attributes_of(self, name: str) -> dict[str, Value]:
        """Return the given attributes of a name: `config.rope.theta` is one of `config.rope`."""
        found: dict[str, Value] = {}
        for key, value in {**self.dialect.reader.outside, **self.values}.items():
            if key.startswith(f"{name}."):
                first, _, rest = key.removeprefix(f"{name}.").partition(".")
                found[first] = Attributes(self._attributes_of(f"{name}.{first}"), f"{name}.{first}") if rest else value
                self.dialect.reader.used |= {key} & self.dialect.reader.outside.keys()
        return found

    def _tensor(self, name: str, value: Value, node: ast.AST) -> Value:
        """Return a tensor of the name for the description of one, as a function that computes gets it."""
        if not isinstance(value, Attributes):
            return value
        shape = value.values["shape"]
        assert isinstance(shape, tuple)
        dtype = str(value.values.get("dtype", "float32"))
        extents = tuple(build.as_expr(extent) for extent in shape if isinstance(extent, int))
        made = Placeholder(name, (Buffer(identifier(name), extents, dtype),), node)
        return outputs_of(self.dialect.reader, made)[0]

    def _snippet(self, value: Value) -> Snippet:
        """Return what a function returned, or the schedule that it made."""
        dialect, reader = self.dialect, self.dialect.reader
        parts = [*_flat(value)]
        made = next((part for part in parts if isinstance(part, BlockSchedule)), dialect.schedule)
        program = next((part for part in parts if isinstance(part, ReadProgram)), None)
        if made is not None:
            return snippet_of(dialect, None, None, (), *self.notes)
        if program is not None:
            return Snippet(program.program, Schedule(program.program), {}, (*reader.notes, *self.notes))
        tensors = tuple(dict.fromkeys(part for part in parts if isinstance(part, Tensor)))
        parameters = _parameters(reader, tensors) if any(isinstance(t.op, Compute) for t in tensors) else None
        result = made_program(reader, parameters)
        found = translate(reader, result)
        return Snippet(result.func, found.schedule, found.names, (*reader.notes, *self.notes), found.sources)


def _name_in(run: Evaluator, written: str) -> ast.expr:
    """Return the name of a function, `T.exp`, as a name of the text. Raises ParseError "wrong-arguments" for other text."""
    try:
        found = ast.parse(written.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        found = None
    if not dotted(found or run.source.tree):
        raise run.error(
            run.source.tree, "wrong-arguments", f"{written!r} is no function", expected="the name of a function: T.exp"
        )
    assert found is not None
    for part in ast.walk(found):
        ast.copy_location(part, run.source.tree.body[0])
    return found


def _axes_of(tree: ast.AST, shape: ast.Attribute) -> int:
    """Return the number of names that get the items of a shape, `n, c, h, w = x.shape`; 0 if they are not counted."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign) and part.value is shape and isinstance(part.targets[0], ast.Tuple):
            return len(part.targets[0].elts)
    return 0


def _flat(value: Value) -> Iterator[Value]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        yield from _flat(list(value.values()))
    else:
        yield value


def _parameters(reader: TEReader, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the tensors that a function returned, after the inputs that they read and that are not among them."""
    owners = {buffer: op for op in reader.operations for buffer in op.buffers}
    read = needed([t.op for t in tensors], owners)
    inputs = [op for op in reader.operations if isinstance(op, Placeholder) and op in read]
    lacking = [Tensor(op) for op in inputs if Tensor(op) not in tensors]
    return (*lacking, *tensors)


__all__ = ["read_nested"]
