"""What became of a handle that is no longer in the program: the call that removed it, or that it belongs to another schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from msgspec.structs import replace as replace_fields

from ..analysis import ProgramIndex
from ..ir import IRModule, Refusal, Var
from .trace import Trace


class PastState(Protocol):
    """A state of a schedule."""

    @property
    def mod(self) -> IRModule: ...
    @property
    def func_name(self) -> str: ...
    @property
    def trace(self) -> Trace: ...


def with_history(refusal: Refusal, arguments: Mapping[str, object], states: Sequence[PastState]) -> Refusal:
    """Return a refusal of an unknown loop or block with the history of that handle."""
    if refusal.code not in ("unknown-loop", "unknown-block"):
        return refusal
    now = _index(states[-1])
    for handle in _handles(tuple(arguments.values())):
        if _has(now, handle):
            continue
        for number in range(len(states) - 2, -1, -1):
            before = _index(states[number])
            if _has(before, handle):
                return replace_fields(refusal, found=_removal(handle, number, before, states))
        if isinstance(handle, Var):
            message = f"loop {handle.name!r} belongs to another schedule, or to a call that was undone"
            return replace_fields(refusal, message=message, found="")
    return refusal


def _handles(values: tuple[object, ...]) -> Iterator[Var | str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _handles(cast("tuple[object, ...]", value))
        elif isinstance(value, Var | str):
            yield value


def _index(state: PastState) -> ProgramIndex:
    return ProgramIndex(state.mod[state.func_name])


def _has(index: ProgramIndex, handle: Var | str) -> bool:
    return index.has_loop(handle) if isinstance(handle, Var) else index.has_block(handle)


def _removal(handle: Var | str, number: int, before: ProgramIndex, states: Sequence[PastState]) -> str:
    """The call after state `number`, which removed the handle: its step, its results, and the blocks of a loop."""
    step = states[number + 1].trace.steps[number]
    made = ", ".join(result.name if isinstance(result, Var) else repr(result) for result in step.results)
    text = f"step {number + 1}, {step.method}, {f'replaced it by {made}' if made else 'removed it'}"
    if not isinstance(handle, Var):
        return text
    below = [name for name in before.block_names if any(f.loop_var is handle for f in before.loops_of(name))]
    return f"{text}; it was around {', '.join(map(repr, below[:3]))}" if below else text


__all__ = ["with_history"]
