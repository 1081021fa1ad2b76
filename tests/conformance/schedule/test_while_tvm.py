"""Calls on loops below a `while` loop give what TVM gives."""

import pytest
from support.programs.while_programs import GEMM, TILES
from support.tvm.cache_kernels import hand_schedule
from support.tvm.oracle import assert_agrees, same_but_regions

from tilewright.engine.adopt import read_pasted
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm


def loops(sch, block):
    return sch.get_loops(sch.get_sblock(block))


def tiled(sch):
    i, j, k = loops(sch, "gemm")
    j0, j1 = sch.split(j, [None, 3])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(j0, k0, i, k1, j1)
    sch.decompose_reduction(sch.get_sblock("gemm"), k0)


CASES = {
    "split": (TILES, lambda s: s.split(loops(s, "copy")[0], [None, 5])),
    "vectorize": (TILES, lambda s: s.vectorize(s.split(loops(s, "copy")[0], [None, 4])[1])),
    "bind": (TILES, lambda s: s.bind(loops(s, "copy")[0], "threadIdx.x")),
    "unroll": (TILES, lambda s: s.unroll(loops(s, "copy")[0])),
    "unit loop": (TILES, lambda s: s.add_unit_loop(loops(s, "copy")[0])),
    "annotate": (TILES, lambda s: s.annotate(loops(s, "copy")[0], "note", 1)),
    "tiled": (GEMM, tiled),
    "fused": (GEMM, lambda s: s.fuse(*loops(s, "store"))),
    "scope": (GEMM, lambda s: s.set_scope(s.get_sblock("gemm"), 0, "shared")),
    "cache": (GEMM, lambda s: s.cache_read(s.get_sblock("gemm"), 0, "shared")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_around_a_while_loop_gives_what_tvm_gives(name):
    assert_agrees(*CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prefill False", "ragged", "mla", "tree", "paged tree", "sequence"])
def test_the_schedules_of_attention_kernels_give_what_tvm_gives(name):
    text, theirs = hand_schedule(name)
    program = parse(text).program
    ours = Schedule(program, "main")
    trace = "\n".join(line.strip() for line in str(theirs.trace).splitlines()[2:])
    replayed = read_pasted(f"sch = tvm.s_tir.Schedule(main)\n{trace}", program).schedule
    assert len(replayed.trace.steps) > len(ours.trace.steps)
    assert not same_but_regions(to_script(replayed.func), theirs.mod)
