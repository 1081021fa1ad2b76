"""`prove`: proved, refuted with a witness, or unknown; `check` falls back to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ..execute import MOST_TRIPS, ParameterLayout, Verdict, operation_count, verify
from ..ir import PrimFunc
from ..lower import LowerError
from ..processes import OverBudgetError, isolated
from .errors import Differs, UndecidedError
from .sized import sized

OPERATIONS = 20_000_000
"""Maximum isl operations of one proof: a few seconds."""
QUICK = 3_000_000
PROOF_SECONDS = 8.0
RUN_SECONDS = 10.0
"""Maximum processor time of a proof, and of a run that compares results. Both happen in another process."""
QUICK_RUN = 30_000_000
"""Operations of a run at smaller sizes, in place of one that takes too long."""
NO_ISLPY = "proofs need islpy: pip install 'tilewright[prove]'"


class Proof(msgspec.Struct, frozen=True):
    """`proved`: the same for all inputs and sizes. `refuted`: `detail` is a witness, a pair of iterations that do not compute the same.
    `unknown`: `detail` gives the reason."""

    status: Literal["proved", "refuted", "unknown"]
    detail: str


def prove(
    func: PrimFunc, original: PrimFunc, *, layouts: Sequence[ParameterLayout] = (), operations: int = OPERATIONS
) -> Proof:
    """Whether `func` gives every parameter buffer the same value as `original`, decided by exact dataflow for affine programs.

    Assumes that indices do not overflow and that sizes of parameters are at least 1. Floats are treated as exact numbers: if the order of
    a sum changed, `detail` says so. A symbolic difference is reported as refuted only if a run confirms it, because values may be equal
    where expressions are not. `layouts` are the changed layouts of parameters. Needs islpy.
    """
    return _tried(func, original, layouts, operations)[0]


# The proof, and the run that checked a symbolic difference, if there was one.
def _tried(
    func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout], operations: int
) -> tuple[Proof, Verdict | None]:
    try:
        from .decide import decide  # with islpy, which is an extra and takes long to import
    except ModuleNotFoundError as missing:
        if missing.name != "islpy":
            raise
        return Proof("unknown", NO_ISLPY), None
    try:
        reassociated = isolated(decide, func, original, layouts, operations, seconds=PROOF_SECONDS, what="the proof")
    except (UndecidedError, LowerError) as unknown:
        return Proof("unknown", str(unknown)), None
    except OverBudgetError as over:
        return Proof("unknown", over.refusal.message), None
    except RecursionError:
        return Proof("unknown", "values pass through too many consecutive blocks"), None
    except Differs as differs:
        verdict = tested(func, original, layouts)
        if verdict.status == "failed":
            return Proof("refuted", f"{differs}; in a test run {verdict.detail}"), verdict
        return Proof("unknown", f"equivalence not shown: {differs}"), verdict
    if reassociated:
        return Proof("proved", f"for all inputs, up to the order of the float sum in {reassociated}"), None
    return Proof("proved", "for all inputs"), None


def tested(func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout]) -> Verdict:
    """`verify`, within its budget."""
    try:
        return isolated(_verified, func, original, layouts, seconds=RUN_SECONDS, what="the run on random inputs")
    except OverBudgetError as over:
        return Verdict("unknown", over.refusal.message, is_too_costly=True)


def _verified(func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout]) -> Verdict:
    return verify(func, original, layouts=layouts)


def check(
    func: PrimFunc,
    original: PrimFunc,
    *,
    layouts: Sequence[ParameterLayout] = (),
    operations: int = QUICK,
    sizes: Mapping[str, int] | None = None,
) -> Verdict:
    """The strongest verdict that is available quickly: `prove`; if that is unknown, `prove` for `sizes`, and then `verify` with those
    sizes.

    Raises LowerError "unknown-size", "bad-size".
    """
    at = sized(func, original, layouts, sizes)
    proof, run = _tried(func, original, layouts, operations)
    match proof.status:
        case "proved":
            return Verdict("proved", proof.detail)
        case "refuted":
            return Verdict("failed", proof.detail)
        case _:
            pass
    if not at.sizes:
        verdict = run or tested(func, original, layouts)
        if proof.detail == NO_ISLPY:
            verdict = msgspec.structs.replace(verdict, detail=f"{verdict.detail}; {NO_ISLPY}")
        return verdict
    verdict = check(at.func, at.original, layouts=at.layouts, operations=operations)
    smaller = _at_smaller_sizes(func, original, layouts, at.sizes) if verdict.is_too_costly else None
    return smaller or msgspec.structs.replace(verdict, detail=f"{verdict.detail}, with {at.text}")


def _at_smaller_sizes(
    func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout], sizes: Mapping[str, int]
) -> Verdict | None:
    """The verdict of a run with sizes that are halved, the largest first, until it is quick; None if that gives none."""
    small = dict(sizes)
    while (at := sized(func, original, layouts, small)) and (operation_count(at.original, MOST_TRIPS) or 0) > QUICK_RUN:
        largest = max(small, key=lambda name: small[name])
        if small[largest] < 2:
            return None
        small[largest] = (small[largest] + 1) // 2
    verdict = tested(at.func, at.original, at.layouts)
    if small == sizes or verdict.status == "unknown":
        return None
    asked = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    detail = f"{verdict.detail}, with {at.text}: a run with {asked} takes too long"
    return msgspec.structs.replace(verdict, detail=detail)
