"""Verdicts of `verify`: tested, failed with place and error, or unknown with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs import sources
from support.programs.sources import HEADER
from support.programs.te_sources import GPU_MATMUL

from tilewright.engine.execute import program, random_inputs, run, verify
from tilewright.engine.execute.frames import Meter
from tilewright.engine.ir import (
    BufferLoad,
    BufferStore,
    Call,
    FloatImm,
    IntImm,
    PrimFunc,
    StringImm,
    rewrite,
    walk,
)
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse
from tilewright.engine.te import read_te


def matmul(m: int = 16, n: int = 16, k: int = 16) -> PrimFunc:
    return parse(sources.matmul(m, n, k)).program


def copy(count: int, shift: int = 0, extent: int = 8) -> PrimFunc:
    return parse(
        HEADER + "@T.prim_func(s_tir=True)\n"
        'def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):\n'
        f"    for i in range({count}):\n"
        '        with T.sblock("B"):\n'
        f"            v = T.axis.spatial({extent}, i)\n"
        f"            B[v] = A[v + {shift}]\n"
    ).program


def with_store_value(func: PrimFunc, change) -> PrimFunc:
    """Return `func` with another value in its last store."""
    last = [node for node in walk(func) if isinstance(node, BufferStore)][-1]

    def leave(node):
        if isinstance(node, BufferStore) and node.buffer is last.buffer and not isinstance(node.value, FloatImm):
            return BufferStore(node.buffer, change(node.value), node.indices)
        return node

    return rewrite(func, leave)


def test_same_program_has_no_difference():
    verdict = verify(matmul(), matmul())
    assert (verdict.status, verdict.max_abs_error) == ("tested", 0.0)
    assert "seed 0" in verdict.detail


@pytest.mark.parametrize("name", sorted(sources.CURRENT))
def test_sample_program_is_tested_against_itself(name):
    program = parse(sources.CURRENT[name]).program
    func = program if isinstance(program, PrimFunc) else program.functions[0]
    assert verify(func, func, seed=5).status == "tested"


def test_a_reordered_sum_is_tested():
    sch = Schedule(matmul(8, 8, 64))
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, [8, 8])
    sch.reorder(inner, outer, i, j)
    assert verify(sch.func, matmul(8, 8, 64)).status == "tested"


def test_another_value_fails_with_the_element_and_the_error():
    wrong = with_store_value(
        matmul(), lambda value: type(value)(value.a, BufferLoad(value.b.a.buffer, value.b.a.indices))
    )
    verdict = verify(wrong, matmul())
    assert verdict.status == "failed"
    assert "C[0, 0] is" in verdict.detail and verdict.max_abs_error > 0


def test_one_wrong_element_fails():
    verdict = verify(copy(8), with_store_value(copy(8), lambda value: BufferLoad(value.buffer, (IntImm(0),))))
    assert verdict.status == "failed" and "B[" in verdict.detail


def test_out_of_bounds_access_fails_with_its_place():
    verdict = verify(copy(8, shift=1), copy(8))
    assert verdict.status == "failed" and "A[8]" in verdict.detail and "'B'" in verdict.detail


def test_a_partly_missing_output_fails():
    verdict = verify(copy(7), copy(8))
    assert verdict.status == "failed" and "B[7] is not written" in verdict.detail


def test_an_original_that_cannot_run_is_unknown():
    verdict = verify(copy(8), copy(8, shift=1))
    assert verdict.status == "unknown" and "original" in verdict.detail


def test_an_external_call_is_unknown():
    outside = with_store_value(copy(8), lambda value: Call("call_extern", (StringImm("f"), value), "int32"))
    verdict = verify(outside, copy(8))
    assert verdict.status == "unknown" and "call_extern" in verdict.detail


def test_program_beyond_the_limit_is_unknown_at_once():
    huge = matmul(4096, 4096, 4096)
    verdict = verify(huge, huge)
    assert verdict.status == "unknown" and "element operations" in verdict.detail
    assert verify(matmul(), matmul(), limit=1000).status == "unknown"


def test_bfloat16_is_unknown():
    func = parse(sources.matmul(4, 4, 4, "bfloat16")).program
    assert verify(func, func).status == "unknown"


def test_reordered_sums_of_random_inputs_are_exact():
    """Eighths have exact products and sums, so any difference in `verify` is an error."""
    inputs = random_inputs(matmul(16, 16, 2048))
    assert np.array_equal(inputs["A"] @ inputs["B"], (inputs["A"].astype("float64") @ inputs["B"]).astype("float32"))


@pytest.mark.parametrize("value", ["A[B[v]]", "A[v] // B[v]", "A[v] % B[v]"])
def test_indices_and_divisors_are_tested_with_valid_inputs(value: str) -> None:
    text = (
        HEADER + "@T.prim_func(s_tir=True)\n"
        'def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):\n'
        "    for i in range(8):\n"
        '        with T.sblock("C"):\n'
        "            v = T.axis.spatial(8, i)\n"
        f"            C[v] = {value}\n"
    )
    sch = Schedule(parse(text).program)
    sch.split(sch.get_loops("C")[0], factors=[None, 4])
    assert sch.verify().status == "tested", sch.verify().detail


def test_out_of_bounds_access_for_all_inputs_is_reported() -> None:
    verdict = verify(copy(8, shift=1), copy(8, shift=1))
    assert verdict.status == "unknown" and "A[8]" in verdict.detail


SCALED = (
    HEADER + "@T.prim_func(s_tir=True)\n"
    'def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), scale: T.float32):\n'
    "    for i in range(8):\n"
    '        with T.sblock("B"):\n'
    "            v = T.axis.spatial(8, i)\n"
    "            B[v] = A[v] * scale\n"
)


def test_a_scalar_parameter_has_a_random_value():
    func = parse(SCALED).program
    assert verify(func, func).status == "tested"
    assert random_inputs(func)["scale"].shape == ()
    assert verify(parse(SCALED.replace("* scale", "+ scale")).program, func).status == "failed"


def test_threads_with_private_copies_may_run_in_order(monkeypatch):
    text = GPU_MATMUL.replace("nn = 64", "nn = 32").replace("factor=32", "factor=16")
    func = read_te(text).schedule.func
    steps: list[int] = []
    spend = Meter.spend
    monkeypatch.setattr(Meter, "spend", lambda self, amount: (steps.append(amount), spend(self, amount))[1])
    arrays = random_inputs(func, 0)
    at_once, counted = run(func, arrays)["C"], len(steps)
    monkeypatch.setattr(program, "MOST_IN_LANES", 0)
    np.testing.assert_array_equal(run(func, arrays)["C"], at_once)
    assert 4 * counted < len(steps) - counted
