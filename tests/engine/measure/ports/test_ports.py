"""The path through compiled code, and the port model of it, on assembly written for the tests."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.measure import Candidate, Measured, measure
from tilewright.engine.measure.measured import Host
from tilewright.engine.measure.ports import find_mca, port_cycles, port_times
from tilewright.engine.measure.ports import model as port_model
from tilewright.engine.measure.ports.assembly import read_assembly
from tilewright.engine.measure.ports.clock import SUM
from tilewright.engine.measure.ports.walk import walked
from tilewright.engine.script import parse

NEST = """
__tvm_ffi_main:
	pushq	%rbp
	cmpl	$2, %edx
	jne	.LBB0_9
	movq	(%rsi), %rax
	movq	8(%rsi), %rcx
	testq	%rax, %rax
	je	.LBB0_9
	xorl	%r10d, %r10d
.LBB0_1:                                # the outer loop
	xorl	%r11d, %r11d
.LBB0_2:
	vmovups	(%rax,%r11,4), %zmm0
	vfmadd213ps	(%rcx,%r11,4), %zmm0, %zmm1
	vmovups	%zmm1, (%rcx,%r11,4)
	addq	$16, %r11
	cmpq	${inner}, %r11
	{jump}	.LBB0_2
	incq	%r10
	cmpq	$5, %r10
	jne	.LBB0_1
	xorl	%eax, %eax
	popq	%rbp
	retq
.LBB0_9:
	callq	__tvm_set_raised_1
	retq
