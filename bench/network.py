"""The time of a network's report: `python bench/network.py [MODEL.onnx]`, processor time of one thread.

"cached" is a report whose kernels are all simulated, "one changed" one in which the schedule of one kernel is new, from its file to the
total: the median over the kernels of the network, and the largest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tilewright.app.document.networks import KERNELS, create_network, load_network
from tilewright.engine.hwsim import load_machine
from tilewright.engine.network import lowered_text
from tilewright.engine.script.relax import parse_network

MOST_KERNELS = 40
"""Kernels that are changed."""


def models() -> list[Path]:
    if len(sys.argv) > 1:
        return [Path(name) for name in sys.argv[1:]]
    import onnx

    light = Path(onnx.__file__).parent / "backend/test/data/light"
    return [light / f"light_{name}.onnx" for name in ("squeezenet", "resnet50", "densenet121")]


def main() -> None:
    print(
        f"{'network':24}{'calls':>7}{'kernels':>9}{'first, s':>10}{'cached, ms':>12}{'one changed, ms':>17}{'largest, ms':>13}"
    )
    for path in models():
        with tempfile.TemporaryDirectory() as folder:
            network = parse_network(lowered_text(path))
            file = create_network(network, Path(folder) / "net", path.stem, load_machine("dual-bank-npu"))
            begun = time.process_time()
            model = load_network(file)
            model.simulate()
            first = time.process_time() - begun
            begun = time.process_time()
            model.simulate()
            cached = time.process_time() - begun
            changed: list[float] = []
            for kernel in sorted((file.parent / KERNELS).glob("*.py"))[:MOST_KERNELS]:
                name = model.notebooks[kernel.stem].schedule.index.block_names[-1]
                kernel.write_text(kernel.read_text() + f'sch.annotate("{name}", "bench", 1)\n')
                begun = time.process_time()
                model = load_network(file, before=model)
                model.simulate()
                changed.append(time.process_time() - begun)
            counts = f"{len(network.graph.calls):>7}{len(model.notebooks):>9}"
            times = f"{first:>10.2f}{cached * 1e3:>12.1f}{median(changed) * 1e3:>17.1f}{max(changed) * 1e3:>13.1f}"
            print(f"{path.stem:24}{counts}{times}", flush=True)


if __name__ == "__main__":
    main()
