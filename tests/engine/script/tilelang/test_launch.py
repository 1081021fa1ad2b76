"""The threads of a block and the addresses of its shared buffers are those that TileLang compiles."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.engine.execute import run
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.hwsim.tile_layouts import merged_shared, producer_threads, stored_layouts, threads_of_kernel
from tilewright.engine.hwsim.tile_layouts.merged import Interval, packed
from tilewright.engine.hwsim.tile_layouts.products import Unit
from tilewright.engine.ir import For, PrimFunc, TilewrightError, walk
from tilewright.engine.lower import planned
from tilewright.engine.script import parse

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "printed.json").read_text())
"""Made by `tests/support/record/tile_ir.py`."""
NAMED = pytest.mark.parametrize(
    "record", RECORDED, ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}"
)


def printed(record: dict[str, Any]) -> PrimFunc:
    program = parse(record["text"]).program
    assert isinstance(program, PrimFunc)
    return program


@NAMED
def test_producer_warps_are_those_of_the_compiler(record: dict[str, Any]) -> None:
    launch, func = record["launch"]["sm_90"], printed(record)
    threads = threads_of_kernel(func)
    if launch is None or threads is None or record["file"] == "threads":
        pytest.skip("TileLang refuses the kernel, or its threads have several axes")
    assert threads + (producer_threads(func, "wgmma") or 0) == launch["threads"]
    assert producer_threads(func, "mma") == 0


@NAMED
@pytest.mark.parametrize(("target", "unit"), [("sm_80", "mma"), ("sm_90", "wgmma")])
def test_shared_buffers_lie_where_the_compiler_places_them(record: dict[str, Any], target: str, unit: Unit) -> None:
    launch, func = record["launch"][target], printed(record)
    if launch is None:
        pytest.skip("TileLang refuses the kernel")
    stored = {buffer.name: layout for buffer, layout in stored_layouts(func, unit).items()}
    merged = merged_shared(func, planned(func).piped.func, unit, stored)
    if merged.reason:
        assert (record["file"], merged.reason) == ("eager", "a reduction over several warps has a workspace")
        return
    assert merged.reason == "" and merged.size_bytes == launch["bytes"]
    if launch["offsets"]:
        assert {re.sub(r"_\d+$", "", name): at for name, at in merged.offsets.items()} == launch["offsets"]


def test_free_memory_is_used_again() -> None:
    first, second = Interval("a", 96, 0, 1), Interval("b", 48, 0, 3)
    assert packed([first, second]) == ([0, 96], 144)
    assert packed([first, second, Interval("c", 32, 2, 3), Interval("d", 64, 2, 4)]) == ([0, 96, 64, 0], 144)
    assert packed([first, Interval("b", 200, 2, 3)]) == ([0, 0], 200)  # the last free block grows
    assert packed([Interval("a", 100, 0, 1), Interval("b", 8, 0, 1)]) == ([0, 112], 120)


def test_a_copy_of_elements_needs_as_many_producers_as_the_block_has_threads() -> None:
    text = """import tilelang.language as T


def main(n=4):
    @T.prim_func
    def main(A: T.Tensor((256, 64), "float16"), S: T.Tensor((256,), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256) as bx:
            a = T.alloc_shared((64, 64), "float16")
            s = T.alloc_shared((64,), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            for k in T.Pipelined(n, num_stages=2):
                T.copy(A[k * 64, 0], a)
                for i in T.Parallel(64):
                    s[i] = S[k * 64 + i]
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] + a[i, j] * s[i]
            T.copy(c, B)

    return main


main = main()
"""
    func = parse(text).program
    assert isinstance(func, PrimFunc)
    assert producer_threads(func, "wgmma") == 256
    single = parse(text.replace("T.Pipelined(n, num_stages=2)", "T.serial(n)")).program
    assert isinstance(single, PrimFunc) and producer_threads(single, "wgmma") == 0


PARTS = """import tilelang.language as T

@T.prim_func
def main(A: T.Tensor((4, 64), "float32"), P: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(4, threads=32) as b:
        row = T.alloc_fragment((64,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(A[b, 0], row)
        T.reduce_sum(row, total)
        T.copy(total, P[b])
        T.sync_grid()
        FILL
        for n in T.serial(4):
            total[0] = total[0] + P[n]
        B[b] = total[0]
"""


def test_statements_behind_a_barrier_of_all_blocks_are_a_second_loop_over_them() -> None:
    program = parse(PARTS.replace("FILL", "T.clear(total)")).program
    assert isinstance(program, PrimFunc)
    loops = [node for node in walk(program.body) if isinstance(node, For) and node.thread_tag]
    assert len({loop.loop_var for loop in loops}) == len(loops) == 2
    rows = np.arange(256, dtype=np.float32).reshape(4, 64)
    found = run(program, {"A": rows, "P": np.zeros(4, np.float32), "B": np.zeros(4, np.float32)})
    assert np.array_equal(found["B"], np.full(4, rows.sum()))
    machine = load_machine("a100").replace("levels.sm.barrier_cycles", 5_000)
    report = simulate(program, machine)
    assert report.chip is not None and [launch.barrier for launch in report.chip.launches] == [False, True]
    assert report.cycles > 5_000 and report.unknown is None
    assert not {f.code for f in report.findings} & {"barrier-too-many-blocks"}
    full = simulate(program, machine.replace("levels.sm.count", 1).replace("levels.sm.blocks", 2))
    assert "barrier-too-many-blocks" in {f.code for f in full.findings}


def test_a_tile_that_a_block_keeps_across_a_barrier_is_only_read() -> None:
    program = parse(PARTS.replace("FILL", "pass")).program
    assert isinstance(program, PrimFunc)
    with pytest.raises(TilewrightError, match="only read and printed"):
        simulate(program, load_machine("a100"))


def test_a_tile_that_is_filled_in_part_is_kept_across_a_barrier() -> None:
    again = "for i in T.Parallel(64):\n            row[i % 2] = T.float32(0)\n        T.reduce_sum(row, total)"
    program = parse(PARTS.replace("FILL", again)).program
    assert isinstance(program, PrimFunc)
    with pytest.raises(TilewrightError, match="only read and printed"):
        simulate(program, load_machine("a100"))
