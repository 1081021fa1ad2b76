"""Writes docs/public-figures.md: published figures of real machines beside those of the presets. Run it when a test
reports that the page is out of date:

PYTHONPATH=tests python -m support.record.public_figures
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.schedules.published import (
    Window,
    gemmini_convolution,
    gemmini_product,
    strided_warps,
    tpu_layer,
    vta_convolution,
)

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.hwsim.simulate import replayed

PAGE = Path(__file__).parents[3] / "docs" / "public-figures.md"

TPU = "arXiv 1704.04760"
TVM = "TVM, OSDI 2018 (arXiv 1802.04799), section 4.4"
CUDA = "CUDA C++ programming guide, shared memory"
FIRESIM = "lorikjashari/OpenASDx, llm/fpga/f2/FIRESIM.md"
CELLS = 256 * 256


@dataclass(frozen=True)
class Figure:
    """A published figure and the simulated one, in the same unit."""

    name: str
    source: str
    unit: str
    published: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative error of the simulated figure."""
        return self.simulated / self.published - 1

    @property
    def row(self) -> str:
        return f"| {self.name} | {self.source} | {self.unit} | {self.published:,g} | {_number(self.simulated)} | {self.error:+.1%} |\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class Network:
    """A workload of the TPU paper: all its layers as one product of `rows` x `depth` x `columns`. The shapes are assumed."""

    name: str
    rows: int
    depth: int
    columns: int
    tops: float
    useful: float
    """Useful multiply-adds in percent of the peak (table 3, row 2)."""


NETWORKS = (
    Network("MLP0", 200, 2048, 5 * 2048, 12.3, 12.5),
    Network("MLP1", 168, 1024, 4 * 1280, 9.7, 9.4),
    Network("LSTM0", 64, 1024, 24 * 2048, 3.7, 8.2),
    Network("LSTM1", 96, 768, 37 * 1280, 2.8, 6.3),
    Network("CNN0", 8 * 19 * 19, 9 * 256, 16 * 256, 86.0, 78.2),
)


def tpu_figures() -> Iterator[Figure]:
    machine = load_machine("tpu-v1")
    hertz = machine.clock_hz
    yield Figure("TPU v1, peak", f"{TPU}, table 2", "TOPS", 92, 2 * CELLS * hertz / 1e12)
    read = next(m for m in machine.memories if m.name == "weights").read_bytes_per_cycle
    yield Figure(
        "TPU v1, ridge of the roofline", f"{TPU}, figure 5", "multiply-adds per weight byte", 1350, CELLS / read
    )
    for n in NETWORKS:
        cycles = simulate(tpu_layer(n.rows, n.depth, n.columns).func, machine).cycles
        done = n.rows * n.depth * n.columns
        yield Figure(f"TPU v1, {n.name}", f"{TPU}, table 3, row 9", "TOPS", n.tops, 2 * done / cycles * hertz / 1e12)
        yield Figure(f"TPU v1, {n.name}", f"{TPU}, table 3, row 2", "% useful", n.useful, 100 * done / CELLS / cycles)


BEST = {1: (28, 128, 128, (14, 64, 32)), 2: (14, 256, 256, (14, 64, 16))}
"""The convolution and tiles with the highest utilisation, by slots. All four 3 x 3 convolutions of ResNet-18 with stride 1 were tried, in
up to 12 tilings each.
"""


def vta_figures() -> Iterator[Figure]:
    for slots, published, words in ((1, 70, "without latency hiding"), (2, 88, "with latency hiding")):
        size, channels, filters, tile = BEST[slots]
        cycles = simulate(vta_convolution(size, channels, filters, tile, slots).func, load_machine("vta")).cycles
        done = 9 * size * size * channels * filters
        yield Figure(f"VTA, ResNet-18 {words}", TVM, "% of peak", published, 100 * done / 256 / cycles)


