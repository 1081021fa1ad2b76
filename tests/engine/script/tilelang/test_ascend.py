"""Kernels for AI cores compute what NumPy computes: two vector cores with their own buffers, and a cube core beside them."""

from __future__ import annotations

import numpy as np
import pytest
from support.tile_kernels import KERNELS, kernel, numbers

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.ir import NodeAttr, PrimFunc, StringImm, walk
from tilewright.engine.script import parse, to_script


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (50, 41, 27)])
def test_product(m: int, n: int, k: int, turned: int) -> None:
    a, b = numbers(m, k), numbers(k, n)
    given = b.T.copy() if turned else b
    found = run(kernel("ascend_gemm", M=m, N=n, K=k, turned=bool(turned)), {"A": a, "B": given})["C"]
    wanted = np.maximum(a.astype("float32") @ b.astype("float32"), 0)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize(("m", "n"), [(16, 32), (19, 16)])
def test_rows_on_vector_cores(m: int, n: int) -> None:
    x, w = numbers(m, n, dtype="float32"), numbers(n, dtype="float32")
    found = run(kernel("ascend_rows", M=m, N=n), {"X": x, "W": w})
    weights = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found["soft"], weights / weights.sum(1, keepdims=True), rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(
        found["norm"], x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * w, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(found["high"], np.where(x > 0.5, x, 0) * 2 + (x < 0), rtol=1e-6)


@pytest.mark.parametrize("has_flags", [False, True])
def test_attention_on_cube_and_vector_cores(*, has_flags: bool) -> None:
    q, k, v = (numbers(2, 48, 16, seed=s) for s in range(3))
    program = kernel("ascend_attention", heads=2, seq_len=48, dim=16, has_flags=has_flags)
    found = run(program, {"Q": q, "K": k, "V": v})["O"]
    scores = np.einsum("hqd,hkd->hqk", q.astype("float32"), k.astype("float32")) / 4
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), v.astype("float32"))
    np.testing.assert_allclose(found, wanted, rtol=3e-3, atol=3e-3)


def test_order_that_flags_do_not_give_is_refused() -> None:
    """Without its last flag, each iteration sets one that a later iteration waits for."""
    text = (KERNELS / "ascend_attention.py").read_text().replace('T.set_cross_flag("V", 3)', "pass")
    given = {"heads": 1, "seq_len": 32, "dim": 16}
    program = read_nested_program(programs_in(text, "kernel.py").programs[0], "kernel.py", given)[0].program
    assert isinstance(program, PrimFunc)
    with pytest.raises(ExecuteError, match=r"tl\.ascend_order"):
        run(program, {})


@pytest.mark.parametrize(("m", "n", "off"), [(160, 96, 1), (160, 96, 3), (64, 64, 3)])
def test_swizzled_blocks_take_all_tiles(m: int, n: int, off: int) -> None:
    a, b = numbers(m, 16), numbers(16, n)
    found = run(kernel("ascend_gemm", M=m, N=n, K=16, off=off), {"A": a, "B": b})["C"]
    wanted = np.maximum(a.astype("float32") @ b.astype("float32"), 0)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-2)


def test_copies_of_unequal_parts() -> None:
    """A copy from memory pads what is missing; between unified buffers, elements keep their order."""
    x = numbers(5, 24, dtype="float32")
    found = run(kernel("ascend_copies"), {"X": x})
    padded = np.full((8, 32), -1, "float32")
    padded[:5, :24] = x
    np.testing.assert_array_equal(found["padded"], padded)
    np.testing.assert_array_equal(found["part"], np.where(np.arange(32) < 20, np.pad(x[3], (0, 8)), 0))
    np.testing.assert_array_equal(found["columns"], padded.T)
    np.testing.assert_array_equal(found["whole"], np.round(np.abs(padded.reshape(4, 64)) * 2).astype("int32"))
    np.testing.assert_array_equal(found["order"], np.arange(32)[::-1])


def test_loop_of_a_length_that_differs_between_vector_cores() -> None:
    x, lengths = numbers(6, 8, dtype="float32"), np.array([2, 0, 3, 1, 2, 1], "int32")
    found = run(kernel("ascend_lengths"), {"X": x, "lengths": lengths})["out"]
    wanted = np.stack([x[n : n + length].sum(0) for n, length in enumerate(lengths)])
    several = lengths[:, None]
    wanted = np.where(several > 1, wanted * 2, wanted + 1) * np.where(several == 3, 4, 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(("second", "tail"), [(0, 0), (1024, 0), (4096, 1)])
def test_buffers_may_share_addresses_while_none_is_read_after_the_other_is_written(second: int, tail: int) -> None:
    x = numbers(64, 16, dtype="float32")
    found = run(kernel("ascend_rows", "chain", M=64, N=16, second=second, tail=tail), {"X": x})["Y"]
    np.testing.assert_allclose(found, 4 * x * x + tail * x, rtol=1e-5)


@pytest.mark.parametrize(("second", "tail", "lost"), [(0, 1, "x and z"), (1020, 1, "x and z"), (2044, 0, None)])
def test_a_read_of_memory_that_another_buffer_overwrote_is_refused(second: int, tail: int, lost: str | None) -> None:
    program = kernel("ascend_rows", "chain", M=64, N=16, second=second, tail=tail)
    notes = [
        node.node.value for node in walk(program) if isinstance(node, NodeAttr) and isinstance(node.node, StringImm)
    ]
    if lost is None:
        assert not notes
    else:
        assert notes == [f"{lost} share addresses, and x is read after z is written"]
        with pytest.raises(ExecuteError):
            run(program, {"X": numbers(64, 16, dtype="float32")})


def test_copies_of_both_vector_cores_that_stay_inside_have_no_condition() -> None:
    text = """import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((256, 64), "float16"), B: T.Tensor((256, 64), "float16")):
    with T.Kernel(4, is_npu=True) as (cid, vid):
        a = T.alloc_ub([32, 64], "float16")
        T.copy(A[cid * 64 + vid * 32 : cid * 64 + (vid + 1) * 32, :], a)
        T.copy(a, B[cid * 64 + vid * 32 : cid * 64 + (vid + 1) * 32, :])
"""
    script = to_script(parse(text).program)
    assert "T.where" not in script and "if_then_else" not in script
