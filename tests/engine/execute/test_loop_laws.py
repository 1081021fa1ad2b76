"""`run` agrees with the naive interpreter on programs that are hard to vectorise: equal arrays to the last bit, or equal errors."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from support.programs.loop_programs import loop_programs
from support.schedules.naive import UnwrittenError, run_naive

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.ir import PrimFunc

CODES = {IndexError: "out-of-bounds", UnwrittenError: "uninitialized-read"}


def inputs(func: PrimFunc, seed: int, missing: bool):
    generator = np.random.default_rng(seed)
    shapes = {b.name: (b.dtype, tuple(e.value for e in b.shape)) for b in func.buffers}
    arrays = {name: generator.integers(-8, 9, shape).astype(dtype) for name, (dtype, shape) in shapes.items()}
    for name, (dtype, shape) in shapes.items():
        if dtype == "float32":  # sums that depend on the order of their terms
            arrays[name] = generator.standard_normal(shape).astype(dtype)
    if missing:
        del arrays["C"]
    return arrays


@given(loop_programs(), st.integers(0, 3), st.booleans())
def test_law_loops_run_as_in_the_naive_interpreter(func, seed, missing):
    arrays = inputs(func, seed, missing)
    try:
        expected = run_naive(func, arrays)
    except (IndexError, UnwrittenError) as error:
        event(CODES[type(error)])
        try:
            run(func, arrays)
        except ExecuteError as found:
            assert found.code in CODES.values()
        else:
            raise AssertionError(f"run did not see: {error!r}") from error
        return
    event("runs")
    found = run(func, arrays)
    for name, array in found.items():
        assert np.array_equal(array, expected[name], equal_nan=array.dtype.kind == "f"), name
