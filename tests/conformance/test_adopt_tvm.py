"""Import of TVM's modules and traces: the replayed schedule gives TVM's module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from support.programs.sources import MATMUL, MATMUL_RELU
from support.tvm.oracle import assert_same_program, tvm_parse

from tilewright import TilewrightError, from_tvm, from_tvm_trace
from tilewright.engine.ir import IRModule, first_difference
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm


def tiled(sch: Any) -> None:
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=sch.sample_perfect_tile(i, n=2, decision=[16, 8]))
    j0, j1, j2 = sch.split(j, factors=sch.sample_perfect_tile(j, n=3, decision=[4, 8, 4]))
    k0, k1 = sch.split(k, factors=[None, 8])
    sch.reorder(i0, j0, k0, i1, j1, k1, j2)
    sch.annotate(block, "unroll", sch.sample_categorical([16, 64, 256], [0.3, 0.3, 0.4]))
    for side in (0, 1):
        copy = sch.cache_read(block, side, "shared")
        sch.compute_at(copy, k0, preserve_unit_loops=True)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), j0)
    sch.bind(i0, "blockIdx.x")
    sch.enter_postproc()
    sch.decompose_reduction(block, k0)


def located(sch: Any) -> None:
    block = sch.get_sblock("C")
    copy = sch.cache_read(block, 0, "shared")
    sch.compute_at(copy, sch.sample_compute_location(copy), preserve_unit_loops=True)
    other = sch.cache_read(block, 1, "shared")
    sch.compute_at(other, sch.sample_compute_location(other), preserve_unit_loops=True)


def fused(sch: Any) -> None:
    relu = sch.get_sblock("relu")
    loop = sch.fuse(*sch.get_loops(relu))
    sch.split(loop, factors=[None, 32])
    (producer,) = sch.get_producers(relu)
    assert producer is not None
    sch.parallel(sch.get_loops(relu)[0])
    sch.set_scope(producer, 0, "local")


def mapped(sch: Any) -> None:
    block = sch.get_sblock("C")
    copy = sch.cache_read(block, 0, "shared")
    sch.transform_layout(copy, ("write", 0), lambda m, k: [m // 16, k, m % 16])
    sch.annotate(copy, "note", {"a": 1, "b": [1.5, "x"]})
    sch.unannotate(copy, "note")


@pytest.mark.sample(5)
@pytest.mark.parametrize("form", ["object", "text", "lines", "json"])
@pytest.mark.parametrize(
    ("text", "calls"),
    [(MATMUL, tiled), (MATMUL, located), (MATMUL_RELU, fused), (MATMUL, mapped)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_a_trace_of_tvm_gives_its_module(text: str, calls: Callable[[Any], None], form: str) -> None:
    if form == "json" and calls is mapped:
        pytest.skip("TVM 0.27 itself stops when an index map is to become JSON")
    for seed in range(1, 5):
        module = tvm_parse(text)
        theirs = tvm.s_tir.Schedule(module, seed=seed)
        calls(theirs)
        trace = theirs.trace
        given = {"object": trace, "text": str(trace), "lines": list(trace.as_python())}.get(form) or trace.as_json()
        ours = from_tvm_trace(given, module)
        assert_same_program(to_script(ours.mod), theirs.mod)


@pytest.mark.parametrize("text", [MATMUL, MATMUL_RELU])
def test_modules_functions_and_schedules_are_imported(text: str) -> None:
    module = tvm_parse(text)
    program = parse(text).program
    ours = program.functions[0] if isinstance(program, IRModule) else program
    (function,) = module.functions.values()
    for found in (from_tvm(module), from_tvm(function), from_tvm(tvm.s_tir.Schedule(module))):
        func = found.functions[0] if isinstance(found, IRModule) else found
        assert first_difference(replace(func, attrs=ours.attrs), ours) is None
        assert Schedule(found).func.params[0].dtype == "handle"


def test_relax_functions_are_skipped() -> None:
    relax = pytest.importorskip("tvm.relax")
    nn = pytest.importorskip("tvm.relax.frontend.nn")

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Linear(48, 64)
            self.relu1 = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.relu1(self.fc1(x))

    module, _ = Model().export_tvm(spec={"forward": {"x": nn.spec.Tensor((1, 48), "float32")}})
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    passes += [relax.transform.FuseOps(fuse_opt_level=4), relax.transform.FuseTIR()]
    lowered = tvm.transform.Sequential(passes)(module)
    ours = from_tvm(lowered)
    assert isinstance(ours, IRModule)
    names = {v.name_hint for v, f in lowered.functions.items() if isinstance(f, tvm.tirx.PrimFunc)}
    assert {f.name for f in ours.functions} == names


@pytest.mark.slow
def test_intrinsic_that_only_tvm_has_is_imported() -> None:
    from tvm.s_tir.tensor_intrin import cuda  # registers the intrinsics

    assert cuda.WMMA_FILL_16x16x16_F32_INTRIN
    text = """\
@T.prim_func(s_tir=True)
def main(C: T.Buffer((16, 16), "float32", scope="wmma.accumulator")):
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
"""
    module = tvm_parse(text)
    theirs = tvm.s_tir.Schedule(module)
    theirs.tensorize(theirs.get_loops(theirs.get_sblock("C"))[0], cuda.WMMA_FILL_16x16x16_F32_INTRIN)
    ours = from_tvm_trace(theirs.trace, module)
    assert next(iter(ours.tensorized.values())).name == cuda.WMMA_FILL_16x16x16_F32_INTRIN
    assert_same_program(to_script(ours.mod), theirs.mod)
    with pytest.raises(TilewrightError) as caught:
        Schedule(text).tensorize("i", cuda.WMMA_FILL_16x16x16_F32_INTRIN)
    assert caught.value.code == "unknown-intrin", "other schedules do not change"
