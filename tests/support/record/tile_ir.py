"""Records the tile IR that TileLang 0.1.15 prints for the kernels of the tests.

Needs an environment with tilelang, which Tilewright does not need (`pip install tilelang==0.1.15 "apache-tvm-ffi<0.1.13"
"z3-solver<4.15.5"`): `python tests/support/record/tile_ir.py`. It runs on a machine without a GPU.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tilelang
from tilelang import tvm
from tilelang.cuda import pipeline
from tilelang.ir import GemmWarpPolicy
from tvm import tirx
from tvm.tirx.stmt_functor import post_order_visit

PASSES = (
    "MaterializeKernelLaunch", "AddWrapperForSingleBufStore", "LegalizeNegativeIndex", "InjectAssumes", "Simplify",
    "CanonicalizeLegacyReducer", "VerifyReducerEpoch", "VerifyBufferInit", "IfStmtBinding", "UnrollLoop", "Simplify", "PipelinePlanning",
)  # fmt: skip
"""TileLang's passes up to the planning of pipelines (`tilelang/cuda/pipeline.py`)."""
INFERRED = (
    "IfStmtBinding",
    "UnrollLoop",
    "Simplify",
    "PipelinePlanning",
    "InjectSoftwarePipeline",
    "Simplify",
    "LayoutInference",
)
"""The passes after the specialisation of warps, up to the inference of layouts."""
ROOM = Path(__file__).parents[2] / "engine" / "script" / "tilelang"
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gemm", "product", {"M": 50, "N": 41, "K": 27}),
    ("gemm", "product", {"M": 64, "N": 64, "K": 32, "turned": True}),
    ("eager", "norm", {"M": 40, "N": 24, "eps": 1e-5, "block_M": 16}),
    ("attention", "attention", {"heads": 2, "queries": 40, "keys": 56, "dim": 16, "is_causal": True}),
    ("attention", "attention", {"heads": 2, "queries": 40, "keys": 56, "dim": 16, "is_causal": False}),
    ("weights", "product", {"M": 20, "N": 24, "K": 64}),
    ("threads", "product", {"N": 13, "K": 40}),
    ("branch", "sparse", {"M": 40, "N": 64, "K": 96}),
    ("indices", "paged", {"pages": 10, "width": 6, "taken": 11}),
    *(("layouts", "product", {"block_M": m, "block_N": n, "block_K": k, "turned": turned, "dtype": dtype, "policy": policy})
      for m, n, k, turned, dtype, policy in (
          (128, 128, 32, False, "float16", 0), (64, 128, 64, True, "bfloat16", 1), (128, 64, 16, False, "float16", 2),
          (32, 32, 16, True, "float16", 0), (64, 64, 64, True, "int8", 0), (128, 96, 64, False, "float16", 1),
          (64, 64, 32, True, "float64", 0))),
    ("layouts", "transposed", {"layout": "none"}),
    ("layouts", "transposed", {"layout": "swizzled"}),
    ("layouts", "transposed", {"layout": "linear"}),
)  # fmt: skip
"""The file, the function, and the values of its parameters."""


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOM / "kernels" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pipelines(func: Any) -> dict[str, Any]:
    """Return the stages and orders that TileLang plans for the loops of a kernel on sm_80, and the slots of its tiles."""
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, tvm.target.Target({"kind": "c"}))
    module = tvm.IRModule({func.attrs["global_symbol"]: func})
    found: list[dict[str, list[int]]] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.For) and "software_pipeline_stage" in node.annotations:
            notes = {key: [int(n) for n in node.annotations[f"software_pipeline_{key}"]] for key in ("stage", "order")}
            found.append(notes)

    with target:
        module = tirx.transform.BindTarget(target)(module)
        for name in PASSES:
            module = getattr(tilelang.transform, name)()(module)
        piped = tilelang.transform.InjectSoftwarePipeline()(module)
    for planned in module.functions.values():
        post_order_visit(planned.body, visit)
    before, after = _shapes(module), _shapes(piped)
    slots = {
        name: int(after[name][0])
        for name, shape in before.items()
        if len(after[name]) == len(shape) + 1 and int(after[name][0]) > 1
    }
    return {"pipelines": found, "slots": slots}


