"""Vectors are computed lane by lane, all lanes before any is stored."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.vectors import RUNS, vector_text

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.script import parse


def arrays() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    floats = {name: generator.standard_normal(16).astype("float32") for name in ("A", "B")}
    return {**floats, "W": generator.integers(-9, 9, 16).astype("int8")}


@pytest.mark.parametrize("name", RUNS)
def test_each_lane_of_a_vector_is_computed_as_in_numpy(name: str):
    lines, expected = RUNS[name]
    given = arrays()
    found = run(parse(vector_text(*lines)).program, given)
    np.testing.assert_array_equal(found["B"], expected(given))


def test_each_element_of_a_buffer_of_vectors_has_its_lanes():
    lines = (
        'V = T.sblock_alloc_buffer((4,), "float32x4")',
        "for i in range(4):",
        "    V[i] = A[T.Ramp(i * 4, 1, 4)]",
        "for i in range(4):",
        "    B[i * 4:i * 4 + 4] = V[3 - i]",
    )
    given = arrays()
    found = run(parse(vector_text(*lines)).program, given)
    np.testing.assert_array_equal(found["B"], given["A"].reshape(4, 4)[::-1].reshape(-1))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("B[8:24] = A[T.Ramp(0, 1, 16)]", "out-of-bounds"),
        ("B[0:4] = A[T.Ramp(12, 2, 4)]", "out-of-bounds"),
        ('B[0:4] = T.reinterpret("float32x4", W[T.Ramp(0, 1, 16)])', "unsupported"),
        ('B[0:4] = T.call_llvm_pure_intrin("float32x4", "llvm.fabs", A[T.Ramp(0, 1, 4)])', "unsupported"),
        ("B[0:T.vscale() * 4] = A[T.Ramp(0, 1, T.vscale() * 4)]", "unsupported"),
    ],
)
def test_unsupported_vectors_are_reported(line: str, code: str):
    with pytest.raises(ExecuteError) as refused:
        run(parse(vector_text(line)).program, arrays())
    assert refused.value.code == code
