"""Programs with values for symbolic sizes: their costs, runs and proofs."""

from __future__ import annotations

import numpy as np
import pytest
from support.programs.te_sources import BOX_BLUR_SCHEDULE, MATMUL_VTCM

import tilewright
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.lower import missing_sizes, size_variables, with_sizes
from tilewright.engine.te import read_te

FLAT = """
@T.prim_func
def f(a: T.handle, n: T.int32, scale: T.float32):
    m = T.int64()
    A = T.match_buffer(a, (m, 4), "float32")
    for i, j in T.grid(n, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * scale
"""


def test_sizes_are_integers_that_the_caller_decides() -> None:
    func = tilewright.parse(FLAT)
    assert isinstance(func, tilewright.PrimFunc)
    assert set(size_variables(func)) == {"m", "n"}
    assert set(missing_sizes(func)) == {"m", "n"}
    bound = with_sizes(func, {"m": 8, "n": 8}).func
    assert missing_sizes(bound) == ()
    assert [p.name for p in bound.params] == ["a", "scale"]
    assert bound.buffers[0].shape[0].dtype == "int64"


def test_no_sizes_return_the_same_program() -> None:
    func = tilewright.parse(FLAT)
    assert isinstance(func, tilewright.PrimFunc)
    assert with_sizes(func, {}).func is func


@pytest.mark.parametrize(
    ("sizes", "code"), [({"q": 3}, "unknown-size"), ({"n": 0}, "bad-size"), ({"n": 1 << 31}, "bad-size")]
)
def test_an_invalid_size_is_refused(sizes: dict[str, int], code: str) -> None:
    func = tilewright.parse(FLAT)
    assert isinstance(func, tilewright.PrimFunc)
    with pytest.raises(TilewrightError) as caught:
        with_sizes(func, sizes)
    assert caught.value.code == code


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "sizes", [{"M": 256, "K": 512, "N": 256}, {"M": 100, "K": 130, "N": 70}, {"M": 1, "K": 1, "N": 1}]
)
def test_sizes_bound_before_or_after_scheduling_cost_the_same(sizes) -> None:
    late = with_sizes(read_te(MATMUL_VTCM).schedule.func, sizes).func
    if min(sizes.values()) > 64:  # a schedule of tiles larger than the program is another matter
        early = read_te(MATMUL_VTCM, sizes=sizes).schedule.func
        machine = load_machine("dual-bank-npu")
        assert simulate(late, machine).cycles == simulate(early, machine).cycles
    arrays = tilewright.random_inputs(late)
    product = arrays["A"] @ arrays["B"]
    np.testing.assert_allclose(tilewright.run(late, arrays)["C"], product, rtol=1e-5)
    np.testing.assert_allclose(tilewright.run(read_te(MATMUL_VTCM), arrays)["C"], product, rtol=1e-5)


@pytest.mark.slow
def test_the_verdict_of_a_check_names_its_sizes() -> None:
    found = read_te(MATMUL_VTCM)
    assert found.schedule.verify().status == "unknown"
    verdict = found.schedule.verify(sizes={"M": 70, "K": 130, "N": 66})
    assert verdict.status == "tested" and verdict.detail.endswith("with M = 70, K = 130, N = 66")
    assert found.schedule.check({"M": 70, "K": 130, "N": 66}).status in ("proved", "tested")


def test_a_check_with_sizes_finds_a_wrong_program() -> None:
    found = read_te(BOX_BLUR_SCHEDULE)
    other = read_te(BOX_BLUR_SCHEDULE.replace("y-1, 0, rows-1", "y-1, 0, rows-2")).program
    verdict = found.schedule.verify(other, sizes={"rows": 6, "cols": 5, "chans": 2})
    assert verdict.status == "failed"


def test_missing_sizes_are_all_named() -> None:
    with pytest.raises(TilewrightError) as caught:
        tilewright.simulate(read_te(MATMUL_VTCM), "dual-bank-npu")
    assert caught.value.code == "missing-sizes"
    assert caught.value.refusal.fix == ('sizes = {"M": 256, "K": 256, "N": 256}',)
    report = tilewright.simulate(read_te(MATMUL_VTCM), "dual-bank-npu", sizes={"M": 256, "K": 256, "N": 256})
    assert report.memory["local.vtcm[1]"].peak_bytes == 64 * 64 * 4, "the discussion's second block holds the result"


def test_scopes_of_physical_blocks_place_buffers_or_are_refused() -> None:
    machine = load_machine("dual-bank-npu")
    sizes = {"M": 128, "K": 128, "N": 128}
    func = with_sizes(read_te(MATMUL_VTCM.replace('"local.vtcm"', '"local.vtcm_Block_1"')).schedule.func, sizes).func
    report = simulate(func, machine)
    assert report.memory["local.vtcm[0]"].allocated_bytes == 2 * 64 * 128 * 4
    assert report.memory["local.vtcm[1]"].allocated_bytes == 64 * 64 * 4
    with pytest.raises(TilewrightError) as caught:
        simulate(func, machine.replace("memories.vtcm.banks", 1))
    assert caught.value.code == "no-such-bank"


def test_laid_out_parameters_are_checked_through_the_layout() -> None:
    sch = tilewright.Schedule(read_te(BOX_BLUR_SCHEDULE).program)
    sch.transform_layout("box_blur", ("write", 0), lambda y, x, c: [x, c, y])
    sizes = {"rows": 5, "cols": 4, "chans": 3}
    assert sch.verify(sizes=sizes).status == "tested"
    assert structural_equal(
        with_sizes(sch.func, sizes).func.buffers[1].shape[2], with_sizes(sch.func, sizes).func.buffers[0].shape[0]
    )
