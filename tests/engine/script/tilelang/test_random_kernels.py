"""Random kernels compute what an independent interpreter in NumPy computes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, note

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.execute import run
from tilewright.engine.ir import PrimFunc

from .random_kernels import Kernel, kernels


@given(kernels())
def test_random_kernel_computes_what_the_interpreter_computes(kernel: Kernel) -> None:
    note(kernel.text)
    numbers = np.random.default_rng([kernel.rows, kernel.columns])
    a, b = (numbers.integers(-3, 4, (kernel.rows, kernel.columns)).astype("float32") for _ in range(2))
    program = read_nested_program(programs_in(kernel.text, "kernel.py").programs[0], "kernel.py", kernel.given)[
        0
    ].program
    assert isinstance(program, PrimFunc)
    found, wanted = run(program, {"A": a.copy(), "B": b.copy(), **kernel.results()}), kernel.compute(a, b)
    for name in kernel.results():
        np.testing.assert_array_equal(found[name], wanted[name])
