"""The layouts of shared buffers are those that TileLang infers, and the simulator counts bank conflicts with them."""

from __future__ import annotations

import hashlib
import json
from math import prod
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from msgspec.structs import replace
from support.tile_kernels import KERNELS, kernel

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.hwsim import load_machine, placement_of, simulate
from tilewright.engine.hwsim.tile_layouts import Unit, instruction, products_of, stored_layouts, warp_partition
from tilewright.engine.hwsim.tile_layouts.products import POLICIES
from tilewright.engine.hwsim.tile_layouts.stored import ROW_MAJOR
from tilewright.engine.ir import Buffer, PrimFunc, allocated_buffers, build
from tilewright.engine.ir import dtype as dt
from tilewright.engine.lint import lint
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "printed.json").read_text())
"""Made by `tests/support/record/tile_ir.py`."""
ARCHITECTURES: dict[Unit, str] = {"mma": "sm_80", "wgmma": "sm_90"}
NAMED = pytest.mark.parametrize(
    "record", RECORDED, ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}"
)
ANNOTATED = [r for r in RECORDED if r["given"].get("layout", "none") != "none"]


def function_of(record: dict[str, Any]) -> str:
    return "transposed" if "layout" in record["given"] else ""


def places(func: PrimFunc, unit: Unit, slots: dict[str, int]) -> dict[str, list[int]]:
    """The place of each element of the shared buffers, slot by slot."""
    stored = stored_layouts(func, unit)
    found: dict[str, list[int]] = {}
    for buffer in allocated_buffers(func.body):
        if buffer.scope.startswith("shared") and buffer in stored:
            shape = [build.int_value(e) or 0 for e in buffer.shape]
            layout = stored[buffer]
            order = layout.order(shape[-2], shape[-1], dt.bits(buffer.dtype)) if len(shape) > 1 else None
            size = prod(shape) if order is None else shape[-2] * layout.row_elements(shape[-1])
            order = np.arange(prod(shape)) if order is None else order
            count = slots.get(buffer.name, 1) * prod(shape) // len(order)
            found[buffer.name] = (np.arange(count)[:, None] * size + order).reshape(-1).tolist()
    return found


def expected(record: dict[str, Any], unit: Unit, name: str) -> str:
    layouts = record["layouts"][ARCHITECTURES[unit]]
    return "" if name not in layouts else str(layouts[name]["digest"])


@pytest.mark.parametrize("unit", get_args(Unit))
@NAMED
def test_the_places_of_all_elements_are_those_of_tilelang(record: dict[str, Any], unit: Unit) -> None:
    every = record["layouts"][ARCHITECTURES[unit]]
    if every is None:
        pytest.skip("TileLang refuses the kernel")
    inferred = {name: layout for name, layout in every.items() if "digest" in layout}
    source = kernel(record["file"], function_of(record), **record["given"])
    printed = parse(record["text"]).program
    assert isinstance(printed, PrimFunc)
    for func in (source,) if record in ANNOTATED else (source, printed):
        names = {b.name for b in allocated_buffers(func.body)}
        ours = places(func, unit, {})
        for name in names & inferred.keys():
            shape = inferred[name]["shape"]
            buffer = next(b for b in allocated_buffers(func.body) if b.name == name)
            count = prod(shape) // prod(build.int_value(e) or 1 for e in buffer.shape)
            found = places(func, unit, {name: count}).get(name, list(range(prod(shape))))
            digest = hashlib.sha1(np.array(found, np.int64).tobytes()).hexdigest()
            assert digest == inferred[name]["digest"], f"{name}: {inferred[name]['index']}"
        assert all(not_inferred_is_row_major(ours[name]) for name in ours.keys() - inferred.keys())


def not_inferred_is_row_major(found: list[int]) -> bool:
    return found == list(range(len(found)))


def test_the_printed_form_has_lost_the_layouts_of_the_text() -> None:
    printed = parse(ANNOTATED[0]["text"]).program
    assert isinstance(printed, PrimFunc)
    layouts = {buffer.name: layout for buffer, layout in stored_layouts(printed, "mma").items()}
    assert layouts["tile_1"].kind == "unknown"


def test_warps_divide_products_as_tilelang_divides_them() -> None:
    base = products_of(kernel("layouts", "product"))[0]
    rows: list[list[Any]] = json.loads((Path(__file__).parent / "warps.json").read_text())
    for m, n, threads, policy, unit, warps in rows:
        product = replace(base, rows=m, columns=n, threads=threads, policy=POLICIES[policy])
        if unit == instruction(product, unit):
            assert warp_partition(product, unit) == (None if warps is None else tuple(warps)), (
                m,
                n,
                threads,
                policy,
                unit,
            )


def test_the_policy_of_a_product_is_read() -> None:
    assert [products_of(kernel("layouts", "product", policy=n))[0].policy for n in range(3)] == list(POLICIES)