def _layouts(func: Any, arch: str) -> dict[str, Any] | None:
    """Return the layouts that TileLang infers: for shared buffers the indices of an element as text, and a digest of the place of each; for
    fragments the elements of each thread.
    None if TileLang refuses the kernel."""
    target = tvm.target.Target({"kind": "cuda", "arch": arch}, tvm.target.Target({"kind": "c"}))
    module = tvm.IRModule({func.attrs["global_symbol"]: func})
    found: dict[str, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and "layout_map" in node.annotations:
            for buffer, layout in node.annotations["layout_map"].items():
                if buffer.scope().startswith("shared"):
                    found[buffer.name] = _described(layout)
                else:
                    found[buffer.name] = {"elements": int(np.prod([int(n) for n in layout.get_output_shape()]))}

    with target:
        module = tirx.transform.BindTarget(target)(module)
        module = tilelang.transform.MaterializeKernelLaunch()(module)
        module = tilelang.cuda.transform.AnnotateDeviceBoundTmaCopies()(module)
        for name in PASSES[1:8]:
            module = getattr(tilelang.transform, name)()(module)
        if pipeline.allow_warp_specialized(target=target):
            module = tilelang.cuda.transform.MaterializeWSSchedule()(module)
            module = tilelang.cuda.transform.ProducerConsumerWarpSpecialized()(module)
        try:
            for name in INFERRED:
                module = getattr(tilelang.transform, name)()(module)
        except tvm.error.InternalError:
            return None
    for inferred in module.functions.values():
        post_order_visit(inferred.body, visit)
    return found


def _launch(func: Any, arch: str) -> dict[str, Any] | None:
    """Return the threads of a block, and the offsets of the shared buffers in their allocation, with its bytes; None if TileLang refuses
    the kernel."""
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    try:
        with target:
            made = tilelang.lower(func, target=target)
    except tvm.error.InternalError:
        return None
    texts = [function.script() for function in made.device_mod.functions.values()]
    size = [int(n) for text in texts for n in re.findall(r'dyn_shared_memory_buf"?:? ?(\d+)', text)]
    threads = [int(n) for text in texts for n in re.findall(r'launch_thread\("threadIdx.x", (\d+)\)', text)]
    placed = re.findall(r"void\* (\w+) = \(\(void\*\)\(\(char\*\)buf_dyn_shmem \+ (\d+)\)\)", str(made.kernel_source))
    return {"threads": threads[0], "bytes": max(size, default=0), "offsets": {name: int(at) for name, at in placed}}


def _described(layout: Any) -> dict[str, Any]:
    shape = [int(n) for n in layout.get_input_shape()]
    names = dict(zip(("_i", "_j", "_k", "_l"), np.indices(shape), strict=False))
    index = [str(e) for e in layout.get_forward_index()]
    place = np.zeros(shape, np.int64)
    for text, extent in zip(index, layout.get_output_shape(), strict=True):
        place = place * int(extent) + eval(text, {"T": _Operators}, names)
    return {"shape": shape, "index": index, "digest": hashlib.sha1(place.tobytes()).hexdigest()}


class _Operators:
    """The functions in the text of an index."""

    bitwise_xor = staticmethod(np.bitwise_xor)


def _shapes(module: Any) -> dict[str, list[Any]]:
    """Return the shapes of the buffers that a kernel allocates."""
    found: dict[str, list[Any]] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock):
            found.update({buffer.name: list(buffer.shape) for buffer in node.alloc_buffers})

    for func in module.functions.values():
        post_order_visit(func.body, visit)
    return found


def _warps() -> list[list[Any]]:
    """Return TileLang's partitions of products: rows, columns, threads, policy, instruction, and the warps along both, None if refused."""
    found: list[list[Any]] = []
    for unit, arch in (("mma", "sm_80"), ("wgmma", "sm_90")):
        target = tvm.target.Target({"kind": "cuda", "arch": arch}, tvm.target.Target({"kind": "c"}))
        for rows, columns, threads, policy in product(
            (16, 64, 96, 128, 256), (8, 16, 64, 128, 192), (128, 256, 384), range(3)
        ):
            warps = GemmWarpPolicy(policy_type=policy, m_warp=0, n_warp=0)
            try:
                pair = [int(n) for n in warps.compute_warp_partition(rows, columns, threads, target, f"cuda.{unit}")]
            except tvm.error.InternalError:
                pair = None
            found.append([rows, columns, threads, policy, unit, pair])
    return found


def main() -> None:
    (ROOM / "warps.json").write_text("[\n" + ",\n".join(map(json.dumps, _warps())) + "\n]\n")
    found: list[dict[str, Any]] = []
    for name, function, given in CALLS:
        func = getattr(_module(name), function).get_tir(**given)
        found.append(
            {
                "file": name,
                "given": given,
                **_pipelines(func),
                "layouts": {arch: _layouts(func, arch) for arch in ("sm_80", "sm_90")},
                "launch": {arch: _launch(func, arch) for arch in ("sm_80", "sm_90")},
                "text": func.script(),
            }
        )
    (ROOM / "printed.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