.Lfunc_end0:
"""


def nest(inner: int = 1024, jump: str = "jne") -> str:
    return NEST.replace("{inner}", str(inner)).replace("{jump}", jump)


def counts(text: str) -> Counter[str]:
    """How often each block is executed, by its first instruction."""
    code = read_assembly(text, "__tvm_ffi_main")
    found: Counter[str] = Counter()
    for stretch in walked(code):
        found[code.blocks[stretch.block].instructions[0].name] += stretch.times
    return found


def test_blocks_end_with_jumps_and_start_with_labels() -> None:
    code = read_assembly(nest(), "__tvm_ffi_main")
    assert [len(b.instructions) for b in code.blocks] == [3, 4, 1, 1, 6, 3, 3, 2]
    assert code.blocks[4].targets == (5, 4)
    assert code.hot == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("inner", "jump", "times"),
    [(1024, "jne", 64), (1000, "jb", 63), (1008, "jbe", 64), (1000, "jl", 63), (16, "jne", 1)],
)
def test_a_block_that_jumps_to_itself_is_counted_as_often_as_it_runs(inner: int, jump: str, times: int) -> None:
    found = counts(nest(inner, jump))
    assert found["vmovups"] == 5 * times and found["incq"] == 5


def test_branches_on_loaded_values_go_to_the_loops() -> None:
    assert "callq" not in counts(nest())


def test_registers_move_by_the_same_step_in_each_repeat() -> None:
    code = read_assembly(nest(), "__tvm_ffi_main")
    stretch = next(s for s in walked(code) if s.times == 64)
    assert [s for s in stretch.step if s] == [16]


def test_code_of_another_function_is_refused() -> None:
    with pytest.raises(TilewrightError) as caught:
        port_cycles("other:\n\tretq\n", "znver4", "llvm-mca")
    assert caught.value.refusal.code == "no-port-model"


def fake_mca(folder: Path, reply: str) -> str:
    """A program in place of llvm-mca."""
    file = folder / "llvm-mca"
    file.write_text(f"#!/bin/sh\ncat > {folder}/input\n{reply}\n")
    file.chmod(0o755)
    return str(file)


def test_the_cycles_of_windows_are_those_of_the_whole_path(tmp_path: Path) -> None:
    # A cycle for each instruction, and 500 to fill the pipeline, which the windows leave out.
    mca = fake_mca(tmp_path, f"echo Total Cycles: $((500 + $(grep -c '^\t' {tmp_path}/input)))")
    found = port_cycles(nest(1 << 16), "znver4", mca)
    assert found.instructions == 5 * (6 * 4096 + 4) + 8 + 3
    assert found.ports == pytest.approx(found.instructions, rel=0.02)
    assert "vfmadd213ps" in (tmp_path / "input").read_text()


def test_sums_in_memory_wait_for_their_stores(tmp_path: Path) -> None:
    mca = fake_mca(tmp_path, "echo 'Total Cycles:      10'")
    alone = port_cycles(nest(16), "znver4", mca)
    assert alone.chain == pytest.approx(5 * (port_model.FORWARD_CYCLES + port_model.OPERATION_CYCLES), abs=20)


def test_gathers_on_the_path_have_no_prediction(tmp_path: Path) -> None:
    gathers = nest().replace("vmovups	(%rax,%r11,4), %zmm0", "vgatherdps	(%rax,%zmm3,4), %zmm0 {%k1}")
    with pytest.raises(TilewrightError) as caught:
        port_cycles(gathers, "znver4", fake_mca(tmp_path, "echo 'Total Cycles:      10'"))
    assert caught.value.refusal.found == "vgatherdps"


def test_output_without_cycles_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError) as caught:
        port_cycles(nest(), "znver4", fake_mca(tmp_path, "echo 'unknown instruction' >&2"))
    assert caught.value.refusal.found == "unknown instruction"


def test_an_llvm_mca_that_does_not_know_the_processor_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_mca(tmp_path, "echo \"'zen9' is not a recognized processor for this target\" >&2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(port_model, "NAMES", ("llvm-mca",))
    assert find_mca("zen9") is None
    measured = Measured(Host("", "", "", "-mcpu=zen9 -num-cores=1", ""), (), 1.0)
    with pytest.raises(TilewrightError) as caught:
        port_times(measured)
    assert caught.value.refusal.code == "no-llvm-mca"


def test_the_path_through_the_code_of_tvm_is_followed() -> None:
    pytest.importorskip("tvm")
    func = parse(SUM).program
    row = measure([Candidate("sum", func)], seconds=0.1, cpu="x86-64-v2", with_assembly=True).rows[0]  # pyright: ignore[reportArgumentType]
    code = read_assembly(row.assembly, "__tvm_ffi_main")
    additions = sum(
        s.times * sum(i.name in ("addss", "addps") for i in code.blocks[s.block].instructions) for s in walked(code)
    )
    assert additions == 8192


@pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="no llvm-mca here")
def test_llvm_mca_reads_the_code() -> None:
    mca = find_mca("x86-64-v4") or find_mca("skylake-avx512")
    assert mca is not None
    assert port_cycles(nest(), "skylake-avx512", mca).ports > 64


MEASURED = {
    "avx2_ikj": 20_493, "avx2_ijk": 60_314, "avx2_reg": 51_990, "fma_ikj": 22_735, "fma_ijk": 74_200, "fma_reg": 52_408,
}  # fmt: skip
"""Cycles of `trial/matmul.c` on a Zen 4, minimum of 601 x 10 runs (26 November 2026): 64^3 float32 by gcc 12.2 -O3 -mavx2, with -mfma
-ffast-math for "fma". The files are what this compiler made of it; `FORWARD_CYCLES` comes from the loops "reg"."""

TRIAL = Path(__file__).parent / "trial"


def test_the_code_of_gcc_is_followed(tmp_path: Path) -> None:
    mca = fake_mca(tmp_path, "echo 'Total Cycles:      10'")
    found = {name: port_cycles((TRIAL / f"{name}.s").read_text(), "znver4", mca).instructions for name in MEASURED}
    # 32,768 vectors of 8 products; the loops over k without vectors have 64 times 64 x 64.
    assert all(32_768 < found[name] < 10 * 32_768 for name in found)


@pytest.mark.skipif(find_mca("znver4") is None, reason="no llvm-mca here that knows a Zen 4")
@pytest.mark.parametrize("name", MEASURED)
def test_a_nest_on_a_zen_4_is_within_1_32_times(name: str) -> None:
    mca = find_mca("znver4")
    assert mca is not None
    found = port_cycles((TRIAL / f"{name}.s").read_text(), "znver4", mca).cycles / MEASURED[name]
    assert 1 / 1.32 <= found <= 1.32
