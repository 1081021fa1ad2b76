"""Replay of TVM traces on a Tilewright schedule: the same calls, with samples replaced by their decisions.

A trace is a TVM object, its Python text or its JSON; `instructions` converts each form. An instruction that Tilewright lacks is refused by
name, with its line or number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir import IRModule, Refusal, TilewrightError, refusing_faults
from ..lower import size_variables
from ..schedule import PRIMITIVES, Schedule
from ..script import from_tvm
from .instructions import Instruction, instructions_of
from .lines import arguments_of, assigned, item_of
from .methods import QUERIES, LineError, call_of, make_call
from .older_calls import current_name
from .tvm_intrinsics import intrinsics_for

_BLOCKS = frozenset({"get_block", "get_sblock"})

ALONE = "main"
"""TVM's name for the function of a schedule created from a single function."""


def from_tvm_trace(trace: Any, mod: Any) -> Schedule:
    """Replay a TVM trace on `mod`, its initial program (Tilewright's, TVM's, or TVMScript text), and return the schedule.

    `trace` is `sch.trace`, its Python text (`str(trace)`, or the lines of `as_python()`), or its JSON (`as_json()`, as data or as text).
    Samples have their decided values. Intrinsics that Tilewright lacks are those of TVM, if TVM is loaded. Raises TilewrightError
    "unsupported-instruction" and "undecided-sample", and the ScheduleError of a call that Tilewright refuses.
    """
    program = from_tvm(mod)
    functions = program.functions if isinstance(program, IRModule) else (program,)
    sizes = {name: var for func in functions for name, var in size_variables(func).items()}
    instructions = instructions_of(trace, sizes)
    return replayed(Schedule(program, intrinsics=intrinsics_for(instructions)), instructions).schedule


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


class Replay:
    """The current schedule and the values of the trace's variables."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.values: dict[str, Any] = {}

    def do(self, instruction: Instruction) -> Any:
        """Apply an instruction, assign its outputs and return its result."""
        method = current_name(instruction.method)
        if method not in PRIMITIVES and method not in QUERIES:
            raise _unsupported(instruction)
        result = self._call(instruction)
        self._assign(instruction, result)
        return result

    def _call(self, instruction: Instruction) -> Any:
        try:
            unquoted = instruction.method == "annotate"
            given, kwargs = arguments_of(instruction.args, instruction.kwargs, self.values, unquoted=unquoted)
        except LineError as error:
            raise _at(instruction, error) from error
        args, method = list(given), current_name(instruction.method)
        if method in _BLOCKS:
            args[1:2] = [self._function(name) for name in args[1:2]]
            kwargs |= {key: self._function(name) for key, name in kwargs.items() if key == "func_name"}
        try:
            call = call_of(method, args, kwargs)
        except LineError as error:
            raise _refusal("unsupported-instruction", error.refusal.message, instruction) from error
        try:
            result = make_call(self.schedule, call)
        except LineError as error:
            raise _at(instruction, error) from error
        if method == "sample_compute_location":
            self._require_location(kwargs.get("decision"), instruction)
        return result

    def _require_location(self, decision: object, instruction: Instruction) -> None:
        """Refuse a location that TVM has and Tilewright would replace by another one."""
        found = self.schedule.trace.steps[-1].argument("decision")
        if found != decision:
            message = f"the decision {decision!r} is not a possible location of the block"
            raise _refusal("undecided-sample", message, instruction, expected=f"such as {found}")

    def _function(self, name: object) -> object:
        """Return the program's name for a function: TVM's schedule of a single function calls it "main", whatever its name."""
        names = [func.name for func in self.schedule.mod.functions]
        return names[0] if name == ALONE and len(names) == 1 else name

    def _assign(self, instruction: Instruction, result: Any) -> None:
        method, unpacks = instruction.method, instruction.unpacks and isinstance(result, list | tuple)
        try:
            if instruction.index is not None:
                result, unpacks = item_of(result, instruction.index, method), False
            self.values |= assigned(instruction.outputs, result, method, unpacks=unpacks)
        except LineError as error:
            raise _refusal("unsupported-instruction", error.refusal.message, instruction) from error


def _at(instruction: Instruction, error: LineError) -> TilewrightError:
    """Return the error with its instruction; an internal error keeps its cause."""
    refusal = error.refusal
    made = _refusal(refusal.code, refusal.message, instruction, expected=refusal.expected)
    return type(error)(made.refusal)


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
