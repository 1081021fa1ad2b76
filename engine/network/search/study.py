"""The search of one kernel as values: what it found so far, and the tasks of the processes that search."""

from __future__ import annotations

import msgspec

from ...adopt import LineState
from ...explore import Outcome, SketchChoice, Space, space_of
from ...hwsim import Machine
from ...ir import PrimFunc
from ...script import read_calls


class KernelStudy(msgspec.Struct, frozen=True):
    """What a search knows about a kernel.

    `space` is the text of a schedule with holes, `lines` the same with the values of the best schedule, `cycles` its cycles for one call.
    `status` and `detail` are the verdict on its results. Without a schedule that fits, `lines` are empty and `code` and `message` say why.
    `trials` counts the candidates, `slices` the time slices; `ended` says that no candidate is left. `choice` is that of the space's
    sketch, `first` the outcome of its default schedule; `began_with` says what a database contributed, `database_problem` why it
    could not be used.
    """

    kernel: str
    space: str = ""
    lines: str = ""
    cycles: int = 0
    status: str = ""
    detail: str = ""
    code: str = ""
    message: str = ""
    trials: int = 0
    slices: int = 0
    ended: bool = False
    choice: SketchChoice | None = None
    first: Outcome | None = None
    began_with: str = ""
    database_problem: str = ""


class KernelTask(msgspec.Struct, frozen=True):
    """A time slice of one kernel: the first derives a space, later ones search it. `store` is the file of the study's outcomes, `database`
    that of found schedules.

    `program` is TVMScript, `seconds` the soft limit of the slice, `known` what is known so far. `choices` are the sketches of kernels of
    equal structure: the derivation ends with the first whose schedule takes at most `enough` cycles.
    """

    program: str
    machine: Machine
    sizes: dict[str, int]
    seconds: float
    known: KernelStudy
    store: str = ""
    choices: tuple[SketchChoice, ...] = ()
    enough: int = 0
    database: str = ""


def scheduled_program(program: PrimFunc, lines: str) -> PrimFunc:
    """The program after the lines of a schedule, without holes. Raises the error of the first refused line."""
    return _state(program, lines).schedule.func


def space_from(program: PrimFunc, text: str, sizes: dict[str, int]) -> Space:
    """The space of a schedule with holes as text."""
    return space_of(program, read_calls(text), sizes=sizes)


def filled_text(space: Space, text: str, point: tuple[int, ...]) -> str:
    """The text of a space, with its comments, and the values of a point in place of the holes."""
    for number, line in space.filled_at(point):
        text = text.replace(space.lines[number].text, line, 1)
    return text


def _state(program: PrimFunc, lines: str) -> LineState:
    return space_from(program, lines, {}).schedule_at(())


__all__ = ["KernelStudy", "KernelTask", "filled_text", "scheduled_program", "space_from"]
