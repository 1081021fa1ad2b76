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

ROOM = Path(__file__).parents[2] / "engine" / "script" / "tilelang"
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gemm", "product", {"M": 50, "N": 41, "K": 27}),
    ("gemm", "product", {"M": 64, "N": 64, "K": 32, "turned": True}),
    ("eager", "norm", {"M": 40, "N": 24, "eps": 1e-5, "block_M": 16}),
    ("attention", "attention", {"heads": 2, "queries": 40, "keys": 56, "dim": 16, "is_causal": True}),
    ("attention", "attention", {"heads": 2, "queries": 40, "keys": 56, "dim": 16, "is_causal": False}),
    ("weights", "product", {"M": 20, "N": 24, "K": 64}),
    ("threads", "product", {"N": 13, "K": 40}),
    ("indices", "paged", {"pages": 10, "width": 6, "taken": 11}),
)  # fmt: skip
"""The file, the function, and the values of its parameters."""


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOM / "kernels" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    found = [
        {"file": name, "given": given, "text": getattr(_module(name), function).get_tir(**given).script()}
        for name, function, given in CALLS
    ]
    (ROOM / "printed.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
