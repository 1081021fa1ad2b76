"""Flags and barriers between the pipes of an AI core order the tasks of the timeline, and slots of a text are slots."""

from __future__ import annotations

import numpy as np
import pytest
from support.tile_kernels import kernel, numbers

from tilewright.engine.execute import run
from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.ir import BlockRealize, walk
from tilewright.engine.script import expr_text

CORE = load_machine("ascend-910b")


def simulated(sync: str, m: int = 512, whole: int = 100) -> Report:
    return simulate(kernel("ascend_copies", "scaled", M=m, N=256, sync=sync), CORE, whole=whole)


def tokens(name: str, block: str) -> dict[str, list[tuple[str, str]]]:
    realizes = (
        n for n in walk(kernel("ascend_copies", "scaled", M=64, N=32, sync=name)) if isinstance(n, BlockRealize)
    )
    found = next(r.block for r in realizes if r.block.name == block)
    return {
        key: [(a.value, expr_text(b)) for a, b in value]
        for key, value in found.annotations
        if key in ("tl.awaits", "tl.signals") and isinstance(value, tuple)
    }


def test_flags_are_tokens_of_the_blocks_beside_them() -> None:
    assert tokens("flags", "x_copy") == {
        "tl.signals": [("MTE2 to V", "vk % 2")],
        "tl.awaits": [("V to MTE2", "vk % 2")],
    }
    assert tokens("flags", "y_mul") == {
        "tl.signals": [("V to MTE2", "vk % 2"), ("V to MTE3", "vk % 2")],
        "tl.awaits": [("MTE2 to V", "vk % 2"), ("MTE3 to V", "vk % 2")],
    }
    assert tokens("none", "x_copy") == {}


def test_needed_flags_cost_nothing_and_barriers_end_all_overlap() -> None:
    assert simulated("flags").cycles == simulated("none").cycles == 11_059
    report = simulated("barriers")
    steps = sum(cycles for engine in report.engines.values() for cycles in (engine.busy,) if engine.tasks)
    latencies = 16 * (400 + 19 + 400 + 400)  # of a read, of an operation, of a write; and the burst that follows
    assert steps < report.cycles <= steps + latencies
    waits = report.engines["mte2_vector"].waits
    assert [(w.cause, w.buffer, w.block) for w in waits] == [("flag", "barrier 3 (vector)", "Y_copy")]
    assert any(part.cause == "flag" and part.block == "Y_copy" for part in report.critical_path.parts)


@pytest.mark.parametrize("sync", ["flags", "barriers"])
def test_repeats_are_skipped_exactly(sync: str) -> None:
    short, whole = simulated(sync, 8192, 1), simulated(sync, 8192, 10**9)
    assert short.cycles == whole.cycles
    assert {n: e.stall for n, e in short.engines.items()} == {n: e.stall for n, e in whole.engines.items()}
    assert short.timeline.repeats and not whole.timeline.repeats


@pytest.mark.parametrize("sync", ["flags", "barriers"])
def test_meaning_does_not_depend_on_flags(sync: str) -> None:
    x = numbers(64, 32, dtype="float32")
    np.testing.assert_array_equal(run(kernel("ascend_copies", "scaled", M=64, N=32, sync=sync), {"X": x})["Y"], x * 2)


def test_slots_of_the_text_are_cells() -> None:
    places = simulated("none").program.places
    assert {p.buffer.name: p.cells for p in places.placements if not p.is_param} == {"x": 2, "y": 2}
    assert [p.label(p.first_cell + 1) for p in places.placements if p.buffer.name == "x"] == ["x#1"]
