"""Operations of a stored value, and the rates that they have."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.engine.ir import (
    BinaryOp,
    BufferLoad,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Not,
    Predicate,
    Select,
    children,
)  # fmt: skip

SLOW_CALLS = {"exp2": "exp", "exp10": "exp", "log2": "log", "log10": "log", "log1p": "log", "cos": "sin", "tan": "sin"}
RATED = ("erf", "exp", "log", "pow", "rsqrt", "sigmoid", "sin", "sqrt", "tanh")


def steps(value: Expr, rates: Mapping[str, int]) -> int:
    """Operations of a value, each as often as its rate states; a move is one."""
    found = _steps(value, rates)
    return found if _operations(value) else 1


def _operations(value: Expr) -> int:
    own = isinstance(value, BinaryOp | Predicate | Cast | Not | Select | Call)
    return own + sum(map(_operations, [] if isinstance(value, BufferLoad) else children(value)))  # type: ignore[arg-type]


def _steps(value: Expr, rates: Mapping[str, int]) -> int:
    if isinstance(value, BufferLoad):
        return 0
    own = 0
    match value:
        case Cast():
            own = rates.get("cast", 1)
        case Max() | Min():
            own = rates.get("max", 1)
        case Div(b=b) | Mod(b=b) | FloorDiv(b=b) | FloorMod(b=b):
            own = 1 if _is_number(b) else rates.get("div", 1)
        case Call(op=op):
            name = SLOW_CALLS.get(op, op)
            own = rates.get(name, 1) if name in RATED else 1
        case BinaryOp() | Predicate() | Not() | Select():
            own = 1
        case _:
            pass
    return own + sum(_steps(child, rates) for child in children(value))  # type: ignore[arg-type]


def _is_number(value: Expr) -> bool:
    return _is_number(value.value) if isinstance(value, Cast) else isinstance(value, IntImm | FloatImm)