PRODUCTS = (
    (12544, 64, 64, 1), (12544, 64, 256, 2), (12544, 256, 64, 4), (12544, 128, 256, 1), (3136, 128, 512, 3), (3136, 512, 128, 4),
    (3136, 512, 256, 1), (3136, 256, 512, 1), (784, 256, 1024, 5), (784, 1024, 256, 6), (784, 1024, 512, 1), (784, 512, 1024, 1),
    (196, 512, 2048, 2), (196, 2048, 512, 3), (196, 2048, 1024, 1), (4, 1000, 2048, 1),
)  # fmt: skip
"""The 1 x 1 convolutions of ResNet-50 and its last layer for four images, as products: rows, columns, depth, and how many there are."""

WINDOWS = (
    (Window(4, 112, 3, 64, 7, 2, (1, 2, 32, 3)), 1),
    (Window(4, 56, 64, 64, 3, 1, (1, 4, 32, 32)), 3),
    (Window(4, 28, 128, 128, 3, 2, (1, 4, 32, 32)), 1),
    (Window(4, 28, 128, 128, 3, 1, (1, 7, 32, 32)), 3),
    (Window(4, 14, 256, 256, 3, 2, (1, 7, 32, 32)), 1),
    (Window(4, 14, 256, 256, 3, 1, (1, 14, 32, 32)), 5),
    (Window(4, 7, 512, 512, 3, 2, (4, 7, 32, 32)), 1),
    (Window(4, 7, 512, 512, 3, 1, (4, 7, 32, 32)), 2),
)
"""The other convolutions, each in the fastest of 6 to 16 tiles, and their numbers."""


def gemmini_figures() -> Iterator[Figure]:
    machine = load_machine("gemmini")
    for name, shape, published in (("64 x 64 x 64", (64, 64, 64), 2597), ("128 x 256 x 256", (128, 256, 256), 39815)):
        cycles = simulate(gemmini_product(*shape).func, machine).cycles
        yield Figure(f"Gemmini, matmul {name}", FIRESIM, "cycles", published, cycles)
    done = cycles = 0
    for rows, columns, depth, count in PRODUCTS:
        done += count * rows * columns * depth
        cycles += count * simulate(gemmini_product(rows, columns, depth).func, machine).cycles
    for window, count in WINDOWS:
        done += count * window.products
        cycles += count * simulate(gemmini_convolution(window).func, machine).cycles
    yield Figure("Gemmini, ResNet-50", "ucb-bar/gemmini, pull request 90", "% of peak", 51, 100 * done / 256 / cycles)


BENCH = "ekondis/gpumembench"


def gpu_figures() -> Iterator[Figure]:
    machine = load_machine("gpu-sm")
    cycles = {}
    for degree in (1, 2, 4, 8, 16, 32):
        program, _ = replayed(strided_warps(degree).func, machine)
        (task,) = program.variants
        cycles[degree] = task.cost.duration
    width = 4096 / cycles[1]
    rate = 128 * width * machine.clock_hz / 1e9
    yield Figure("A100, shared memory of 128 SMs", "doi 10.1016/j.ultsonch.2023.106546, table 3", "GB/s", 23101, rate)
    yield Figure("P100, shared memory of 56 SMs, measured", f"{BENCH}, issue 2", "GB/s", 9276.18, width * 56 * 1.328)
    yield Figure(
        "GTX 480, shared memory of 15 SMs, measured", f"{BENCH}, README", "GB/s", 1482.81, width * 15 * 1.55 / 2
    )
    for degree in (2, 4, 8, 16, 32):
        name = f"GPU, bank conflict of degree {degree}"
        yield Figure(name, CUDA, "times the cycles of no conflict", degree, cycles[degree] / cycles[1])


HEAD = """\
# Published figures

Published figures of real machines beside those that the simulator gives for the presets. The error is (simulated - published) / published.
`PYTHONPATH=tests python -m support.record.public_figures` writes this page, and a test recomputes the table. The schedules are in
`tests/support/schedules/published.py`.

| figure | source | unit | published | simulated | error |
|---|---|---|---:|---:|---:|
"""

