"""The decision procedure; needs islpy."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from ..analysis import lowering_refusal
from ..arith import isl_context
from ..execute import ParameterLayout
from ..ir import PrimFunc
from .compare import EqualityProof
from .errors import UndecidedError
from .flow import Flow
from .program import StatementProgram
from .races import require_no_race


def decide(func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout], operations: int) -> str | None:
    """Decides equivalence: None if both compute the same; the name of a buffer whose float sum is the same up to its order. Raises
    Differs, Unknown."""
    refusal = lowering_refusal(func) or lowering_refusal(original)
    if refusal is not None:
        raise UndecidedError(refusal.message)
    with isl_context(operations) as context:
        try:
            left, right = StatementProgram(original, context, "original"), StatementProgram(func, context, "schedule")
            comparison = EqualityProof(Flow(left), Flow(right), layouts)
            require_no_race(comparison.right)
            comparison.outputs()
        except isl.Error as error:
            # The parser reports the limit as a syntax error, and the texts have none.
            if "maximal number of operations" in str(error) or "syntax error" in str(error):
                raise UndecidedError("the proof needs too many steps") from None
            raise UndecidedError(f"isl failed: {error}") from error
        return comparison.reassociated
