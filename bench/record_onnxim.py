"""ONNXim's cycles for GEMMs and convolutions on weight-stationary arrays, recorded for the tests.

It needs ONNXim's executable and the package onnx:

    python -m venv onnx && onnx/bin/pip install onnx numpy
    onnx/bin/python bench/record_onnxim.py --simulator path/to/Simulator     # writes the tests' file, four minutes

ONNXim: github.com/PSAL-POSTECH/ONNXim, commit a1e8629. Its simple memory serves each request after a fixed latency, and its simple network
moves one request of 32 bytes per port and cycle, so cycles depend on the core alone. `SimpleDram::_last_finish_cycle` has no initial value;
build with 0, or the simulator may not end. The memories Ramulator 2 and Booksim 2 are not needed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import re
import subprocess
import tempfile
import time
from math import prod
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "tests" / "conformance" / "recorded" / "onnxim.json"
COMMIT = "a1e8629"
GEMMS, CONVOLUTIONS = 210, 90
SCRATCHPADS = {8: (64, 16), 16: (256, 64), 32: (512, 128), 64: (2048, 512), 128: (8192, 2048)}
"""By the array's rows and columns: KiB of the scratchpad and of the accumulator; each half holds one tile."""
ELEMENT_BYTES, SUM_BYTES, REQUEST_BYTES = 2, 4, 32
UNITS = ("add", "mul", "mac", "exp", "gelu", "div", "add_tree", "scalar_sqrt", "scalar_add", "scalar_mul")


def configuration(size: int, ports: int) -> dict[str, Any]:
    """One core with an array of size x size, and a memory of `ports` requests per cycle."""
    pad, accumulator = SCRATCHPADS[size]
    core = {
        "core_type": "systolic_ws", "core_width": size, "core_height": size, "spad_size": pad, "accum_spad_size": accumulator,
        "sram_width": 32, "vector_process_bit": 65536, **{f"{unit}_latency": 1 for unit in UNITS},
    }  # fmt: skip
    return {
        "num_cores": 1, "core_freq": 1000, "core_print_interval": 10**9, "core_config": {"core_0": core},
        "dram_type": "simple", "dram_freq": 1000, "dram_channels": ports, "dram_req_size": REQUEST_BYTES, "dram_latency": 10,
        "dram_size": 16, "dram_nbl": 1, "dram_print_interval": 10**9, "icnt_type": "simple", "icnt_latency": 1, "icnt_freq": 1000,
        "icnt_injection_ports_per_core": ports, "icnt_config_path": "", "precision": ELEMENT_BYTES, "layout": "NHWC",
        "scheduler": "simple",
    }  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """Random shapes and tiles: products with few rows (decoding) or whole folds of rows, odd columns; convolutions of 1 x 1 and 3 x 3.

    ONNXim reads only square images as NHWC.
    """
    rng = random.Random(20261123)
    found: list[dict[str, Any]] = []
    while len(found) < GEMMS + CONVOLUTIONS:
        size = rng.choice(list(SCRATCHPADS))
        case = {"size": size, "ports": rng.choice((1, 4, 16, 16)) if len(found) < GEMMS else 16}
        case |= _gemm(rng, size) if len(found) < GEMMS else _convolution(rng, size)
        if _fits(case):
            found.append(case)
    return found


def _gemm(rng: random.Random, size: int) -> dict[str, Any]:
    rows = rng.choice((rng.randint(1, size), rng.randint(2, 24) * size, rng.randint(2, 24) * size))
    columns = rng.choice((rng.randint(2, 24) * size, rng.randint(2 * size, 24 * size)))
    shape = (rows, columns, rng.randint(1, 16) * size)
    return {"kind": "gemm", "shape": shape, "tile": tuple(rng.randint(2, 6) * size for _ in shape)}


def _convolution(rng: random.Random, size: int) -> dict[str, Any]:
    window = rng.choice((1, 3))
    side = rng.randint(1, 4) * rng.choice((7, 8))
    shape = (side, side, rng.randint(1, 6) * size, rng.randint(2, 8) * size, window)
    tile = (rng.choice((7, 8, 14, 16)), rng.choice((7, 8, 14, 16)), rng.randint(1, 3) * size, rng.randint(2, 6) * size)
    return {"kind": "convolution", "shape": shape, "tile": tile}


