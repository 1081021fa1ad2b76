"""Cases of clamped expressions: `min(x, 127) - max(y, 0)` is the least of four differences without clamps."""

from __future__ import annotations

from itertools import islice, product

from ..ir import Add, Expr, FloorDiv, Max, Min, Mul, Sub, build

MAX_CASES = 64


def least_of(expr: Expr) -> list[Expr]:
    """Returns expressions whose minimum is `expr`: those of a minimum that is added, and of a maximum that is subtracted."""
    return _cases(expr, Min)


def _cases(expr: Expr, kind: type[Min | Max]) -> list[Expr]:
    """Returns expressions whose minimum or maximum, as `kind` says, is `expr`; only itself if they are too many."""
    found = [expr]
    match expr:
        case Min() | Max() if isinstance(expr, kind):
            found = _cases(expr.a, kind) + _cases(expr.b, kind)
        case Add(a=a, b=b):
            pairs = product(_cases(a, kind), _cases(b, kind))
            found = [build.add(x, y) for x, y in islice(pairs, MAX_CASES + 1)]
        case Sub(a=a, b=b):
            pairs = product(_cases(a, kind), _cases(b, Max if kind is Min else Min))
            found = [build.sub(x, y) for x, y in islice(pairs, MAX_CASES + 1)]
        case Mul(a=a, b=b) if (build.int_value(b) or 0) > 0:
            found = [build.mul(x, b) for x in _cases(a, kind)]
        case FloorDiv(a=a, b=b) if (build.int_value(b) or 0) > 0:
            found = [build.floordiv(x, b) for x in _cases(a, kind)]
        case _:
            pass
    return found if len(found) <= MAX_CASES else [expr]
