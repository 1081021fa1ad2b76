"""Replay of TVM traces on a Tilewright schedule: the same calls, with samples replaced by their decisions.

A trace is a TVM object, its Python text or its JSON; `instructions` converts each form. An instruction that Tilewright lacks is refused by
name, with its line or number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ..export import named_arguments
from ..ir import Refusal, TilewrightError, Var, refusing_faults
from ..schedule import PRIMITIVES, Schedule
from ..script import Ref, from_tvm
from .instructions import Instruction, instructions_of
from .methods import LineError, call_method

_QUERIES = frozenset(
    {"get_loop", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "work_on"}
)
_BLOCKS = frozenset({"get_block", "get_sblock"})
_MARKERS = frozenset({"enter_postproc"})
"""Instructions that do not change the program."""
_EARLY = {"get_axes": "get_loops", "get_axis": "get_loop"}
"""Method names of 2021 and their current names."""

ALONE = "main"
"""TVM's name for the function of a schedule created from a single function."""

ROOT, INLINE = -1, -2
"""Special decisions of sample_compute_location: leave the block in place, or inline it into its consumers."""


def from_tvm_trace(trace: Any, mod: Any) -> Schedule:
    """Replay a TVM trace on `mod`, its initial program (Tilewright's, TVM's, or TVMScript text), and return the schedule.

    `trace` is `sch.trace`, its Python text (`str(trace)`, or the lines of `as_python()`), or its JSON (`as_json()`, as data or as text).
    Samples become their decided values. Raises TilewrightError "unsupported-instruction" and "undecided-sample", and the ScheduleError of a
    call that Tilewright refuses.
    """
    return replayed(Schedule(from_tvm(mod)), instructions_of(trace)).schedule


def replayed(schedule: Schedule, instructions: Iterable[Instruction]) -> Replay:
    """Apply the instructions; the result holds the schedule and the values of the trace's variables."""
    replay = Replay(schedule)
    for instruction in instructions:
        do_one(replay, instruction)
    return replay


@refusing_faults(TilewrightError, "replaying the trace")
def do_one(replay: Replay, instruction: Instruction) -> Any:
    """Apply one more instruction and return its result; an error names the instruction."""
    try:
        return replay.do(instruction)
    except TilewrightError as error:
        if error.refusal.place is None:
            error.add_note(f"at {instruction.where}: {instruction.method}")
        raise


class _Location:
    """A decision of sample_compute_location that is not a loop."""

    def __init__(self, decision: int) -> None:
        self.decision = decision


