"""TileLang kernels compute what NumPy computes, also at the edges of tiles."""

from __future__ import annotations

import numpy as np
import pytest
from support.tile_kernels import kernel, numbers

from tilewright.engine.execute import run
from tilewright.engine.hwsim.tile_layouts import producer_threads
from tilewright.engine.ir import build
from tilewright.engine.lower import pipelined, planned


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (50, 41, 27)])
def test_product(m: int, n: int, k: int, turned: int) -> None:
    a, b = numbers(m, k), numbers(k, n)
    given = b.T.copy() if turned else b
    found = run(kernel("gemm", M=m, N=n, K=k, turned=bool(turned)), {"A": a, "B": given})["C"]
    wanted = np.maximum(a.astype("float32") @ b.astype("float32"), 0)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-2)


def test_eager_kernel_takes_sizes_from_the_text() -> None:
    x = numbers(40, 24, dtype="float32")
    found = run(kernel("eager"), {"X": x})["Y"]
    wanted = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(64, 64), (40, 56)])
def test_attention(queries: int, keys: int, *, is_causal: bool) -> None:
    q, k, v = numbers(2, queries, 16), numbers(2, keys, 16, seed=1), numbers(2, keys, 16, seed=2)
    program = kernel("attention", heads=2, queries=queries, keys=keys, dim=16, is_causal=is_causal)
    found = run(program, {"Q": q, "K": k, "V": v})["O"]
    scores = np.einsum("hqd,hkd->hqk", q.astype("float32"), k.astype("float32")) / 4
    if is_causal:
        scores = np.where(np.tril(np.ones((queries, keys)), keys - queries) == 1, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), v.astype("float32"))
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3)


def test_packed_weights() -> None:
    a = numbers(20, 64)
    packed = np.random.default_rng(3).integers(0, 256, (24, 32)).astype("uint8")
    scales = numbers(24, 4, seed=4)
    found = run(kernel("weights", M=20, N=24, K=64), {"A": a, "B": packed, "S": scales})["C"]
    values = np.stack([packed & 15, packed >> 4], axis=-1).reshape(24, 64).astype("float16") - np.float16(8)
    weights = (values * np.repeat(scales, 16, axis=1)).astype("float16")
    np.testing.assert_allclose(found, a.astype("float32") @ weights.astype("float32").T, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("n", "k"), [(16, 48), (13, 40)])
def test_code_for_single_threads(n: int, k: int) -> None:
    a, b = numbers(k, dtype="float32"), numbers(n, k, dtype="float32")
    found = run(kernel("threads", N=n, K=k), {"A": a, "B": b})["C"]
    np.testing.assert_allclose(found, b @ a, rtol=1e-4, atol=1e-5)


