"""Reader of pasted TensorIR schedule code: nested calls, loops over known items, and functions of the text.

The values of the text are programs, schedules, loops and blocks. A call of a schedule is made at once; its line is the source of the step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..ir import AXIS_SEPARATOR, IndexMap, IRModule, Place, PrimFunc, RegionMap, TilewrightError, Var
from ..schedule import Schedule
from ..script import Note
from ..script.errors import ParseError
from ..script.reading.source import Source
from ..script.subset.scope import Foreign, Value
from ..te.call_reader import TECallReader
from ..te.model import Attributes, Function, Returned, Runtime
from ..te.program import made_program
from ..te.stages import SEPARATOR
from .instructions import MAX_INSTRUCTIONS, Instruction
from .trace import Replay, do_one

MAKERS = ("Schedule", "create_schedule")
SHOWN = ("print", "show")
_PARTS = frozenset({"show", "script", "print", "mod", "trace", "seed", "fork_seed", "state", "func_working_on"})
"""Attributes of a schedule that do not change it, and whose values are not needed."""
_WRAPPERS = ("IRModule", "from_expr")


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
    """A schedule of the text, and for each step of its trace the place of the line that made it."""

    __slots__ = ("program", "replay", "sources")

    def __init__(self, program: IRModule | PrimFunc, schedule: Schedule, sources: Sequence[Place] = ()) -> None:
        self.program = program
        self.replay = Replay(schedule)
        self.sources = list(sources)


class ScheduleReader(TECallReader):
    """Reads schedule code of block programs. `programs` are those of the text by name; `given` is one that comes with the text."""

    def __init__(
        self, source: Source, programs: Mapping[str, IRModule | PrimFunc], given: IRModule | PrimFunc | None = None,
        sizes: Mapping[str, int] | None = None, *, assumes: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(source, sizes or {}, assumes=assumes)
        self.aliases |= {"T": "tvm.script.tir", "tilewright": "tilewright"}
        self.programs = {name: ReadProgram(program, name) for name, program in programs.items()}
        self.given = given
        self.schedule: BlockSchedule | None = None
        self.handles: dict[str, Any] = {}  # the text's variables for loops and blocks, with their last values
        self._at: ast.stmt | None = None
        self.scope.define("__name__", "__main__")
        for name, program in self.programs.items():
            self.scope.define(name, program)

    # --- statements

    def _statement(self, node: ast.stmt) -> Returned | None:
        outer, self._at = self._at, node
        try:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in self.programs:
                return None
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _method(node.value) in SHOWN:
                self.passed.append(node)
                self.forget(node)
                return None
            return super()._statement(node)
        finally:
            self._at = outer

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
        for name, function in self.scope.items():
            if (
                isinstance(function, Function)
                and isinstance(function.node, ast.FunctionDef)
                and self._schedules(function.node)
            ):
                taken = [a.arg for a in function.node.args.args]
                place = self.source.header(function.node)
                self.notes.append(Note(f"{name} is never called in the text: it is read as if it were", place))
                self._at = function.node
                args = [self._made(self._only_program(), function.node)] if taken else []
                self.call(function, args, function.node)
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
        return any(ast.unparse(call).rpartition(".")[2] in MAKERS for call in calls)

    # --- names and attributes

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        super().assign(target, value, node)
        if isinstance(target, ast.Name) and isinstance(value, Var | BlockHandle):
            self.handles[target.id] = value

    def _name(self, node: ast.Name) -> Value:
        if node.id not in self.scope and self.aliases.get(node.id, "").endswith("_INTRIN"):
            return node.id  # the name of an intrinsic of TVM
        if node.id not in self.scope and node.id not in self.aliases and self.programs:
            raise self.error(node, "unknown-name", f"the name {node.id} is not defined here", expected="a name that is assigned above",
                             fix=tuple(self.scope.similar(node.id)))  # fmt: skip
        return super()._name(node)

    def attribute_of(self, owner: Value, name: str) -> Value:
        if isinstance(owner, ReadProgram) or (isinstance(owner, BlockSchedule) and name in _PARTS):
            return Runtime()
        return super().attribute_of(owner, name)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.scope.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if not isinstance(owner, ReadProgram):
            return super()._subscript(node)
        name = self.string(node.slice)
        if isinstance(owner.program, PrimFunc):
            return owner
        if name not in [func.name for func in owner.program.functions]:
            raise self.error(node.slice, "unknown-name", f"{owner.name} has no function {name}",
                             expected=", ".join(func.name for func in owner.program.functions))  # fmt: skip
        return ReadProgram(owner.program[name], name)

    # --- calls

    def _call(self, node: ast.Call) -> Value:
        method = _method(node)
        if self.schedule is None and self._is_of_unknown(node.func):
            raise self._no_schedule_line(node)
        owner = self.dotted(node.func) is not None or (
            isinstance(node.func, ast.Name) and node.func.id not in self.scope
        )
        if owner and method in MAKERS and not self._is_te_schedule(node):
            return self._make(node)
        if owner and method in _WRAPPERS:
            return self._wrapped(node)
        if self.called(node) == "T.create_prim_func":
            super()._call(node)
            return ReadProgram(made_program(self).func, "main")
        found = super()._call(node)
        if isinstance(found, Runtime):
            self._require_no_schedule(node)
        return found

    def _is_of_unknown(self, node: ast.expr) -> bool:
        """Whether a call is a method of a name that the text does not define, such as a schedule."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.value.id not in self.scope and node.value.id not in self.aliases

    def is_schedule_call(self, node: ast.Call) -> bool:
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if isinstance(self.scope.get(name), BlockSchedule):
                return method not in _PARTS
            case _:
                return super().is_schedule_call(node)

    def is_running(self, node: ast.expr) -> bool:
        """Whether a dotted name belongs to another module than those of programs."""
        name = self.dotted(node)
        return super().is_running(node) or (
            name is not None and name.partition(".")[0] not in ("tvm", "te", "tir", "tilewright", "topi")
        )

    def _require_no_schedule(self, node: ast.Call) -> None:
        """Require that a call of other code does not get the schedule, which it might change."""
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Name) and isinstance(self.scope.get(argument.id), BlockSchedule):
                if ast.unparse(node.func) in ("print", "type", "repr", "str", "display"):
                    continue
                raise self.error(node, "unsupported", f"{ast.unparse(node.func)} gets the schedule, and its code is not in the text",
                                 expected="calls of the schedule, or of functions of the text",
                                 fix=("paste the function too", f"paste what print({argument.id}.trace) prints"))  # fmt: skip

    def _is_te_schedule(self, node: ast.Call) -> bool:
        """Whether the call makes a TE schedule: `te.create_schedule(C.op)`, in contrast to `tir.create_schedule(matmul)`."""
        return _method(node) == "create_schedule" and not self.programs and self.given is None

    def _make(self, node: ast.Call) -> BlockSchedule:
        given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "mod"), None)
        value = self._origin(given) if given is not None else None
        if isinstance(value, ReadProgram):
            return self._made(value, node)
        if given is None or not isinstance(value, Runtime):
            raise self._no_schedule_line(node)
        program = self._only_program()
        if self.given is None:
            text = f"{ast.unparse(given)[:80]} is assumed to be {program.name}, the program in the text"
            self.notes.append(Note(text, self.source.place(node)))
        if isinstance(given, ast.Name) and given.id not in self.aliases:
            self.scope.define(given.id, program)
        return self._made(program, node)

    def _origin(self, node: ast.expr) -> Value:
        """Return the value that a schedule is made of; what the text does not define is a `Runtime`."""
        try:
            return self.value(node)
        except ParseError as error:
            if error.code in ("unknown-name", "unsupported") and (self.programs or self.given is not None):
                return Runtime()
            raise

    def _only_program(self) -> ReadProgram:
        """Return the program that a schedule of unknown origin is for."""
        if self.given is not None:
            return ReadProgram(self.given, "mod")
        if not self.programs:
            assert self._at is not None
            raise self._no_schedule_line(self._at)
        return next(iter(self.programs.values()))

    def _no_schedule_line(self, node: ast.AST) -> TilewrightError:
        wanted = f"sch = tir.Schedule({next(iter(self.programs), 'mod')})"
        return self.error(
            node, "no-schedule-line", "the first line of schedule code must create the schedule", expected=wanted
        )

    def _made(self, program: ReadProgram, node: ast.AST) -> BlockSchedule:
        if self.schedule is not None:
            raise self.error(node, "unsupported", "the text has a second schedule", expected="a single schedule",
                             fix=("open FILE#2 for the second program of a file", "use a separate notebook for each schedule"))  # fmt: skip
        self.schedule = BlockSchedule(program.program, Schedule(program.program))
        return self.schedule

    def _wrapped(self, node: ast.Call) -> Value:
        """Read `IRModule({"main": func})` and `IRModule.from_expr(func)`: the function."""
        value = self.value(node.args[0]) if node.args else None
        if isinstance(value, Attributes) and len(value.values) == 1:
            value = next(iter(value.values.values()))
        return value if isinstance(value, ReadProgram) else Runtime()

    def _method_of(self, owner: Value, method: str, node: ast.Call) -> Value:
        if isinstance(owner, ReadProgram):
            return owner if method in ("with_attr", "with_attrs", "without_attr") else Runtime()
        if not isinstance(owner, BlockSchedule):
            return super()._method_of(owner, method, node)
        if method in _PARTS:
            return Runtime()
        if method == "copy":
            self.schedule = BlockSchedule(owner.program, owner.replay.schedule.copy(), owner.sources)
            return self.schedule
        args = tuple(self._argument(value, a) for a in node.args for value in self.items([a]))
        kwargs = {k.arg: self._argument(self.value(k.value), k.value) for k in node.keywords if k.arg is not None}
        if len(kwargs) != len(node.keywords):
            raise self.error(node, "unsupported", "** is not supported", expected="name=value")
        if method == "get" and len(args) == 1:
            return self._found(owner.replay.schedule, args[0], node)
        return self._do(owner, method, args, kwargs, node)

    def _do(
        self, owner: BlockSchedule, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.Call
    ) -> Value:
        assert self._at is not None
        place = self.source.place(self._at)
        if len(owner.sources) >= MAX_INSTRUCTIONS:
            raise self.error(
                node, "too-large", "the schedule has too many calls", expected=f"{MAX_INSTRUCTIONS} at most"
            )
        if method == "tensorize" and not self._has_intrinsic(owner, args, kwargs):
            return self._blockize(owner, args, kwargs, node)
        made = do_one(
            owner.replay, Instruction(method, args, kwargs, (), f"line {place.line}", self.source.text(node), place)
        )
        steps = owner.replay.schedule.trace.steps
        owner.sources += [place] * (len(steps) - len(owner.sources))
        self.schedule = owner
        if isinstance(made, list | tuple):
            return tuple(_handle(item) for item in cast("Sequence[Any]", made))
        return _handle(made)

    def _has_intrinsic(self, owner: BlockSchedule, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        name = kwargs.get("tensor_intrin", args[1] if len(args) > 1 else None)
        return name in owner.replay.schedule.intrinsics

    def _blockize(
        self, owner: BlockSchedule, args: tuple[Any, ...], kwargs: Mapping[str, Any], node: ast.Call
    ) -> Value:
        """Read a tensorize by an intrinsic that is not in the text: its loops become a block."""
        text = "tensorize makes a block of these loops; the instructions of its intrinsic are not part of the program"
        self.notes.append(Note(text, self.source.place(node)))
        target = kwargs.get("block_or_loop", args[0] if args else None)
        return self._do(owner, "blockize", (target,), {}, node) if isinstance(target, Var) else None

    def _found(self, schedule: Schedule, handle: Any, node: ast.Call) -> Value:
        """Read `sch.get(loop)` and `sch.get(block)`: the parts that schedules ask for."""
        if isinstance(handle, Var):
            loop = schedule.index.loop(handle)
            return Attributes({"extent": loop.extent, "min": loop.min, "loop_var": handle}, "the loop")
        if isinstance(handle, str) and schedule.index.has_block(handle):
            block = schedule.index.realize(handle).block
            doms = [Attributes({"extent": v.dom.extent, "min": v.dom.min}, "the range") for v in block.iter_vars]
            iterators = tuple(Attributes({"dom": dom}, "the iterator") for dom in doms)
            return Attributes({"name_hint": handle, "iter_vars": iterators}, "the block")
        raise self.error(
            node, "wrong-type", "this is not a loop or a block", expected="a result of get_block or get_loops"
        )

    def _argument(self, value: Value, node: ast.expr | None = None) -> Any:
        """Convert a value of the text to an argument of a schedule's method. A list of the text is one, a buffer is a tuple."""
        match value:
            case BlockHandle():
                return str(value)
            case ("read" | "write", int()):
                return value
            case tuple():
                items = [self._argument(item) for item in value]
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case Attributes(values=values):
                return {key: self._argument(item) for key, item in values.items()}
            case Function(node=ast.Lambda() as function):
                return self._map(value, function)
            case _:
                return value

    def _map(self, function: Function, node: ast.Lambda) -> IndexMap | RegionMap:
        """Read a lambda as a map of indices, or as one to boxes if it gives pairs."""
        params = tuple(Var(a.arg) for a in node.args.args)
        value = self.call(function, params, node)
        items = value if isinstance(value, tuple) else (value,)
        if any(isinstance(item, tuple) for item in items):
            pairs = (item if isinstance(item, tuple) else (item,) for item in items)
            return RegionMap.from_items(params, [tuple(self.as_expr(part, node) for part in pair) for pair in pairs])
        found = [AXIS_SEPARATOR if item is SEPARATOR else self.as_expr(item, node) for item in items]
        return IndexMap.from_items(params, found)


def _method(node: ast.Call) -> str:
    """Return the last part of the called name."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _handle(value: Any) -> Value:
    return BlockHandle(value) if isinstance(value, str) else value