class Replay:
    """The current schedule and the values of the trace's variables."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.values: dict[str, Any] = {}

    def do(self, instruction: Instruction) -> Any:
        """Apply an instruction, assign its outputs and return its result."""
        method = _EARLY.get(instruction.method, instruction.method)
        if method in _MARKERS:
            return None
        if method.startswith("sample_"):
            result = self._sampled(instruction)
        elif method in PRIMITIVES or method in _QUERIES or method in _BLOCKS:
            result = self._call(instruction)
        else:
            raise _unsupported(instruction)
        self._assign(instruction, result)
        return result

    def _call(self, instruction: Instruction) -> Any:
        args = [value for a in instruction.args for value in self._arguments(a, instruction)]
        kwargs = {k: self._value(v, instruction) for k, v in instruction.kwargs.items()}
        method = _EARLY.get(instruction.method, instruction.method)
        location = next((v for v in (*args, *kwargs.values()) if isinstance(v, _Location)), None)
        if location is not None:
            if location.decision == ROOT:
                return None
            method = method.replace("compute_at", "compute_inline")
            args, kwargs = ([kwargs["block"]], {}) if "block" in kwargs else (args[:1], {})
        if method in _BLOCKS:
            args[1:2] = [self._function(name) for name in args[1:2]]
            kwargs |= {key: self._function(name) for key, name in kwargs.items() if key == "func_name"}
        try:
            named_arguments(method, args, kwargs)
        except TypeError as error:
            raise _refusal("unsupported-instruction", f"{method}: {error}", instruction) from error
        try:
            return call_method(self.schedule, method, tuple(args), kwargs)
        except LineError as error:
            raise _at(instruction, error) from error

    def _function(self, name: object) -> object:
        """Return the program's name for a function: TVM's schedule of a single function calls it "main", whatever its name."""
        names = [func.name for func in self.schedule.mod.functions]
        return names[0] if name == ALONE and len(names) == 1 else name

    def _sampled(self, instruction: Instruction) -> Any:
        """Return the decided values, without sampling."""
        arguments = dict(instruction.kwargs)
        decision = arguments.get("decision")
        if decision is None:
            raise _refusal(
                "undecided-sample",
                f"{instruction.method} has no decision",
                instruction,
                fix=("the trace of a built schedule contains decisions",),
            )
        match instruction.method:
            case "sample_categorical":
                candidates = _several(arguments.get("candidates"), "candidates", instruction)
                return candidates[_number(decision, range(len(candidates)), instruction)]
            case "sample_perfect_tile" | "sample_partitioned_tile":
                factors = _several(decision, "decision", instruction)
                return [_number(factor, None, instruction) for factor in factors]
            case "sample_compute_location":
                return self._location(self._value(arguments.get("block"), instruction), decision, instruction)
            case _:
                raise _unsupported(instruction)

    def _location(self, block: object, decision: object, instruction: Instruction) -> Var | _Location:
        """Resolve a decision by TVM's numbering: an index into the loops around the block's first consumer."""
        if not isinstance(block, str) or not self.schedule.index.has_block(block):
            raise _refusal("unknown-block", f"{instruction.method} does not name a block of the program", instruction)
        if decision in (ROOT, INLINE):
            return _Location(_number(decision, None, instruction))
        consumers = self.schedule.index.consumers(block)
        loops = self.schedule.index.loops_of(consumers[0]) if consumers else ()
        return loops[_number(decision, range(len(loops)), instruction)].loop_var

    def _arguments(self, value: Any, instruction: Instruction) -> list[Any]:
        """Evaluate an argument; `*loops` yields several values."""
        found = self._value(value, instruction)
        several = isinstance(value, Ref) and value.spread and isinstance(found, list | tuple)
        return list(cast("Sequence[Any]", found)) if several else [found]

    def _value(self, value: Any, instruction: Instruction, *, nested: bool = False) -> Any:
        match value:
            case Ref(name=name, index=index):
                if name not in self.values and nested and instruction.method == "annotate":
                    return name  # TVM prints strings in lists and dicts without quotes
                if name not in self.values:
                    raise _refusal("unknown-name", f"the trace has no value for {name}", instruction)
                found = self.values[name]
                return found if index is None else _item(found, index, name, instruction)
            case list() | tuple():
                return type(value)(self._value(v, instruction, nested=True) for v in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            case Mapping():
                return {k: self._value(v, instruction, nested=True) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    def _assign(self, instruction: Instruction, result: Any) -> None:
        names = instruction.outputs
        if instruction.index is not None:
            result = _item(result, instruction.index, instruction.method, instruction)
        if len(names) == 1 and not instruction.unpacks:
            self.values[names[0]] = result
            return
        if not names:
            return
        results = cast("Sequence[Any]", result) if isinstance(result, list | tuple) else [result]
        if len(results) != len(names):
            raise _refusal(
                "unsupported-instruction",
                f"{instruction.method} returned {len(results)} values instead of {len(names)} as in TVM",
                instruction,
            )
        self.values.update(zip(names, results, strict=True))


def _item(values: object, index: int, source: str, instruction: Instruction) -> Any:
    """Return `values[index]`, where `values` is the result of `source`."""
    items = cast("Sequence[Any]", values) if isinstance(values, list | tuple) else ()
    if not -len(items) <= index < len(items):
        raise _refusal("wrong-arguments", f"{source} has no item [{index}]", instruction)
    return items[index]


def _several(value: object, name: str, instruction: Instruction) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return cast("Sequence[Any]", value)
    raise _refusal("wrong-arguments", f"{instruction.method}: {name} is not a list", instruction, expected="[1, 2, 4]")


def _at(instruction: Instruction, error: LineError) -> TilewrightError:
    """Return the error with its instruction; an internal error keeps its cause."""
    refusal = error.refusal
    made = _refusal(refusal.code, refusal.message, instruction, expected=refusal.expected)
    return type(error)(made.refusal)


def _number(value: object, among: range | None, instruction: Instruction) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and (among is None or value in among):
        return value
    raise _refusal("undecided-sample", f"the decision {value!r} is not valid", instruction)


def _unsupported(instruction: Instruction) -> TilewrightError:
    return _refusal(
        "unsupported-instruction",
        f"Tilewright has no {instruction.method}",
        instruction,
        expected=", ".join(sorted(PRIMITIVES)),
    )


def _refusal(
    code: str, message: str, instruction: Instruction, *, expected: str = "", fix: tuple[str, ...] = ()
) -> TilewrightError:
    where = f"{message} ({instruction.where})"
    return TilewrightError(
        Refusal(code, where, found=instruction.text, expected=expected, fix=fix, place=instruction.place)
    )
