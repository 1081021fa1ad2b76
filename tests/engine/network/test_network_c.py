"""Networks as C: the compiled program computes the results of the graph on NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.networks.random_graphs import HEAD, kernel_text, staged
from support.pasted.relax_modules import IN_PLACE, MODEL, OPEN, SCALAR
from support.simulator.c_code import COMPILER, STRICT, needs_cc

from tilewright.engine.ir import Network, PrimFunc, TilewrightError, build
from tilewright.engine.network import merged, network_c, run_network
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

pytestmark = needs_cc


def arrays_of(network: Network, sizes: dict[str, int]) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    found = {}
    for tensor in network.graph.parameters:
        shape = [build.int_value(e) or sizes["n"] for e in tensor.shape]
        found[tensor.name] = generator.integers(-8, 8, shape).astype(tensor.dtype) / 8
    return found


def ran(text: str, network: Network, arrays: dict[str, Any], folder: Path) -> bytes:
    """The results of the compiled program, as it writes them."""
    (folder / "net.c").write_text(text)
    command = [str(COMPILER), *STRICT, "-O1", "-o", str(folder / "net"), str(folder / "net.c"), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    order = network.graph.parameters
    (folder / "in").write_bytes(b"".join(np.ascontiguousarray(arrays[t.name]).tobytes() for t in order))
    subprocess.run([str(folder / "net"), str(folder / "in"), str(folder / "out")], check=True, timeout=60)
    return (folder / "out").read_bytes()


CASES = {
    "several kernels": (MODEL, {}),
    "in place": (IN_PLACE, {}),
    "open sizes": (OPEN, {"n": 4}),
    "numbers": (SCALAR, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_network_computes_its_results(name: str, tmp_path: Path) -> None:
    text, sizes = CASES[name]
    network = merged(parse_network(text))
    arrays = (
        {"x": np.arange(-16, 16, dtype="float32").reshape(4, 8), "z": -np.ones((8, 8), "float32")}
        if sizes
        else arrays_of(network, sizes)
    )
    found = ran(network_c(network, {}, sizes), network, arrays, tmp_path)
    expected = run_network(network, arrays, sizes)
    assert found == b"".join(np.ascontiguousarray(result).tobytes() for result in expected)


@pytest.mark.slow
def test_compiled_network_with_schedules_has_the_same_results(tmp_path: Path) -> None:
    tensor = 'R.Tensor((64, 64), "float32")'
    main = f"""
    @R.function
    def main(a: {tensor}, w: {tensor}):
        cls = Module
        t0 = R.call_tir(cls.product, (a, w), out_ty={tensor})
        t1 = R.call_tir(cls.join, (t0, a), out_ty={tensor})
        return (t1, t0)
"""
    network = parse_network(HEAD + kernel_text("product") + kernel_text("join") + main)
    scheduled: dict[str, PrimFunc] = {
        "product": staged("product", 16, 2, "local.acc"), "join": staged("join", 8, 2, "local.vtcm")
    }  # fmt: skip
    arrays = arrays_of(network, {})
    expected = run_network(network, arrays)
    found = ran(network_c(network, scheduled), network, arrays, tmp_path)
    assert found == b"".join(np.ascontiguousarray(result).tobytes() for result in expected)


def test_an_open_size_without_a_value_is_named() -> None:
    with pytest.raises(TilewrightError, match="leaves the size n open"):
        network_c(parse_network(OPEN))


def test_a_wrong_input_file_names_its_tensor(tmp_path: Path) -> None:
    network = merged(parse_network(MODEL))
    schedule = Schedule(network["both"])
    text = network_c(network, {"both": schedule.func})
    arrays = arrays_of(network, {})
    ran(text, network, arrays, tmp_path)
    (tmp_path / "in").write_bytes(b"short")
    command = [str(tmp_path / "net"), str(tmp_path / "in"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "tensor 0 of 1024 bytes" in done.stderr
    done = subprocess.run(command[:1], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "usage" in done.stderr
