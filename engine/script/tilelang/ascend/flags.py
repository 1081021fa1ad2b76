"""Flags and barriers between the pipes of an AI core, as what the blocks beside them signal and await.

Each pipe runs its instructions in order: MTE2 copies from global memory, MTE1 from L1 to L0, M multiplies, FIX and MTE3 copy to global
memory, V computes, S is the scalar unit. `T.set_flag(source, target, n)` is reached when the source has done what stands before it, and the
target goes on after `T.wait_flag` then. `T.barrier_all()` lets all pipes of its core wait for each other. A barrier of one pipe orders
nothing between pipes. A product of operands in L1, `T.gemm_v0`, has flags of its own around it (`gemm_v0` in tilelang-ascend's
`src/tl_templates/ascend/common.h`): it begins after the copies to L1 and the drains before it, and those behind it begin after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....ir import (
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Expr,
    IntImm,
    Stmt,
    walk,
)
from ..sync.statement import ANY_SIDE, kind_of, names_of, number_of, side_of_sync, sync_of
from ..sync.tokens import Sync, Token
from .memories import L0A, L0B, L0C, L1, UB

CUBE_SIDE, VECTOR_SIDE, BOTH_SIDES = 0, 1, ANY_SIDE
PIPES = (("MTE2", "MTE1", "M", "FIX", "MTE3", "S"), ("MTE2", "V", "MTE3", "S"))
"""The pipes of the cube core and of a vector core."""
BOTH = {*PIPES[CUBE_SIDE]} & {*PIPES[VECTOR_SIDE]}
OF_SIDE = (" (cube)", " (vector)")


def is_between_cores(call: Call) -> bool:
    """Whether a flag is one between cores. Their kinds are "set" and "wait", those of flags between the pipes of a core "set_flag" and
    "wait_flag"; "barrier" is one of all pipes, "pipe" one of a single pipe."""
    return kind_of(call) in ("set", "wait")


def pipes_of(realize: BlockRealize) -> tuple[str, ...]:
    """Return the pipes that run a block, with the number of their core: "0 MTE1". A product of operands in L1 loads them itself."""
    nodes = list(walk(realize.block.body))
    regions = (*realize.block.reads, *realize.block.writes)
    written = {n.buffer.scope for n in nodes if isinstance(n, BufferStore)} or {
        r.buffer.scope for r in realize.block.writes
    }
    read = {n.buffer.scope for n in nodes if isinstance(n, BufferLoad)} | {r.buffer.scope for r in regions} - written
    if written & {L0A, L0B}:
        return ("0 MTE1",)
    if L0C in written:
        return ("0 MTE1", "0 M") if L1 in read else ("0 M",)
    if L0C in read:
        return ("0 FIX",)
    if L1 in written:
        return ("0 MTE2",) if "global" in read else ("1 MTE3",)
    if UB in written:
        copies = (
            "global" in read and UB not in read and all(_moves(n.value) for n in nodes if isinstance(n, BufferStore))
        )
        return ("1 MTE2",) if copies else ("1 V",)
    if "global" in written and UB in read:
        return ("1 MTE3",)
    if "global" in written and L1 in read:
        return ("0 MTE3",)
    return ("0 S", "1 S")


def _moves(value: Expr) -> bool:
    """Whether a value is an element of a buffer, also one that is converted, or padded where there is none."""
    while isinstance(value, Cast) or (isinstance(value, Call) and value.op == "if_then_else"):
        value = value.value if isinstance(value, Cast) else value.args[1]
    return isinstance(value, BufferLoad)


INNER = (("MTE2", "MTE1"), ("FIX", "M")), (("MTE1", "MTE2"), ("M", "FIX"))
"""The flags inside of `T.gemm_v0`, before and after the product: source and target."""


def loads_itself(realize: BlockRealize) -> bool:
    """Whether a block is a product of operands in L1."""
    return pipes_of(realize) == ("0 MTE1", "0 M")


def inner_flags(realize: BlockRealize) -> tuple[Sync, Sync] | None:
    """Return the flags before and after a product of operands in L1; None for other blocks."""
    if not loads_itself(realize):
        return None
    found: list[Sync] = []
    for number, flags in enumerate(INNER):
        name = f"flags of {realize.block.name}"
        pairs = list(enumerate(flags, 2 * number))
        signals = tuple(Token(f"0 {source}", name, IntImm(n), 4) for n, (source, _) in pairs)
        found.append(Sync(signals, tuple(Token(f"0 {target}", name, IntImm(n), 4) for n, (_, target) in pairs)))
    return found[0], found[1]


def synchronised(stmt: Stmt, numbers: Mapping[Stmt, int]) -> Sync | None:
    """Return what a flag or barrier signals and awaits; None for other statements. `numbers` are those of the barriers."""
    call = sync_of(stmt)
    if call is None:
        return None
    number, pipes, core = number_of(call), names_of(call), side_of_sync(call)
    match kind_of(call):
        case "set_flag" | "wait_flag" as kind if len(pipes) == 2:
            side = core if core != BOTH_SIDES else side_of(pipes)
            source = f"{side} {pipes[0]}"
            name = f"{pipes[0]} to {pipes[1]}{OF_SIDE[side] if {*pipes} <= BOTH else ''}"
            if kind == "set_flag":
                return Sync(signals=(Token(source, name, number),))
            return Sync(awaits=tuple(Token(unit, name, number) for unit in waiting(side, pipes[1])))
        case "set" if core != BOTH_SIDES:
            pipe = pipes[0] if pipes and pipes[0] in PIPES[core] else "S"
            return Sync(signals=_across(core, number, [f"{core} {pipe}"]))
        case "wait" if core != BOTH_SIDES:
            return Sync(awaits=_across(1 - core, number, [f"{core} {pipe}" for pipe in PIPES[core]]))
        case "barrier" if not pipes:
            sides = (CUBE_SIDE, VECTOR_SIDE) if core == BOTH_SIDES else (core,)
            return Sync(
                *(
                    tuple(t for side in sides for t in _of_all(numbers[stmt], side, kind))
                    for kind in ("signals", "awaits")
                )
            )
        case _:
            return Sync()


def _across(setting: int, number: Expr, units: Sequence[str]) -> tuple[Token, ...]:
    """Return the tokens of a flag between cores, which the core `setting` sets."""
    name = "cube to vector" if setting == CUBE_SIDE else "vector to cube"
    return tuple(Token(unit, name, number) for unit in units)


def _of_all(number: int, side: int, kind: str) -> list[Token]:
    """Return the tokens of a barrier: one from each pipe to all others."""
    name = f"barrier {number}{OF_SIDE[side]}"
    own = PIPES[side]
    if kind == "signals":
        return [Token(f"{side} {pipe}", name, IntImm(n), len(own)) for n, pipe in enumerate(own)]
    return [Token(f"{side} {to}", name, IntImm(n), len(own)) for to in own for n, pipe in enumerate(own) if pipe != to]


def waiting(side: int, pipe: str) -> list[str]:
    """Return the pipes that wait for a flag: one, or all if it is the scalar unit, which issues the instructions of all."""
    return [f"{side} {p}" for p in PIPES[side]] if pipe == "S" else [f"{side} {pipe}"]


def side_of(pipes: Sequence[str]) -> int:
    """Return the core with these pipes: the vector core, unless only the cube core has one of them."""
    return VECTOR_SIDE if {*pipes} <= {*PIPES[VECTOR_SIDE]} else CUBE_SIDE


__all__ = [
    "BOTH_SIDES",
    "CUBE_SIDE",
    "INNER",
    "PIPES",
    "VECTOR_SIDE",
    "inner_flags",
    "is_between_cores",
    "loads_itself",
    "pipes_of",
    "side_of",
    "synchronised",
    "waiting",
]
