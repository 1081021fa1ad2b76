"""The decision procedure; needs islpy."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import islpy as isl

from ..execute import ParameterLayout
from ..ir import PrimFunc
from .compare import Comparison
from .errors import Unknown
from .flow import Flow
from .program import Program
from .races import require_no_race


def decide(func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout], operations: int) -> str | None:
    """Decides equivalence: None if both compute the same; the name of a buffer whose float sum is the same up to its order. Raises
    Differs, Unknown."""
    with _context() as context:
        left, right = Program(original, context, "original"), Program(func, context, "schedule")
        context.set_max_operations(operations)  # only now: the parser reports a limit as a syntax error
        try:
            comparison = Comparison(Flow(left), Flow(right), layouts)
            require_no_race(comparison.right)
            comparison.outputs()
        except isl.Error as error:
            if "maximal number of operations" in str(error):
                raise Unknown("the proof needs too many steps") from None
            raise Unknown(f"isl failed: {error}") from error
        return comparison.reassociated


_CONTEXTS: list[isl.Context] = []
"""The contexts that no decision uses at the moment."""


@contextmanager
def _context() -> Generator[isl.Context]:
    """A context for one decision, without an operation limit. Contexts are reused: islpy 2026.2 frees none, 100 KB for each decision."""
    context = _CONTEXTS.pop() if _CONTEXTS else isl.Context()
    try:
        yield context
    finally:
        context.set_max_operations(0)
        context.reset_operations()
        _CONTEXTS.append(context)
