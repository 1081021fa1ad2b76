"""Random integer expressions over three variables, and their values by Python's own arithmetic."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping

from hypothesis import strategies as st

from tilewright.engine.ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Range,
    Sub,
    Var,
    build,
)

X, Y, Z = VARS = Var("i"), Var("j"), Var("k")

OPERATORS: Mapping[type[Expr], Callable[[int, int], int]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Min: min,
    Max: max,
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
    EQ: operator.eq,
    NE: operator.ne,
    And: lambda a, b: a and b,
    Or: lambda a, b: a or b,
}


def value(expr: Expr, env: Mapping[Var, int]) -> int:
    """The value of `expr` for the variables in `env`."""
    match expr:
        case Var():
            return env[expr]
        case IntImm():
            return expr.value
        case Not():
            return not value(expr.a, env)
        case _:
            return OPERATORS[type(expr)](value(expr.a, env), value(expr.b, env))


def points(ranges: Mapping[Var, Range]) -> Iterator[dict[Var, int]]:
    """Every assignment within constant ranges."""
    spans = [range(build.int_value(r.min), build.int_value(r.min) + build.int_value(r.extent)) for r in ranges.values()]
    for values in itertools.product(*spans):
        yield dict(zip(ranges, values, strict=True))


ranges = st.fixed_dictionaries(
    {
        v: st.builds(
            build.make_range,
            st.sampled_from([0, 0, 0, 1, -3, 5]),
            st.sampled_from([1, 2, 3, 4, 8]),
        )
        for v in VARS
    }
)

_leaves = st.one_of(
    st.sampled_from(VARS), st.sampled_from(VARS), st.builds(lambda n: build.const(n, "int32"), st.integers(-6, 9))
)
_divisors = st.builds(lambda n: build.const(n, "int32"), st.sampled_from([1, 2, 3, 4, 6, 8, 12]))


def _grown(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(lambda kind, a, b: kind(a, b), st.sampled_from([Add, Sub, Min, Max]), inner, inner),
        st.builds(lambda kind, a, n: kind(a, n), st.sampled_from([Mul, FloorDiv, FloorMod]), inner, _divisors),
    )


integers = st.recursive(_leaves, _grown, max_leaves=10)
conditions = st.builds(lambda kind, a, b: kind(a, b), st.sampled_from([LT, LE, GT, GE, EQ, NE]), integers, integers)