def test_a_swizzle_saves_bank_conflicts_of_a_transposed_copy() -> None:
    plain, swizzled = (
        simulate(kernel("layouts", "transposed", layout=x), load_machine("sm80")) for x in ("none", "swizzled")
    )
    assert [max(c.degree for c in r.conflicts if "tile" in c.buffers) for r in (plain, swizzled)] == [63, 7]
    assert swizzled.cycles < plain.cycles


PADDED = """import tilelang.language as T

@T.prim_func
def transposed(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        tile = T.alloc_shared((32, 33), "float32")
        for i, j in T.Parallel(32, 32):
            tile[i, j] = A[by * 32 + i, bx * 32 + j]
        for i, j in T.Parallel(32, 32):
            B[bx * 32 + i, by * 32 + j] = tile[j, i]
"""


def test_a_tile_that_its_shape_pads_is_as_large_as_its_shape_and_has_no_conflicts() -> None:
    programs = [parse(text).program for text in (PADDED, PADDED.replace("33", "32"))]
    padded, plain = (simulate(p, load_machine("sm80")) for p in programs if isinstance(p, PrimFunc))
    assert [r.memory["shared"].peak_bytes for r in (padded, plain)] == [32 * 33 * 4, 32 * 32 * 4]
    assert [[c.degree for c in r.conflicts] for r in (padded, plain)] == [[], [32]]


def test_operands_of_a_product_have_no_conflicts_with_the_layout_of_the_compiler() -> None:
    func, machine = kernel("layouts", "product"), load_machine("sm80")
    report, row_major = simulate(func, machine), simulate(func, machine.replace("engines.tensor.tile_language", ""))
    of_operands = [{b for c in r.conflicts for b in c.buffers} & {"A_shared", "B_shared"} for r in (report, row_major)]
    assert of_operands == [set(), {"A_shared", "B_shared"}]
    buffer = next(b for b in report.program.places.by_buffer if b.name == "A_shared")
    placement = placement_of(report.program, buffer)
    assert placement is not None
    assert placement.placement.stored.title == "swizzle of 64 bytes"
    rows = np.arange(8)
    units = placement.addresses((np.zeros(8, np.int64), rows, np.zeros(8, np.int64))).unit
    assert len(set(units.tolist())) == 8


def test_rows_of_operands_that_the_schedule_pads_have_no_conflicts() -> None:
    machine = load_machine("sm80").replace("engines.tensor.tile_language", "")
    schedule = Schedule(kernel("gemm", M=128, N=128, K=64, block_M=128, block_N=128, block_K=64))
    schedule.storage_align("A_shared_copy", 0, 0, 64, 8)
    padded = {b for c in simulate(schedule.func, machine).conflicts for b in c.buffers}
    assert "A_shared" not in padded and "B_shared" in padded


def test_other_programs_and_machines_have_no_such_layouts() -> None:
    func = kernel("layouts", "product")
    assert all(isinstance(b, Buffer) for b in stored_layouts(func, "mma"))
    plain = simulate(func, load_machine("sm80").replace("engines.tensor.tile_language", ""))
    assert all(p.stored == ROW_MAJOR for p in plain.program.places.placements)


@pytest.mark.parametrize("unit", get_args(Unit))
@NAMED
def test_each_thread_has_its_part_of_a_result(record: dict[str, Any], unit: Unit) -> None:
    inferred = record["layouts"][ARCHITECTURES[unit]] or {}
    for product in products_of(kernel(record["file"], function_of(record), **record["given"])):
        if product.c.name in inferred:
            registers = inferred[product.c.name]["elements"] * dt.bits(product.c.dtype) // 32
            assert product.result_registers == registers


def test_a_result_of_more_registers_than_a_thread_has_is_a_finding() -> None:
    found = [
        lint(Schedule(kernel("layouts", "product", block_M=m, block_N=256)), load_machine("sm80")) for m in (64, 256)
    ]
    messages = [[f.message for f in findings if f.code == "register-overflow"] for findings in found]
    assert messages == [[], ["C_local of gemm takes 512 registers of each of 128 threads, which have at most 255"]]


@pytest.mark.parametrize(("unit", "kind"), [("mma", None), ("wgmma", "unknown")])
def test_an_option_that_switches_bulk_copies_off_leaves_the_layout_open(unit: Unit, kind: str | None) -> None:
    text = (
        (KERNELS / "layouts.py")
        .read_text()
        .replace(
            "@tilelang.jit(out_idx=[-1])",
            "@tilelang.jit(pass_configs={tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True})",
        )
    )
    program = read_nested_program(programs_in(text, "kernel.py").programs[1], "kernel.py", {})[0].program
    assert isinstance(program, PrimFunc)
    layouts = {buffer.name: layout.kind for buffer, layout in stored_layouts(program, unit).items()}
    assert layouts.get("turned") == kind