def test_gathered_rows() -> None:
    pool = numbers(10, 6, dtype="float32")
    table = np.array([3, 0, 9, 9, 1, 2, 5, 4, 7, 8, 0], "int32")
    for limit in (0, 5, 11):
        lengths = np.array([limit], "int32")
        program = kernel("indices", pages=10, width=6, taken=11)
        found = run(program, {"table": table, "lengths": lengths, "pool": pool})["out"]
        sums = np.cumsum(pool[table[:limit]].sum(axis=0)[::-1])[::-1]
        np.testing.assert_allclose(found[0], sums, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1], sums * (8 * -(-limit // 8)), rtol=1e-4, atol=1e-4)


def test_branch_in_a_pipelined_loop() -> None:
    a, b = numbers(40, 96), numbers(96, 64, seed=1)
    mask = np.array([1, 0, 1], "int32")
    found = run(kernel("branch", M=40, N=64, K=96), {"A": a, "B": b, "mask": mask})["C"]
    kept = np.repeat(mask, 32)
    np.testing.assert_allclose(found, (a * kept).astype("float32") @ b.astype("float32"), rtol=1e-3, atol=1e-2)


def test_tile_that_both_branches_copy() -> None:
    """The tile has slots, as TileLang 0.1.15 gives it; the option of a decorator is that of its kernel alone."""
    a, b, d = numbers(32, 128), numbers(128, 64, seed=1), numbers(128, 64, seed=2)
    program = kernel("branch", "either", N=64, K=128)
    found = run(program, {"A": a, "B": b, "D": d})["C"]
    wanted = a.astype("float32") @ np.concatenate([b[:64], d[64:]]).astype("float32")
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-2)
    versions = pipelined(planned(program).func).buffers.items()
    assert {buffer.name: build.int_value(slotted.shape[0]) for buffer, slotted in versions} == {"a": 3, "b": 3}
    assert producer_threads(program, "wgmma") == 0
    assert producer_threads(kernel("branch", M=64, N=64, K=64), "wgmma") == 128


def test_values_that_threads_exchange() -> None:
    a = numbers(3, 64, dtype="float32")
    found = run(kernel("exchange", "exchanged", N=3), {"A": a})["B"]
    lane = np.arange(64) % 32
    base = np.arange(64) - lane
    at = {
        0: base + (lane ^ 2),
        1: base + np.where(lane + 2 < 32, lane + 2, lane),
        2: base + np.where(lane >= 2, lane - 2, lane),
    }
    np.testing.assert_array_equal(found[0], a[:, at[0]])
    np.testing.assert_array_equal(found[1], a[:, at[1]])
    np.testing.assert_array_equal(found[2], a + a[:, at[2]])
    sums = a.reshape(3, 2, 32).sum(-1, keepdims=True)
    np.testing.assert_allclose(found[3], np.broadcast_to(sums, (3, 2, 32)).reshape(3, 64), rtol=1e-5, atol=1e-5)


def test_loops_that_are_longer_in_some_threads() -> None:
    a = np.random.default_rng(5).integers(-3, 4, 40).astype("int32")
    found = run(kernel("exchange", "uneven", M=40), {"A": a})
    own = [a[t::32][a[t::32] > 0].sum() + t * (t - 1) // 2 for t in range(32)]
    np.testing.assert_array_equal(found["counts"], own)
    positive = np.flatnonzero(a > 0)
    assert sorted(found["found"][: len(positive)]) == positive.tolist()


def test_tile_operations_of_some_threads_run_once() -> None:
    a, b = numbers(32, 32), numbers(32, 32, seed=1)
    found = run(kernel("exchange", "groups", M=32), {"A": a, "B": b})["C"]
    product = a.astype("float32") @ b.astype("float32")
    np.testing.assert_allclose(found[0], 4 * product, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found[1], 4 * product + 1, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("m", "n", "blocks"), [(50, 70, 3), (16, 16, 4), (33, 16, 1)])
def test_tiles_of_persistent_blocks(m: int, n: int, blocks: int) -> None:
    a = numbers(m, n, dtype="float32")
    np.testing.assert_array_equal(run(kernel("tiles", "ordered", M=m, N=n, blocks=blocks), {"A": a})["B"], a)


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 0), (2, 1, 1), (1, 2, 2)])
def test_patches_of_an_image(stride: int, dilation: int, pad: int) -> None:
    image, weights = numbers(2, 7, 8, 3, dtype="float32"), numbers(3, 3, 3, 5, dtype="float32")
    program = kernel("tiles", "patches", N=2, C=3, H=7, W=8, F=5, K=3, S=stride, D=dilation, P=pad)
    found = run(program, {"image": image, "kernel": weights})["out"]
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    wanted = np.zeros(found.shape, "float32")
    for y in range(found.shape[1]):
        for x in range(found.shape[2]):
            part = padded[
                :,
                y * stride : y * stride + 2 * dilation + 1 : dilation,
                x * stride : x * stride + 2 * dilation + 1 : dilation,
            ]
            wanted[:, y, x] = np.einsum("nijc,ijcf->nf", part, weights)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize(("m", "n"), [(50, 70), (16, 40)])
def test_tiles_of_a_scheduler(m: int, n: int, *, by_columns: bool) -> None:
    a = numbers(m, n, dtype="float32")
    found = run(kernel("tiles", "scheduled", M=m, N=n, by_columns=by_columns), {"A": a})["B"]
    np.testing.assert_array_equal(found, a)


def test_sum_over_an_axis_of_threads() -> None:
    a = numbers(8, 21, dtype="float32")
    found = run(kernel("exchange", "sums", M=8, K=21), {"A": a})["B"]
    np.testing.assert_allclose(found, np.stack([a.sum(1), 2 * a.sum(1)]), rtol=1e-5, atol=1e-5)


def test_updates_in_each_thread() -> None:
    a = np.arange(32, dtype="float32")
    found = run(kernel("exchange", "repeated"), {"A": a, "B": np.zeros(3, "float32")})["B"]
    np.testing.assert_array_equal(found, [32, a.sum(), 6])


@pytest.mark.parametrize("used", [1, 2, 3])
def test_threads_that_return_and_loops_up_to_a_size(used: int) -> None:
    x = numbers(53, 6, dtype="float32")
    program = kernel("threads", "returning", width=6, stride=9, op="T.exp", last=False)
    found = run(program, {"used": np.array([used], "int32"), "X": x})["Y"]
    wanted = np.where(np.arange(6) % 2 == 0, np.exp(x * 2), np.nan)
    wanted[np.arange(53) // 8 % 3 >= used] = 0
    wanted[0, 5] = 1  # a number of Python changes once, while the kernel is traced
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_variables_of_a_macro_that_an_object_gives_are_those_of_each_thread() -> None:
    items = np.sort(np.random.default_rng(0).integers(0, 200, 60)).astype("int32")
    wanted = np.random.default_rng(1).integers(0, 200, 37).astype("int32")
    found = run(kernel("threads", "searched", N=60, M=37), {"X": items, "Q": wanted})["Y"]
    np.testing.assert_array_equal(found, np.searchsorted(items, wanted))
