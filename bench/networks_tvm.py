"""Networks with and without their schedules on TVM's compiler for the CPU: `python bench/networks_tvm.py MODEL_FOLDER... [--c]`.

Both modules get the same random inputs and weights. "error" is the largest relative difference of an element, "fault" that of the
scheduled module with one operator exchanged, which must be seen. `--c` also compiles the C export with the machine's compiler and compares
it with the unscheduled module.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from msgspec.structs import replace

from tilewright.app.document.networks import NetworkNotebook, load_network
from tilewright.engine.ir import Network, build
from tilewright.engine.network import network_c, network_tvm_python, prepared_calls

MOST = 1e-4
"""The largest relative error of an element that counts as equal."""

LEAST = 1e-30
"""Smaller results, close to the smallest float32, do not count."""


def unprepared(network: Network) -> Network:
    """The network without the calls that prepare weights: their results become weights.

    The networks of the package `onnx` fill each weight with one number, which would hide an exchange of elements."""
    graph = network.graph
    prepared = prepared_calls(graph)
    calls = tuple(call for at, call in enumerate(graph.calls) if at not in prepared)
    computed = {t for call in calls for t in call.results}
    read = dict.fromkeys(t for call in calls for t in call.arguments)
    weights = tuple(t for t in read if t not in computed and t not in graph.inputs)
    names = {call.kernel for call in calls}
    kernels = tuple(f for f in network.kernels if f.name in names)
    return Network(replace(graph, calls=calls, weights=weights), kernels)


GAINS = (1.0, 0.6, 0.4, 0.25, 0.15)
"""Factors of the weights: sums along branches grow, and a softmax of large values has one result that is not zero."""


def random_arrays(network: Network, sizes: Mapping[str, int], gain: float) -> list[np.ndarray]:
    """Inputs and weights whose products neither grow nor vanish if `gain` is 1; vectors are positive, since some are variances."""
    generator = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for tensor in network.graph.parameters:
        shape = [build.int_value(e) or sizes[e.name] for e in tensor.shape]  # type: ignore[attr-defined]
        if not tensor.dtype.startswith("float"):
            array = np.zeros(shape)
        elif sum(extent > 1 for extent in shape) < 2:
            array = generator.uniform(0.5, 1.5, shape)
        else:
            array = generator.standard_normal(shape) * gain * sqrt(2 / max(1, prod(shape[1:])))
        found.append(array.astype(tensor.dtype))
    return found


def compiled(text: str, folder: Path, name: str) -> Any:
    """TVM's virtual machine for an exported file. TVM reads its source, so it is imported from a file."""
    (folder / f"{name}.py").write_text(text)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.build()


def ran(machine: Any, name: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    found = machine[name](*map(tvm.runtime.tensor, arrays))
    return [found.numpy()] if hasattr(found, "numpy") else [tensor.numpy() for tensor in found]


def ran_c(
    network: Network, model: NetworkNotebook, arrays: list[np.ndarray], expected: list[np.ndarray], folder: Path
) -> list[np.ndarray]:
    compiler = shutil.which("cc")
    assert compiler is not None, "no C compiler on the path"
    (folder / "net.c").write_text(network_c(network, model.scheduled, model.sizes))
    subprocess.run([compiler, "-std=c11", "-O2", "-o", str(folder / "net"), str(folder / "net.c"), "-lm"], check=True)
    (folder / "in").write_bytes(b"".join(a.tobytes() for a in arrays))
    subprocess.run([str(folder / "net"), str(folder / "in"), str(folder / "out")], check=True)
    data, found, at = (folder / "out").read_bytes(), list[np.ndarray](), 0
    for array in expected:
        found.append(np.frombuffer(data[at : at + array.nbytes], array.dtype).reshape(array.shape))
        at += array.nbytes
    return found


def varies(results: list[np.ndarray]) -> bool:
    """Whether results are finite and differ between elements, so that a wrong kernel changes them."""
    return all(np.isfinite(e).all() and len(np.unique(e[np.abs(e) > LEAST])) > e.size / 2 for e in results)


def unscheduled_results(
    machine: Any, network: Network, sizes: Mapping[str, int]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The arrays with the largest gain whose results vary, and these results."""
    for gain in GAINS:
        arrays = random_arrays(network, sizes, gain)
        results = ran(machine, network.graph.name, arrays)
        if varies(results):
            return arrays, results
    raise AssertionError(f"the results of {network.graph.name} are nearly all equal for every gain")


def error(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest relative difference of an element. A softmax of large values has very small elements, which are the most sensitive."""
    worst = 0.0
    for f, e in zip(found, expected, strict=True):
        counted = np.abs(e) > LEAST
        worst = max(worst, float((np.abs(f.astype("float64") - e)[counted] / np.abs(e[counted])).max()))
    return worst


def with_a_fault(text: str) -> str:
    """An export in which one operator of a kernel is another: the comparison must see it."""
    return text.replace("T.max(", "T.min(", 1)


def main() -> None:
    paths = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    print(
        f"{'network':16}{'functions':>10}{'scheduled':>10}{'compile, s':>12}{'TVM error':>12}{'fault':>12}{'C error':>12}"
    )
    for path in paths:
        model = load_network(path)
        network = unprepared(model.network)
        name = network.graph.name
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            plain = compiled(network_tvm_python(network), folder, f"plain_{path.stem}")
            arrays, expected = unscheduled_results(plain, network, model.sizes)
            text = network_tvm_python(network, model.scheduled)
            begun = time.process_time()
            machine = compiled(text, folder, f"scheduled_{path.stem}")
            seconds = time.process_time() - begun
            tvm_error = error(ran(machine, name, arrays), expected)
            faulty = compiled(with_a_fault(text), folder, f"faulty_{path.stem}")
            fault = error(ran(faulty, name, arrays), expected)
            assert fault > MOST >= tvm_error, f"{path.stem}: error {tvm_error:.1e}, with a fault {fault:.1e}"
            c_error = (
                f"{error(ran_c(network, model, arrays, expected, folder), expected):>12.1e}"
                if "--c" in sys.argv
                else ""
            )
        counts = f"{len(network.kernels):>10}{len(model.scheduled.keys() & {f.name for f in network.kernels}):>10}"
        print(f"{path.stem:16}{counts}{seconds:>12.1f}{tvm_error:>12.1e}{fault:>12.1e}{c_error}", flush=True)


if __name__ == "__main__":
    main()
