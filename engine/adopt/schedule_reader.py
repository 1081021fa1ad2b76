"""Reader of pasted TensorIR schedule code: nested calls, loops over known items, and functions of the text.

The values of the text are programs, schedules, loops and blocks. A call of a schedule is made at once; its line is the source of the step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..ir import (
    AXIS_SEPARATOR,
    BufferRegion,
    IndexMap,
    IRModule,
    IterVar,
    Place,
    PrimFunc,
    RegionMap,
    TilewrightError,
    Var,
)
from ..schedule import Schedule
from ..script import Note, Parsed
from ..script.errors import ParseError
from ..script.language import SCHEDULE_MAKERS
from ..script.reading.modules import ModuleReader
from ..script.reading.source import Source
from ..script.subset.core import Dialect, Evaluator
from ..script.subset.memory import MAX_VALUES
from ..script.subset.scope import Foreign, Unknown, Value
from ..script.subset.statements import evaluator
from ..script.subset.values import Attributes, Function, Lazy, Module, reachable, several, unknown_error
from ..te.arithmetic.index_maps import MapObject
from ..te.dialect import TEDialect
from ..te.program import made_program
from ..te.reader import TEReader
from ..te.stages import SEPARATOR
from .instructions import MAX_INSTRUCTIONS, Instruction
from .methods import SAMPLES, LineError, call_of
from .older_calls import current_name
from .trace import Replay, do_one
from .tvm_intrinsics import INTRINSIC_SUFFIX, registered_name

SHOWN = ("print", "show")
_PARTS = frozenset(
    {"show", "script", "print", "mod", "trace", "seed", "fork_seed", "state", "func_working_on", "get_sref"}
)
"""Attributes of a schedule that do not change it, and whose values are not needed."""
SEED = 1
"""The seed of random decisions that a text leaves open, so that it opens as the same schedule each time."""
_WRAPPERS = ("IRModule", "from_expr")
_INTRINSICS = "tensor_intrin"
_KINDS = {"spatial": 0, "reduce": 2, "scan": 3, "opaque": 4}
"""TVM's numbers of the kinds of iterators."""
_KIND_NAMES = {"DataPar": 0, "CommReduce": 2, "Ordered": 3, "Opaque": 4}


class BlockHandle(str):
    """A block that a call returned: its name, which other strings of the text are not."""

    __slots__ = ()


class ReadProgram(Foreign):
    """A program of the text."""

    __slots__ = ("name", "program")

    def __init__(self, program: IRModule | PrimFunc, name: str) -> None:
        self.program = program
        self.name = name


class BlockSchedule(Foreign):
    """A schedule of the text, and for each step of its trace the place of the line that made it. `is_chosen`: it is the one that is
    read, or a copy of it."""

    __slots__ = ("is_chosen", "program", "replay", "sources")

    def __init__(
        self, program: IRModule | PrimFunc, schedule: Schedule, sources: Sequence[Place] = (), *, is_chosen: bool = True
    ) -> None:
        self.program = program
        self.replay = Replay(schedule)
        self.sources = list(sources)
        self.is_chosen = is_chosen


