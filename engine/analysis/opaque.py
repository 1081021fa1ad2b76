"""The refusal of programs with parts that are only read and printed."""

from __future__ import annotations

from ..ir import (
    Call,
    DeclBuffer,
    Evaluate,
    IntegerBranch,
    NodeAttr,
    PrimFunc,
    Refusal,
    Return,
    SteppedFor,
    Stmt,
    Verbatim,
    While,
    opaque_part,
)


def opaque_refusal(func: PrimFunc) -> Refusal | None:
    """The refusal "opaque-part", which points at the first such statement of `func`; None if there is none."""
    part = opaque_part(func.body)
    if part is None:
        return None
    return Refusal(
        "opaque-part",
        f"{_described(part)} is only read and printed, so {func.name!r} cannot be scheduled, run or simulated",
        expected="a program without it",
        nodes=(part,),
    )


def _described(part: Stmt) -> str:
    match part:
        case While():
            return "the while loop"
        case IntegerBranch():
            return "the branch with an integer as its condition"
        case Return():
            return "the return statement"
        case SteppedFor(loop=loop):
            return f"the loop {loop.loop_var.name} with a step"
        case DeclBuffer(buffer=buffer):
            return f"the buffer {buffer.name} at a given address (data=)"
        case NodeAttr(key=key):
            return f"T.attr {key!r} of an object"
        case Evaluate(value=Verbatim(text=text)):
            return text
        case Evaluate(value=Call(op=op)):
            return f"{op}(…)"
        case _:
            return "this statement"
