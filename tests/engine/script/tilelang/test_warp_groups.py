"""Groups of warps that wait for each other at barriers: an order in which they compute what they mean, and their waits in the timeline."""

from __future__ import annotations

import numpy as np
import pytest
from support.tile_kernels import kernel, numbers

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.hwsim.tile_layouts.products import products_of
from tilewright.engine.ir import BlockRealize, While, walk
from tilewright.engine.script import expr_text

MACHINE = load_machine("sm90")


def tokens(block: str) -> dict[str, list[tuple[str, str]]]:
    program = kernel("threads", "gemm", M=64, N=64, K=128)
    found = next(n.block for n in walk(program) if isinstance(n, BlockRealize) and n.block.name == block)
    return {
        key: [(a.value, expr_text(b)) for a, b in value]
        for key, value in found.annotations
        if key in ("tl.awaits", "tl.signals") and isinstance(value, tuple)
    }


def simulated(stages: int) -> Report:
    return simulate(kernel("threads", "gemm", M=64, N=64, K=512, stages=stages), MACHINE)


@pytest.mark.parametrize(("m", "n", "k", "stages"), [(64, 64, 160, 2), (100, 70, 96, 3), (64, 64, 32, 4)])
def test_product_of_two_groups(m: int, n: int, k: int, stages: int) -> None:
    a, b = numbers(m, k), numbers(k, n)
    found = run(kernel("threads", "gemm", M=m, N=n, K=k, stages=stages), {"A": a, "B": b})["C"]
    np.testing.assert_allclose(found, a.astype("float32") @ b.astype("float32"), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_loops_of_three_groups_run_together(stages: int) -> None:
    x = numbers(96, 32, dtype="float32")
    found = run(kernel("threads", "branches", M=96, N=32, stages=stages), {"X": x})["Y"]
    np.testing.assert_array_equal(found, x - x.max(1, keepdims=True))


@pytest.mark.parametrize("given", [{}, {"M": 100, "N": 70, "K": 96}])
def test_groups_that_go_over_all_tiles_of_a_block(given: dict[str, int]) -> None:
    """Also without values of the sizes: each loop over tiles has an iteration for each round of the blocks."""
    a, b = numbers(100, 96), numbers(96, 70)
    program = kernel("threads", "persistent", **given)
    found = run(program, {"A": a, "B": b})["C"]
    np.testing.assert_allclose(found, a.astype("float32") @ b.astype("float32"), rtol=2e-3, atol=2e-2)
    assert not any(isinstance(node, While) for node in walk(program))


def test_groups_that_wait_for_ever_are_not_run() -> None:
    """The barrier expects 256 arrivals in each phase, and 128 threads arrive."""
    program = kernel("threads", "branches", M=96, N=32, count=256)
    with pytest.raises(ExecuteError, match=r"tl\.thread_order"):
        run(program, {})


def test_barriers_are_tokens_of_the_blocks_beside_them() -> None:
    copied = ("full (copies of 128 to 255)", "vk % 2")
    assert tokens("A_shared_copy") == {"tl.signals": [copied], "tl.awaits": [("free", "vk % 2")]}
    assert tokens("gemm")["tl.signals"] == [("free", "vk % 2")]
    assert copied in tokens("gemm")["tl.awaits"]


def test_a_producer_waits_for_the_barrier_of_its_slot() -> None:
    alone, ahead = simulated(1), simulated(2)
    (wait,) = (w for w in alone.engines["tma"].waits if w.cause == "flag")
    assert (wait.buffer, wait.block) == ("free", "gemm")
    assert not any(w.cause == "flag" for w in ahead.engines["tma"].waits)
    assert ahead.cycles < alone.cycles


def test_a_product_is_divided_among_the_warps_of_its_group() -> None:
    (product,) = products_of(kernel("threads", "gemm", M=64, N=64, K=128))
    assert product.threads == 128
