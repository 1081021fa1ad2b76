"""tensorize agrees with TVM for intrinsics of two functions, except for docs/differences.md."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from support.profile import samples
from support.programs.intrins import MMA_CALL, MMA_DESC, mma
from support.programs.sources import matmul
from support.tvm.oracle import REFUSALS, assert_same_program, tvm_schedule
from support.tvm.text import tvm_read

from tilewright.engine.schedule import Intrinsics, Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
pytestmark = [
    pytest.mark.tvm,
    pytest.mark.skipif(
        version("apache-tvm").startswith("0.27.") and version("apache-tvm-ffi") >= "0.1.15",
        reason="TVM 0.27 built for tvm-ffi 0.1.14 crashes in every tensorize (ToJSONGraph) with a newer one",
    ),
]


def tiled(sch: Any, factor: int = 16) -> Any:
    block = sch.get_sblock("C")
    pairs = [sch.split(loop, [None, factor]) for loop in sch.get_loops(block)]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    sch.decompose_reduction(block, pairs[2][0])
    return pairs


CASES = {
    "a tile": lambda s: s.tensorize(tiled(s)[0][1], "mma"),
    "a block": lambda s: s.tensorize(s.blockize(tiled(s)[0][1]), "mma"),
    "no units": lambda s: s.tensorize(tiled(s)[0][1], "mma", preserve_unit_iters=False),
    "another tile": lambda s: s.tensorize(tiled(s, 8)[0][1], "mma"),
    "a loop too many": lambda s: s.tensorize(tiled(s)[2][0], "mma"),
    "a loop too few": lambda s: s.tensorize(tiled(s)[1][1], "mma"),
    "the init": lambda s: (tiled(s), s.tensorize(s.get_loops(s.get_sblock("C_init"))[0], "mma")),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", samples([32, 16], 32))
def test_tensorize_as_tvm(name: str, size: int):
    own = Intrinsics()
    own.register("mma", mma().desc, mma().impl)
    tvm.s_tir.TensorIntrin.register("mma", tvm_read(MMA_DESC), tvm_read(MMA_CALL), True)
    text = matmul(size, size, size)
    ours, theirs = Schedule(parse(text).program, intrinsics=own), tvm_schedule(text)
    assert accepted(ours, name, (ScheduleError,)) == accepted(theirs, name, REFUSALS)
    if name in ("a tile", "a block", "no units"):
        assert_same_program(to_script(ours.mod), theirs.mod)


def accepted(schedule: Any, name: str, refusals: tuple[type[BaseException], ...]) -> bool:
    try:
        CASES[name](schedule)
    except refusals:
        return False
    return True
