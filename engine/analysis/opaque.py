"""The refusals of programs with parts that are only read and printed, and with loops whose iterations cannot be counted."""

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
    StringImm,
    Verbatim,
    opaque_part,
    unbound_vars,
    while_loop,
)


def opaque_refusal(func: PrimFunc) -> Refusal | None:
    """The refusal "opaque-part", which points at the first such statement of `func`, or at a variable without a value; None if
    there is neither."""
    part = opaque_part(func.body)
    if part is None:
        return _unbound_refusal(func)
    return Refusal(
        "opaque-part",
        f"{_described(part)} is only read and printed, so {func.name!r} cannot be scheduled, run or simulated",
        expected="a program without it",
        nodes=(part,),
    )


def _unbound_refusal(func: PrimFunc) -> Refusal | None:
    """The refusal of a variable that TVM's texts declare (`n = T.int32()`) and nothing gives a value."""
    unbound = unbound_vars(func)
    if not unbound:
        return None
    var = unbound[0]
    return Refusal(
        "opaque-part",
        f"{var.name} has no value, so {func.name!r} cannot be scheduled, run or simulated",
        found=var.name,
        expected="a parameter, or a size in a matched buffer",
        fix=(f"{var.name}: T.{var.dtype} as a parameter",),
        nodes=(var,),
    )


def lowering_refusal(func: PrimFunc) -> Refusal | None:
    """`opaque_refusal`, or the refusal of a `while` loop, which can be scheduled and run, but not lowered, simulated or proved."""
    refusal = opaque_refusal(func)
    loop = None if refusal is not None else while_loop(func.body)
    if loop is None:
        return refusal
    return Refusal(
        "while-loop",
        f"a while loop runs an unknown number of times, so {func.name!r} cannot be lowered, simulated or proved equal",
        expected="a for loop with as many iterations as the while loop has at most, with its condition as an if",
        nodes=(loop,),
    )


def _described(part: Stmt) -> str:
    match part:
        case IntegerBranch():
            return "the branch with an integer as its condition"
        case Return():
            return "the return statement"
        case SteppedFor(loop=loop):
            return f"the loop {loop.loop_var.name} with a step"
        case DeclBuffer(buffer=buffer):
            return f"the buffer {buffer.name} at a given address (data=)"
        case NodeAttr(key=key, node=StringImm(value=why)):
            return f"T.attr {key!r} ({why})"
        case NodeAttr(key=key):
            return f"T.attr {key!r} of an object"
        case Evaluate(value=Verbatim(text=text)):
            return text
        case Evaluate(value=Call(op=op)):
            return f"{op}(…)"
        case _:
            return "this statement"
