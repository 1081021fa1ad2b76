"""A program's meaning, to check later forms against: by `verify`, or with values for every element if that cannot run it."""

from __future__ import annotations

import numpy as np
from support.schedules.naive import equal_arrays

from tilewright.engine.execute import ExecuteError, Expectation, run
from tilewright.engine.execute.errors import too_costly
from tilewright.engine.execute.program import execute
from tilewright.engine.execute.verify import LIMIT
from tilewright.engine.ir import For, Node, PrimFunc, build, child_stmts
from tilewright.engine.schedule import Schedule

Arrays = dict[str, np.ndarray]
TOO_COSTLY = f"unknown: {too_costly(LIMIT).refusal.message}"
"""No fault: the program is too costly to run here."""


def iterations(root: Node) -> int:
    """The number of executed leaf statements, if loops have known extents."""
    below = sum(iterations(child) for child in child_stmts(root)) or 1
    return below * max(build.int_value(root.extent) or 1, 1) if isinstance(root, For) else below


def given_values(func: PrimFunc) -> Arrays:
    """A value for every element of every parameter, even of outputs: unwritten elements must keep it."""
    generator = np.random.default_rng(1)
    return {b.name: _values(generator, b) for b in func.buffers}


def _values(generator, buffer):
    eighths = generator.integers(-16, 17, [e.value for e in buffer.shape])
    return (eighths / (8 if buffer.dtype.startswith("float") else 1)).astype(buffer.dtype)


def outputs(func: PrimFunc, arrays: Arrays) -> Arrays | None:
    """The parameters after a run; None if it cannot run, reads unwritten elements, or goes out of bounds."""
    try:
        return run(func, arrays)
    except ExecuteError:
        return None


class Meaning:
    """The meaning of a function: `known` unless it cannot run, neither on random inputs nor with a value for every element."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.expectation = Expectation(func)
        self.verified = self.expectation.verdict(func).status == "tested"
        self.arrays = given_values(func)
        self.expected = outputs(func, self.arrays)

    @property
    def known(self) -> bool:
        return self.verified or self.expected is not None

    def fault_of(self, sch: Schedule, func: PrimFunc | None = None) -> str:
        """Empty if the schedule's function, or a lowered form of it, has the same meaning; TOO_COSTLY; else the difference."""
        if self.verified:
            verdict = self.expectation.verdict(func or sch.func, sch.layouts)
            return "" if verdict.status == "tested" else f"{verdict.status}: {verdict.detail}"
        return "" if sch.layouts else self._difference(func or sch.func)

    def _difference(self, func: PrimFunc) -> str:
        try:
            found = execute(func, self.arrays, LIMIT)
        except ExecuteError as error:
            if error.code == "too-costly":
                return TOO_COSTLY
            return "" if error.code == "unsupported" else str(error)
        for name, values in (self.expected or {}).items():
            if not equal_arrays(found[name].values, values):
                return f"{name} is {found[name].values.tolist()}, was {values.tolist()}"
        return ""
