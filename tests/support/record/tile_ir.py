"""Records the tile IR that TileLang 0.1.15 prints for the kernels of the tests.

Needs an environment with tilelang, which Tilewright does not need (`pip install tilelang==0.1.15 "apache-tvm-ffi<0.1.13"
"z3-solver<4.15.5"`): `python tests/support/record/tile_ir.py`. It runs on a machine without a GPU.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import tilelang
from tilelang import tvm
from tvm import tirx
from tvm.tirx.stmt_functor import post_order_visit

PASSES = (
    "MaterializeKernelLaunch", "AddWrapperForSingleBufStore", "LegalizeNegativeIndex", "InjectAssumes", "Simplify",
    "CanonicalizeLegacyReducer", "VerifyReducerEpoch", "VerifyBufferInit", "IfStmtBinding", "UnrollLoop", "Simplify", "PipelinePlanning",
)  # fmt: skip
"""TileLang's passes up to the planning of pipelines (`tilelang/cuda/pipeline.py`)."""
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


def _shapes(module: Any) -> dict[str, list[Any]]:
    """Return the shapes of the buffers that a kernel allocates."""
    found: dict[str, list[Any]] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock):
            found.update({buffer.name: list(buffer.shape) for buffer in node.alloc_buffers})

    for func in module.functions.values():
        post_order_visit(func.body, visit)
    return found


def main() -> None:
    found: list[dict[str, Any]] = []
    for name, function, given in CALLS:
        func = getattr(_module(name), function).get_tir(**given)
        found.append({"file": name, "given": given, **_pipelines(func), "text": func.script()})
    (ROOM / "printed.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
