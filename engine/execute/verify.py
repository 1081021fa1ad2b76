"""Equivalence tests of two programs: both run on the same random inputs, with checks of bounds and uninitialized reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from ..data import data_use
from ..ir import PrimFunc
from ..ir import dtype as dt
from .errors import ExecuteError, element
from .frames import Array
from .inputs import INTEGERS, MOST_TRIPS, random_inputs, scalar_parameters
from .layouts import ParameterLayout, laid_out
from .program import BufferContents, Executable, execute
from .values import numpy_dtype

LIMIT = 10_000_000_000  # element operations of one run: up to about ten seconds
SLACK: Mapping[str, int] = {"float16": 32}  # units in the last place of the largest value; other floats 256
TRIPS = (MOST_TRIPS, 16, 4)
"""Limits on generated trip counts, tried in turn."""
PROGRAM_FAULTS = ("out-of-bounds", "uninitialized-read", "division-by-zero", "assertion")


VerdictStatus = Literal["proved", "tested", "failed", "unknown"]


class Verdict(msgspec.Struct, frozen=True):
    """The result of a comparison. `tested`: equal on the inputs tried. `proved`: equal on all inputs (`engine.prove`). `failed`: `detail`
    gives the difference. `unknown`: `detail` gives the reason; `is_too_costly` if a run needs too much time.

    `max_abs_error` is the largest difference of a float output (0.0 if bit-identical), None if nothing was compared.
    """

    status: VerdictStatus
    detail: str
    max_abs_error: float | None = None
    is_too_costly: bool = False


def verify(
    func: PrimFunc, original: PrimFunc, seed: int = 0, limit: int = LIMIT, layouts: Sequence[ParameterLayout] = ()
) -> Verdict:
    """Run both programs on `random_inputs(original, seed)` and compare all parameter buffers. If integer inputs cause a fault in the
    original (an index out of bounds, a division by zero), smaller ones are tried.

    `layouts` are the changed parameter layouts of `func`, in the order of the changes (`Schedule.layouts`); they apply to its inputs and to
    the expected outputs. A place padded with a value must hold that value at the end.

    Integers must be bit-identical. Floats may differ by 256 units in the last place (32 for float16) of the largest value of the
    buffer, because sums may be reordered. "unknown" if the original cannot run, if `func` uses code that the executor does not support,
    or if one of them would need more than `limit` element operations, each of about a nanosecond.
    """
    return Expectation(original, seed, limit).verdict(func, layouts)


def run_cost(func: PrimFunc, limit: int | None = None) -> int:
    """The estimated cost of a run, in element operations. Raises ExecuteError "too-costly" beyond `limit`, and for unsupported code."""
    scalars = {p.name: np.ones((), numpy_dtype(p.dtype)) for p in scalar_parameters(func)}
    return Executable(func, scalars, limit).code.cost


class Expectation:
    """The results of a program on random inputs, computed once and compared with later versions of the program. See `verify`."""

    def __init__(self, original: PrimFunc, seed: int = 0, limit: int = LIMIT) -> None:
        self.original = original
        self.seed = seed
        self.limit = limit
        self._integers = [p.name for p in scalar_parameters(original) if dt.is_int(p.dtype)]
        self._fault: Verdict | None = None
        self._inputs: dict[str, Array] = {}
        self._expected: dict[str, BufferContents] = {}
        try:
            run_cost(original, limit)  # before inputs of that size are allocated
            self._inputs, self._expected = _first_run(original, seed, limit)
        except ExecuteError as error:
            self._fault = _not_executed(error)

    def verdict(self, func: PrimFunc, layouts: Sequence[ParameterLayout] = ()) -> Verdict:
        """Whether `func` gives the same results."""
        if self._fault is not None:
            return self._fault
        try:
            meant = {name: laid_out(name, outcome, layouts) for name, outcome in self._expected.items()}
            given = {name: given_in_layout(name, array, layouts) for name, array in self._inputs.items()}
        except ExecuteError as error:
            return _not_executed(error)
        try:
            found = execute(func, given, self.limit)
        except ExecuteError as error:
            status = "failed" if error.code in PROGRAM_FAULTS else "unknown"
            return Verdict(status, error.refusal.message, is_too_costly=error.code == "too-costly")
        if set(found) != set(self._expected):
            return Verdict("failed", f"the parameters are {', '.join(found)}, not {', '.join(self._expected)}")
        worst = 0.0
        for name, (outcome, known) in meant.items():
            error, fault = compared(name, _where_known(found[name], outcome, known), outcome)
            if fault is not None:
                return Verdict("failed", fault, error)
            worst = max(worst, error)
        sizes = ", ".join(name for name in self._expected if name not in self._inputs) or "all parameters"
        drawn = "".join(f", {name} = {self._inputs[name]}" for name in self._integers)
        detail = f"{sizes} equal on random inputs (seed {self.seed}{drawn}), largest difference {worst:.3g}"
        return Verdict("tested", detail, worst)


def _not_executed(error: ExecuteError) -> Verdict:
    detail = f"the original cannot be executed: {error.refusal.message}"
    return Verdict("unknown", detail, is_too_costly=error.code == "too-costly")


def given_in_layout(name: str, array: Array, layouts: Sequence[ParameterLayout]) -> Array:
    """An input in the layout of the scheduled program."""
    laid, _ = laid_out(name, BufferContents(array, np.ones(array.shape, bool)), layouts)
    return laid.values


def _where_known(found: BufferContents, expected: BufferContents, known: Array) -> BufferContents:
    """`found` with unspecified places replaced by the expected contents."""
    if known.all() or found.values.size != known.size:
        return found
    shape = known.shape
    values, written = found.values.reshape(shape), found.written.reshape(shape)
    return BufferContents(np.where(known, values, expected.values), np.where(known, written, expected.written))


def _first_run(func: PrimFunc, seed: int, limit: int) -> tuple[dict[str, Array], dict[str, BufferContents]]:
    """Inputs on which the program runs, and its results: with lower trip counts, if it counts by data and takes long. Raises the first
    ExecuteError if no inputs succeed."""
    *many, few = TRIPS if data_use(func).loops else (MOST_TRIPS,)
    for trips in many:
        try:
            return _run_with(func, seed, limit // 10, trips)
        except ExecuteError as error:
            if error.code != "too-costly":
                raise
    return _run_with(func, seed, limit, few)


def _run_with(func: PrimFunc, seed: int, limit: int, trips: int) -> tuple[dict[str, Array], dict[str, BufferContents]]:
    first: ExecuteError | None = None
    for integers in INTEGERS:
        inputs = random_inputs(func, seed, integers, trips)
        try:
            return inputs, execute(func, inputs, limit)
        except ExecuteError as error:
            first = first or error
            if error.code not in PROGRAM_FAULTS or not any(a.dtype.kind in "iu" for a in inputs.values()):
                break
    assert first is not None
    raise first


def compared(name: str, found: BufferContents, expected: BufferContents) -> tuple[float, str | None]:
    """Return the largest difference of the contents of a buffer, and the description of a mismatch or None. See `verify`."""
    ours, theirs = found.values.reshape(-1), expected.values.reshape(-1)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return 0.0, f"{name} is {ours.dtype}[{ours.size}], not {theirs.dtype}[{theirs.size}]"
    missing = found.written.reshape(-1) != expected.written.reshape(-1)
    shape = expected.values.shape
    if missing.any():
        at = int(np.argmax(missing))
        verb = "is not written" if expected.written.reshape(-1)[at] else "is written, but not by the original"
        return 0.0, f"{_at(name, at, shape)} {verb}"
    if ours.size == 0 or not np.issubdtype(ours.dtype, np.floating):
        wrong = ours != theirs
        if not wrong.any():
            return 0.0, None
        at = int(np.argmax(wrong))
        gap = float(np.max(np.abs(ours.astype(np.float64) - theirs.astype(np.float64))))
        return gap, f"{_at(name, at, shape)} is {ours[at]}, not {theirs[at]}; {int(wrong.sum())} of {wrong.size} differ"
    with np.errstate(all="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        gaps = np.where(same, 0.0, np.abs(ours.astype(np.float64) - theirs.astype(np.float64)))
        finite = theirs[np.isfinite(theirs)]
        largest = max(1.0, float(np.max(np.abs(finite), initial=0.0)))
        allowed = SLACK.get(str(ours.dtype), 256) * float(np.finfo(ours.dtype).eps) * largest
        wrong = ~(gaps <= allowed)
    worst = float(np.nanmax(gaps, initial=0.0))
    if not wrong.any():
        return worst, None
    at = int(np.argmax(wrong))
    return (
        worst,
        f"{_at(name, at, shape)} is {ours[at]}, not {theirs[at]}; {int(wrong.sum())} of {wrong.size} differ by more than {allowed:.2g}",
    )


def _at(name: str, position: int, shape: tuple[int, ...]) -> str:
    return element(name, [int(i) for i in np.unravel_index(position, shape)] if shape else [])