NOTES = """\

## Reading the table

The simulated machine is at most 6 % slower than the real one, except in LSTM0's row 2. It is often faster, because the model leaves out
hosts, PCIe, address translation, instruction fetch and dependences between layers. Compare schedules on one machine; do not take the
simulated time as the time of a chip.

**TPU v1.** The paper gives the number of layers, the weights and the batch, not the shapes of the layers. The shapes here are assumed,
with about as many weights (CNN0 18 % more); `NETWORKS` in `tests/support/record/public_figures.py` has them. A network is one product
with the columns of all its layers, so no layer waits for the previous one.

- MLP0 and MLP1 are 9 to 29 % faster here. The paper counts 17.5 and 31.9 % of the cycles as neither computing nor waiting for weights
  (row 6): PCIe, dependences, the host's instructions.
- Rows 2 and 9 of the paper disagree for LSTM0, LSTM1 and CNN0 (8.2 % of 92 TOPS is 7.5, not 3.7); it says that they "are not perfectly
  consistent". The roofline allows LSTM0 4.7 % of the peak.
- The error of LSTM1's TOPS is the largest of the table and unexplained. Its matrices are not multiples of 256, and its time steps wait
  for each other.
- CNN0 lies between both published figures. Here 12 % of the cycles wait for the activation unit, because the schedule has one set of
  sums.
- CNN1 is left out: the shapes of its 89 layers are unknown. Peak and ridge are figures of the machine file and check only its rounding.

**VTA.** Published is the highest utilisation over the layers of ResNet-18; simulated is the highest over its four 3 x 3 convolutions with
stride 1, in up to 12 tilings each. The tilings of the paper are unknown. Its FPGA runs at 200 MHz, the preset at 100 MHz, so the bytes of
DRAM per cycle may differ. Micro-op loads and instruction fetch are not simulated, which may explain the excess of 7 to 9 %.

**Gemmini.** The matmuls were measured on an FPGA that runs the RTL (FireSim, 16 x 16 cells, 256 KiB, 64 KiB); the tiles are those of
Gemmini's library.

- In the smaller matmul nothing repeats. The host's instructions, address translation and the latency of the L2 are not simulated, which
  may explain the 20 %.
- ResNet-50 is the figure of the authors for the whole network with four images (March 2021). Simulated are its 53 convolutions and the
  last layer. The 16 residual additions would leave 87 % of the peak. The rest is unexplained: pools, instructions, TLB misses and
  Gemmini's own tiles of convolutions are not simulated.

**GPU.** The bandwidth of the A100 and the conflicts are the vendor's rules, not measurements: 32 banks of 4 bytes, and a request with
n-way conflicts as n requests. The measured bandwidths are the best of accesses of 32, 64 and 128 bits; the simulated ones are 128 bytes
per cycle and SM at the clock of the benchmark (1328 MHz; the banks of the GTX 480 serve 32 bits in two of its 1550 MHz cycles).

**Searched without success**: utilisation of Gemmini by layer and its frames per second, latencies of shared memory by degree of conflict,
and recorded outputs of these projects' benchmarks. Of the papers on Gemmini (DAC 2021), ONNXim and microbenchmarks of GPUs (Mei and Chu
2017, Jia et al. 2018) no figures could be read. Cycles on the functional simulator Spike count instructions, so they are left out.
"""


def figures() -> tuple[Figure, ...]:
    return (*tpu_figures(), *vta_figures(), *gemmini_figures(), *gpu_figures())


def public_figures_page(rows: tuple[Figure, ...]) -> str:
    return HEAD + "".join(f.row for f in rows) + NOTES


if __name__ == "__main__":
    PAGE.write_text(public_figures_page(figures()), encoding="utf-8")
    print(f"{PAGE.name} is written")