class ScheduleDialect(TEDialect):
    """Adds schedule code of block programs, and the programs of the text. `given` is a program that comes with the text."""

    def __init__(self, reader: TEReader, given: IRModule | PrimFunc | None = None) -> None:
        super().__init__(reader)
        self.definitions = ModuleReader(reader.source)
        self._definitions = {reader.source: self.definitions}
        self.parsed: dict[str, Parsed] = {}  # the programs of the text by name
        self.given = given
        self.schedule: BlockSchedule | None = None
        self.handles: dict[str, Any] = {}  # the text's variables for loops and blocks, with their last values
        self.builtins = {
            **self.builtins,
            **dict.fromkeys(SCHEDULE_MAKERS, self._make),
            **dict.fromkeys(_WRAPPERS, self._wrapped),
        }

    @property
    def run(self) -> Evaluator:
        return self.reader.python

    def definitions_of(self, node: ast.AST) -> ModuleReader:
        """Return the reader of the programs of the file that has a node."""
        owner = self.reader.source.owner(node)
        if owner not in self._definitions:
            self._definitions[owner] = ModuleReader(owner)
        self._definitions[owner].exprs.device = self.reader.device
        return self._definitions[owner]

    def is_program(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> bool:
        return self.definitions_of(node).is_program(node)

    def definition(self, run: Evaluator, node: ast.FunctionDef | ast.ClassDef) -> Value:
        if not self.is_program(run, node):
            return None
        found = self.definitions_of(node).read(node, run)
        if found is None:
            return run.runs(node)
        self.parsed[node.name] = found
        return ReadProgram(found.program, node.name)

    def mark(self) -> Callable[[], None]:
        """Return a function that takes the calls since now back, for a statement that fails halfway."""
        made = self.schedule
        if made is None:
            return lambda: None
        schedule, sources = made.replay.schedule.copy(), list(made.sources)

        def undo() -> None:
            made.replay.schedule, made.sources, self.schedule = schedule, sources, made

        return undo

    def finish(self) -> None:
        """Call the function that schedules the program if the text only defines it, as a printed trace does."""
        if self.schedule is not None:
            return
        for name, function in self.run.scope.items():
            if (
                isinstance(function, Function)
                and isinstance(function.node, ast.FunctionDef)
                and self._schedules(function.node)
            ):
                taken = [a.arg for a in function.node.args.args]
                place = self.run.source.header(function.node)
                self.reader.notes.append(Note(f"{name} is never called in the text: it is read as if it were", place))
                self.run.at = function.node
                args = [self._made(self._only_program(), function.node)] if taken else []
                self.reader.call(function, args, function.node)
                return

    def _schedules(self, node: ast.FunctionDef) -> bool:
        """Whether a function makes a schedule, or takes one and calls it."""
        needed = len(node.args.args) - len(node.args.defaults)
        if needed > 1:
            return False
        taken = node.args.args[0].arg if needed else ""
        calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        if taken:
            return any(
                isinstance(c, ast.Attribute) and isinstance(c.value, ast.Name) and c.value.id == taken for c in calls
            )
        return any(ast.unparse(call).rpartition(".")[2] in SCHEDULE_MAKERS for call in calls)

    # --- names and attributes

    def named(self, value: Value, name: str) -> None:
        super().named(value, name)
        if isinstance(value, Var | BlockHandle):
            self.handles[name] = value

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner, ReadProgram | BlockSchedule):
            return run.runs(node)
        return super().attribute(run, owner, name, node)

    def item(self, run: Evaluator, owner: Value, node: ast.Subscript) -> Value:
        if not isinstance(owner, ReadProgram):
            return super().item(run, owner, node)
        name = self.reader.string(node.slice)
        if isinstance(owner.program, PrimFunc):
            return owner
        if name not in [func.name for func in owner.program.functions]:
            raise run.error(node.slice, "unknown-name", f"{owner.name} has no function {name}",
                            expected=", ".join(func.name for func in owner.program.functions))  # fmt: skip
        return ReadProgram(owner.program[name], name)

    # --- calls

    def call(self, run: Evaluator, name: str, node: ast.Call) -> Value:
        method = name.rpartition(".")[2]
        if method in SCHEDULE_MAKERS and not self._is_te_schedule(method, node):
            return self._make(run, node)
        if method in _WRAPPERS or name.endswith("IRModule.from_expr"):
            return self._wrapped(run, node)
        found = super().call(run, name, node)
        if self.reader.called(node) == "T.create_prim_func":
            return ReadProgram(made_program(self.reader).func, "main")
        return found

    def concerns(self, run: Evaluator, node: ast.AST) -> bool:
        return super().concerns(run, node) or self.defines(node) or self._schedule_call(node) is not None

    def only_asks(self, node: ast.AST, name: str) -> bool:
        owners = (p.value for p in ast.walk(node) if isinstance(p, ast.Attribute) and p.attr in _PARTS)
        asked = sum(isinstance(owner, ast.Name) and owner.id == name for owner in owners)
        return asked > 0 and asked == sum(isinstance(p, ast.Name) and p.id == name for p in ast.walk(node))

    def defines(self, node: ast.AST) -> bool:
        """Whether code defines a program."""
        parts = (part for part in ast.walk(node) if isinstance(part, ast.FunctionDef | ast.ClassDef))
        return any(self.is_program(self.run, part) for part in parts)

    def explained(self, node: ast.stmt, error: TilewrightError) -> TilewrightError:
        """Return the error of a statement; that of a call of a schedule that the text does not create names the missing line."""
        is_call = error.code == "unknown-name" and not self.defines(node)
        call = self._schedule_call(node) if is_call else None
        return error if call is None else self._no_schedule_line(call)

    def _schedule_call(self, node: ast.AST) -> ast.Call | None:
        """Return a call of a schedule that the text does not create."""
        calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
        return next(
            (call for call in calls if self.schedule is None and self._is_of_undefined(self.run, call.func)), None
        )

    def _is_of_undefined(self, run: Evaluator, node: ast.expr) -> bool:
        """Whether a call is a method of a name that the text does not define, such as a schedule."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id not in run.scope and self.module(node.value.id) is None

    def holds(self, value: Value) -> bool:
        return isinstance(value, BlockSchedule) or super().holds(value)

    def require_kept(self, run: Evaluator, given: Sequence[Value], node: ast.Call) -> None:
        """Require that a call of other code does not get the schedule, which it might change."""
        written = ast.unparse(node.func)
        name = run.dotted(node.func) or ""
        if ".testing." in name or (
            name.startswith("tvm.") and ".analysis." in name
        ):  # checks and questions of TVM's own
            return
        if written in ("print", "type", "repr", "str", "display", "isinstance", "id"):
            return
        if any(isinstance(part, BlockSchedule) for value in given for part in reachable(value, MAX_VALUES)):
            raise run.error(node, "unsupported", f"{written} gets the schedule, and its code is not in the text",
                            expected="calls of the schedule, or of functions of the text",
                            fix=("paste the function too", "paste what print(sch.trace) prints"))  # fmt: skip

    def _is_te_schedule(self, method: str, node: ast.Call) -> bool:
        """Whether a call makes a TE schedule: `te.create_schedule(C.op)`, in contrast to `tir.create_schedule(matmul)`."""
        of_operation = any(isinstance(part, ast.Attribute) and part.attr == "op" for part in ast.walk(node))
        return method == "create_schedule" and self.given is None and (not self.parsed or of_operation)

    def _make(self, run: Evaluator, node: ast.Call) -> BlockSchedule:
        given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "mod"), None)
        value = self._origin(given) if given is not None else None
        if isinstance(value, ReadProgram):
            return self._made(value, node)
        if given is None or not isinstance(value, Unknown):
            raise self._no_schedule_line(node)
        if not self.parsed and self.given is None:
            raise unknown_error(run.source, value, given)
        program = self._only_program()
        if self.given is None:
            text = f"{ast.unparse(given)[:80]} is assumed to be {program.name}, the program in the text"
            self.reader.notes.append(Note(text, self.run.source.place(node)))
        if isinstance(given, ast.Name):
            run.scope.define(given.id, program)
        return self._made(program, node)

    def _origin(self, node: ast.expr) -> Value:
        """Return the value that a schedule is made of; what the text does not define is unknown."""
        try:
            found = self.run.value(node)
        except ParseError as error:
            if error.code in ("unknown-name", "unsupported") and (self.parsed or self.given is not None):
                return self.run.runs(node)
            raise
        return self.run.runs(node) if isinstance(found, Module) else found

    def _only_program(self) -> ReadProgram:
        """Return the program that a schedule of unknown origin is for."""
        if self.given is not None:
            return ReadProgram(self.given, "mod")
        if not self.parsed:
            assert self.run.at is not None
            raise self._no_schedule_line(self.run.at)
        name, found = next(iter(self.parsed.items()))
        return ReadProgram(found.program, name)

    def _no_schedule_line(self, node: ast.AST) -> TilewrightError:
        wanted = f"sch = tir.Schedule({next(iter(self.parsed), 'mod')})"
        return self.run.error(
            node, "no-schedule-line", "the first line of schedule code must create the schedule", expected=wanted
        )

    def _made(self, program: ReadProgram, node: ast.AST) -> BlockSchedule:
        is_chosen = self.reader.begin_schedule(node)
        made = BlockSchedule(program.program, Schedule(program.program, seed=SEED), is_chosen=is_chosen)
        if is_chosen:
            self.handles = {}
        self._goes_on_with(made)
        return made

    def _goes_on_with(self, made: BlockSchedule) -> None:
        """Record that the text calls a schedule."""
        if made.is_chosen:
            self.schedule = made

    def _wrapped(self, run: Evaluator, node: ast.Call) -> Value:
        """Read `IRModule({"main": func})` and `IRModule.from_expr(func)`: the function."""
        value = run.value(node.args[0]) if node.args else None
        if isinstance(value, dict) and len(value) == 1:
            value = next(iter(value.values()))
        return value if isinstance(value, ReadProgram) else run.runs(node)

    def global_value(self, run: Evaluator, name: str, node: ast.expr) -> Value:
        kind = name.rpartition("IterVar.")[2] if "IterVar." in name else ""
        return _KIND_NAMES[kind] if kind in _KIND_NAMES else super().global_value(run, name, node)

    def name(self, run: Evaluator, node: ast.Name) -> Value:
        """Return the value of a name that the text does not define: one of TVM's intrinsics may come from `import *`."""
        if node.id.endswith(INTRINSIC_SUFFIX) and _INTRINSICS in self._star_imports:
            return Module(f"tvm.{_INTRINSICS}.{node.id}")
        return Dialect.name(self, run, node) if self.parsed else super().name(run, node)

    @property
    def _star_imports(self) -> str:
        nodes = (node for node in self.run.source.tree.body if isinstance(node, ast.ImportFrom))
        return " ".join(node.module or "" for node in nodes if any(alias.name == "*" for alias in node.names))

    def method(self, run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
        if isinstance(owner, ReadProgram):
            return owner if name in ("with_attr", "with_attrs", "without_attr") else run.passed_call(node)
        if not isinstance(owner, BlockSchedule):
            return super().method(run, owner, name, node)
        if name in _PARTS:
            return run.runs(node)
        if name == "copy":
            copy = BlockSchedule(owner.program, owner.replay.schedule.copy(), owner.sources, is_chosen=owner.is_chosen)
            self._goes_on_with(copy)
            return copy
        args = tuple(self._argument(value, a) for a in node.args for value in self.reader.items([a]))
        kwargs = {k.arg: self._argument(run.value(k.value), k.value) for k in node.keywords if k.arg is not None}
        if len(kwargs) != len(node.keywords):
            raise run.error(node, "unsupported", "** is not supported", expected="name=value")
        if name == "get" and len(args) == 1:
            return self._found(owner.replay.schedule, args[0], node)
        return self._do(owner, name, args, kwargs, node)

    def _do(
        self, owner: BlockSchedule, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.Call
    ) -> Value:
        assert self.run.at is not None
        place = self.run.source.place(self.run.at)
        if len(owner.sources) >= MAX_INSTRUCTIONS:
            raise self.run.error(
                node, "too-large", "the schedule has too many calls", expected=f"{MAX_INSTRUCTIONS} at most"
            )
        if method == "tensorize" and not self._has_intrinsic(owner, args, kwargs):
            return self._blockize(owner, args, kwargs, node)
        if current_name(method) in SAMPLES and self._is_open(method, args, kwargs):
            return self._drawn(owner, method, args, kwargs, node)
        made = do_one(
            owner.replay, Instruction(method, args, kwargs, (), f"line {place.line}", self.run.source.text(node), place)
        )
        steps = owner.replay.schedule.trace.steps
        owner.sources += [place] * (len(steps) - len(owner.sources))
        self._goes_on_with(owner)
        if isinstance(made, list | tuple):
            return tuple(_handle(item) for item in cast("Sequence[Any]", made))
        return _handle(made)

    def _is_open(self, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether the text leaves a decision open."""
        try:
            return dict(call_of(method, args, kwargs).arguments).get("decision") is None
        except LineError:
            return False

    def _drawn(
        self, owner: BlockSchedule, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.Call
    ) -> Value:
        """Read a random decision that the text leaves open: it is drawn here, with a note."""
        schedule = owner.replay.schedule
        try:
            made: object = call_of(method, args, kwargs).made_on(schedule)
        except LineError as error:
            raise self.run.error(node, error.code, error.refusal.message, expected=error.refusal.expected) from error
        place = self.run.source.place(node)
        decision = schedule.trace.steps[-1].argument("decision")
        self.reader.notes.append(Note(f"{method} draws at random: here it is read with decision={decision}", place))
        owner.sources += [place] * (len(schedule.trace.steps) - len(owner.sources))
        self._goes_on_with(owner)
        return tuple(cast("list[Value]", made)) if isinstance(made, list) else _handle(made)

    def _has_intrinsic(self, owner: BlockSchedule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        name = kwargs.get("tensor_intrin", args[1] if len(args) > 1 else None)
        return name in owner.replay.schedule.intrinsics

    def _blockize(
        self, owner: BlockSchedule, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.Call
    ) -> Value:
        """Read a tensorize by an intrinsic that is not in the text: its loops become a block."""
        text = "tensorize makes a block of these loops; the instructions of its intrinsic are not part of the program"
        self.reader.notes.append(Note(text, self.run.source.place(node)))
        target = kwargs.get("block_or_loop", args[0] if args else None)
        return self._do(owner, "blockize", (target,), {}, node) if isinstance(target, Var) else None

    def _found(self, schedule: Schedule, handle: Any, node: ast.Call) -> Value:
        """Read `sch.get(loop)` and `sch.get(block)`: the parts that schedules ask for."""
        if isinstance(handle, Var):
            loop = schedule.index.loop(handle)
            return Attributes({"extent": loop.extent, "min": loop.min, "loop_var": handle}, "the loop")
        if isinstance(handle, str) and schedule.index.has_block(handle):
            block = schedule.index.realize(handle).block
            parts: dict[str, Value] = {"name_hint": handle, "iter_vars": tuple(map(_iterator, block.iter_vars))}
            parts |= {"reads": tuple(map(_region, block.reads)), "writes": tuple(map(_region, block.writes))}
            return Attributes(parts, "the block")
        if isinstance(handle, int):
            return handle  # a decision of the trace, which is known here
        raise self.run.error(
            node, "wrong-type", "this is not a loop or a block", expected="a result of get_block or get_loops"
        )

    def _argument(self, value: Value, node: ast.expr) -> Any:
        """Convert a value of the text to an argument of a schedule's method. A list of the text is one, a buffer is a tuple."""
        self.run.budget.require_small(value, node)
        match value:
            case BlockHandle():
                return str(value)
            case ("read" | "write", int()):
                return value
            case Unknown():
                raise unknown_error(self.run.source, value, node)
            case Module(name=name) if name.endswith(INTRINSIC_SUFFIX):
                constant = name.rpartition(".")[2]
                return registered_name(constant) if _INTRINSICS in name else constant
            case tuple():
                items = [self._argument(item, node) for item in value]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case list() | range():
                return [self._argument(item, node) for item in value]
            case dict():
                return {key: self._argument(item, node) for key, item in value.items()}
            case Lazy(items=items):
                return [self._argument(item, node) for item in items]
            case Function():
                return self._map(value)
            case MapObject():
                return value.map
            case _:
                return value

    def _map(self, function: Function) -> IndexMap | RegionMap:
        """Read a function as a map of indices, or as one to boxes if it gives pairs."""
        node = function.node
        params = tuple(Var(a.arg) for a in node.args.args)
        value = self.reader.call(function, params, node)
        items = several(value)
        if any(isinstance(item, tuple | list) for item in items):
            pairs = map(several, items)
            return RegionMap.from_items(
                params, [tuple(self.reader.as_expr(part, node) for part in pair) for pair in pairs]
            )
        found = [AXIS_SEPARATOR if item is SEPARATOR else self.reader.as_expr(item, node) for item in items]
        return IndexMap.from_items(params, found)


def schedule_dialect(
    source: Source,
    given: IRModule | PrimFunc | None = None,
    sizes: Mapping[str, int | str] | None = None,
    *,
    assumes: bool = False,
    chosen: int | None = None,
) -> ScheduleDialect:
    """Return the dialect of schedule code with its evaluator, which reads the text."""
    reader = TEReader(source, sizes or {}, assumes=assumes, chosen=chosen)
    dialect = ScheduleDialect(reader, given)
    reader.python = evaluator(source, dialect)
    reader.scope = reader.python.scope
    reader.define_outside()
    return dialect


def _iterator(iterator: IterVar) -> Attributes:
    dom = Attributes({"extent": iterator.dom.extent, "min": iterator.dom.min}, "the range")
    return Attributes({"dom": dom, "iter_type": _KINDS[iterator.iter_type]}, "the iterator")


def _region(region: BufferRegion) -> Attributes:
    buffer = region.buffer
    parts: dict[str, Value] = {"name": buffer.name, "shape": buffer.shape, "dtype": buffer.dtype}
    return Attributes({"buffer": Attributes(parts, "the buffer")}, "the region")


def _handle(value: Any) -> Value:
    return BlockHandle(value) if isinstance(value, str) else value