def _fits(case: dict[str, Any]) -> bool:
    """Whether a tile fits into half of each memory, and the slots of the reduction's tiles alternate across output tiles too."""
    pad, accumulator = (n * 1024 // 2 for n in SCRATCHPADS[case["size"]])
    whole = case["shape"][:4] if case["kind"] == "convolution" else case["shape"]
    unit = case["size"] if case["kind"] == "gemm" else 1
    tile = case["tile"] = [min(t, -(-n // unit) * unit) for t, n in zip(case["tile"], whole, strict=True)]
    if case["kind"] == "gemm":
        rows, columns, depth = tile
        operands, sums = (rows + columns) * depth, rows * columns
        reduction = -(-whole[2] // depth)
    else:
        height, width, filters, channels = tile
        window = case["shape"][4]
        operands = ((height + window - 1) * (width + window - 1) + filters * window**2) * channels
        sums, reduction = height * width * filters, -(-whole[3] // channels)
        if any(n % t for n, t in zip(whole, tile, strict=True)):
            return False
    tiles = prod(-(-n // t) for n, t in zip(whole, tile, strict=True))
    even = reduction == 1 or reduction % 2 == 0
    return even and 4 <= tiles <= 600 and operands * ELEMENT_BYTES <= pad and sums * SUM_BYTES <= accumulator


def model(case: dict[str, Any]) -> Any:
    """The ONNX model of one operator."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    if case["kind"] == "gemm":
        m, n, k = case["shape"]
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name="gemm")
        x, w, y = [m, k], (k, n), [m, n]
    else:
        height, width, filters, channels, window = case["shape"]
        node = helper.make_node(
            "Conv", ["x", "w"], ["y"], name="convolution", kernel_shape=[window] * 2, pads=[0] * 4, strides=[1, 1],
            dilations=[1, 1], group=1,
        )  # fmt: skip
        x, w = [1, channels, height + window - 1, width + window - 1], (filters, channels, window, window)
        y = [1, filters, height, width]
    graph = helper.make_graph(
        [node], "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT16, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, y)], [numpy_helper.from_array(np.zeros(w, np.float16), "w")],
    )  # fmt: skip
    return helper.make_model(graph)


def mapping(case: dict[str, Any]) -> str:
    """ONNXim's mapping: extents of all loops, of the loops over tiles, and of a tile. Its N are rows, its M columns, its C the depth."""
    if case["kind"] == "gemm":
        names, whole, rest = ("N", "M", "C"), case["shape"], ""
    else:
        window = case["shape"][4]
        names, whole, rest = ("Q", "P", "M", "C"), case["shape"][:4], f" S{window} R{window}"
    outer = [-(-n // t) for n, t in zip(whole, case["tile"], strict=True)]
    rows = "" if case["kind"] == "gemm" else "N1 "

    def level(extents: Any, window: str) -> str:
        return rows + " ".join(f"{name}{extent}" for name, extent in zip(names, extents, strict=True)) + window

    return (
        f"[T] {level(whole, rest)} - [O] {level(outer, ' S1 R1' if rest else '')} - [I] {level(case['tile'], rest)}\n"
    )


def run(simulator: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Runs one case: the cycles until the last result is in memory, and the processor time."""
    import onnx

    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        folder = home / "models" / "case"
        folder.mkdir(parents=True)
        onnx.save(model(case), folder / "case.onnx")
        (folder / "case.mapping").write_text(mapping(case))
        (home / "core.json").write_text(json.dumps(configuration(case["size"], case["ports"])))
        (home / "models.json").write_text(json.dumps({"models": [{"name": "case", "request_time": 0}]}))
        command = [
            str(simulator),
            "--config",
            str(home / "core.json"),
            "--models_list",
            str(home / "models.json"),
            "--log_level",
            "info",
        ]
        start = time.monotonic()
        result = subprocess.run(
            command, check=False, env={**os.environ, "ONNXIM_HOME": name}, capture_output=True, text=True, timeout=120
        )
        seconds = time.monotonic() - start
    output = result.stdout + result.stderr
    found = re.search(r"Simulation Finished at (\d+) cycle", output)
    if found is None:
        raise RuntimeError(f"{case}: no result\n{output[-1000:]}")
    return {**case, "cycles": int(found[1]), "seconds": round(seconds, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Records ONNXim's cycles for GEMMs and convolutions.")
    parser.add_argument("--simulator", type=Path, required=True, help="ONNXim's executable")
    simulator = parser.parse_args().simulator
    rows = [run(simulator, case) for case in cases()]
    head = {
        "tool": "ONNXim",
        "commit": COMMIT,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "scratchpads": SCRATCHPADS,
        "request_bytes": REQUEST_BYTES,
        "regenerate": "bench/record_onnxim.py",
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    RECORDED.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
