"""What a version of TVM leaves out of a schedule, the program that TVM runs instead, and software pipelines that keep the slots."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ..analysis import ProgramIndex
from ..analysis.cover import common_loops
from ..ir import Annotations, Block, Buffer, For, Node, PrimFunc, TilewrightError, Var, build, rewrite
from ..lower import BANKS_KEY, DOUBLE_BUFFER_KEY, DOUBLE_BUFFER_KEYS, SLOTS_KEY, Plan, is_pipelined
from ..schedule import Schedule
from .calls import step_text
from .generations import generation_of, read_version, version_text
from .tvm import restarts

LossKind = Literal["slots", "banks", "separators", "calls", "names"]
COSTLY: tuple[LossKind, ...] = ("slots", "banks", "separators")
"""The kinds that change the program that runs, and so its cycles."""


class Loss(msgspec.Struct, frozen=True):
    """A feature that a version of TVM leaves out, and the buffers, calls or loops that it concerns."""

    kind: LossKind
    items: tuple[str, ...]
    message: str


def tvm_losses(schedule: Schedule, version: str = "0.27", names: Mapping[str, Any] | None = None) -> tuple[Loss, ...]:
    """Return what the export of `schedule` for a version of TVM leaves out; those that change cycles come first.

    `names` are the user's variables, as for `to_tvm_python`. Raises TilewrightError "unknown-version".
    """
    number = read_version(version)
    tvm = f"TVM {version_text(number)}"
    index = ProgramIndex(schedule.func)
    found: Mapping[LossKind, tuple[Collection[str], str]] = {
        "slots": (
            [_written(index, block) for block in _lost_slots(index)],
            "TVM reads double_buffer_scope only in a software pipeline, as two slots; elsewhere a buffer has one",
        ),
        "banks": (
            [_written(index, block) for block in _blocks_with(index, BANKS_KEY)],
            f"{tvm} has no banks: the slots lie one after the other in the memory",
        ),
        "separators": (
            [] if generation_of(number).separator else [b.name for b in index.buffers if b.axis_separators],
            f"{tvm} has no axis separators: the buffers are flat",
        ),
        "calls": (
            restarts(schedule, version, names),
            "the file continues from the program after each of these calls",
        ),
        "names": (_given_names(schedule), "TVM names the loops itself; the names are variables of the file"),
    }
    return tuple(Loss(kind, tuple(dict.fromkeys(items)), message) for kind, (items, message) in found.items() if items)


def program_without(func: PrimFunc, kinds: Collection[LossKind]) -> PrimFunc:
    """Return the program that runs if TVM leaves these features out."""
    index = ProgramIndex(func)
    single = {name for name in _lost_slots(index) if not _is_pipelined(index, name)} if "slots" in kinds else set[str]()

    def visit(node: Node) -> Node:
        if isinstance(node, Buffer) and "separators" in kinds and node.axis_separators:
            return replace(node, axis_separators=())
        if isinstance(node, Block):
            dropped = DOUBLE_BUFFER_KEYS if node.name in single else _dropped_keys(kinds)
            kept = tuple(note for note in node.annotations if note[0] not in dropped)
            return node if len(kept) == len(node.annotations) else replace(node, annotations=kept)
        return node

    return rewrite(func, visit)


def with_pipelines(schedule: Schedule) -> tuple[Schedule, ...]:
    """Return copies of the schedule with software pipelines that keep slots in TVM: first those of all buffers, then those of one loop,
    then that of one buffer; the more slots are kept, the more memory is used. () if no pipeline is legal."""
    rotations = _rotations(ProgramIndex(schedule.func))
    choices = [rotations, *({loop: copies} for loop, copies in rotations.items())]
    choices += [{loop: [copy]} for loop, copies in rotations.items() for copy in copies]
    found: dict[tuple[str, ...], Schedule] = {}
    for choice in choices:
        piped = schedule.copy()
        for loop, copies in choice.items():
            _add_pipeline(piped, loop.loop_var, copies)
        added = tuple(step_text(step) for step in piped.trace.steps[len(schedule.trace) :])
        if added:
            found.setdefault(added, piped)
    return tuple(found.values())


def _dropped_keys(kinds: Collection[LossKind]) -> tuple[str, ...]:
    return (*((SLOTS_KEY,) if "slots" in kinds else ()), *((BANKS_KEY,) if "banks" in kinds else ()))


def _blocks_with(index: ProgramIndex, key: str) -> list[str]:
    return [name for name in index.block_names if _has(index.block(name).annotations, key)]


def _has(annotations: Annotations, key: str) -> bool:
    return any(name == key for name, _ in annotations)


def _lost_slots(index: ProgramIndex) -> list[str]:
    """The blocks whose slots TVM drops: more than one outside of a pipeline, more than two in it."""
    return [
        name
        for name in _blocks_with(index, DOUBLE_BUFFER_KEY)
        if _has(index.block(name).annotations, SLOTS_KEY) or not _is_pipelined(index, name)
    ]


def _is_pipelined(index: ProgramIndex, block: str) -> bool:
    """Whether the loop whose iterations use the slots of a block in turn is pipelined: TVM makes no slots for pipelines around it."""
    loop = _rotation(index, block)
    return loop is not None and is_pipelined(loop)


def _rotation(index: ProgramIndex, block: str) -> For | None:
    """The innermost loop around a block and all that read its result, of more than one iteration."""
    around = [common_loops(index, index.realize(block), index.realize(user)) for user in index.consumers(block)]
    shared = [loop for loop in min(around, key=len, default=list[For]()) if not build.is_const(loop.extent, 1)]
    return shared[-1] if shared else None


def _written(index: ProgramIndex, block: str) -> str:
    return index.block(block).writes[0].buffer.name


def _given_names(schedule: Schedule) -> list[str]:
    """The names that calls gave to loops that still exist."""
    loops = {loop.loop_var for loop in ProgramIndex(schedule.func).loops}
    named = (step for step in schedule.trace.steps if dict(step.arguments).get("names"))
    return [handle.name for step in named for handle in step.results if not isinstance(handle, str) and handle in loops]


def _rotations(index: ProgramIndex) -> dict[For, list[str]]:
    """For each loop whose iterations use lost slots in turn, the blocks that fill them; inner loops first."""
    found: dict[For, list[str]] = {}
    for name in _lost_slots(index):
        loop = _rotation(index, name)
        if loop is not None and not is_pipelined(loop):
            found.setdefault(loop, []).append(name)
    return dict(sorted(found.items(), key=lambda item: -len(index.loops_above(item[0]))))


def _add_pipeline(schedule: Schedule, loop: Var, copies: Collection[str]) -> None:
    """Pipeline `loop`, if that is legal: the copies and their producers run an iteration ahead."""
    index = ProgramIndex(schedule.func)
    early = {name for copy in copies for name in (copy, *_sources(index, copy))}
    try:
        statements = Plan(schedule.func, {}).parts(loop)
        schedule.pipeline(loop, [0 if early & set(names) else 1 for names in statements])
    except TilewrightError:
        return


def _sources(index: ProgramIndex, block: str) -> Iterator[str]:
    for producer in index.producers(block):
        yield producer
        yield from _sources(index, producer)
