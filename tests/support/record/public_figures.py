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
    """A workload of the TPU paper: all its layers as one product of `rows` x `depth` x `columns`. The shapes are assumed (see the page)."""

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
"""Its other convolutions, each in the fastest of 6 to 16 tiles, and how many there are."""


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

Figures that were published about real machines, beside those of the presets. The error is (simulated - published) / published.
`PYTHONPATH=tests python -m support.record.public_figures` writes this page; a test computes the table again. The schedules are in
`tests/support/schedules/published.py`.

| figure | source | unit | published | simulated | error |
|---|---|---|---:|---:|---:|
"""

NOTES = """\

## Differences and their reasons

**TPU v1.** The paper gives the number of layers, of weights and the batch (table 1), not the shapes of the layers. The shapes here are
assumed, with about as many weights (CNN0 18 % more): MLP0 5 x 2048 x 2048, MLP1 4 x 1024 x 1280, LSTM0 24 x 1024 x 2048, LSTM1 37 x 768
x 1280, CNN0 16 convolutions of 3 x 3 x 256 x 256 on 19 x 19 positions (2888 = 8 x 361 uses of a weight; one CNN is AlphaGo). A network
is simulated as one product with the columns of all its layers, so no layer waits for the previous one, and its first input is in the
unified buffer.

- MLP0 and MLP1 are 9 to 29 % faster here. The paper counts 17.5 and 31.9 % of the cycles as neither computing nor waiting for weights
  (row 6): input over PCIe, dependences between layers, the host's instructions. None of these is simulated. Cells without a useful
  weight (1.2 % of the cycles of MLP1) do not occur in the assumed shapes.
- The paper's rows 2 and 9 disagree for LSTM0, LSTM1 and CNN0: 8.2 % of 92 TOPS is 7.5, not 3.7. The paper says that the rows come from
  different measurements and "are not perfectly consistent". The roofline allows LSTM0 64 / 1350 of the peak, 4.7 %. Operands of 16
  bits, at half the speed, would double the active cycles of the array; the paper does not say which networks use them.
- LSTM1 has 4.2 % of unused cells in its 10.5 % active cycles (row 3), so its matrices are not multiples of 256. The error of its TOPS
  is the largest of the table and unexplained: its vector layers and time steps wait for each other, and their shapes are unknown.
- CNN0 lies between both published figures. Here 12 % of the cycles wait for the activation unit, because the schedule has one set of sums
  (the 4096 accumulators hold 2888 rows once); the paper attributes its 21.8 % to row 6, of which 3.5 % are dependences and 3.4 % inputs.
- CNN1 is left out: the shapes of its 89 layers are unknown. The peak and the ridge are figures of the machine file, and so only a check
  of its rounding (34 GB/s are 48.6 bytes per cycle, rounded to 48).

**VTA.** The published figures are the highest utilisations over the layers of ResNet-18 (figure 10 shows the layers as points, without
numbers). Here they are the highest over four convolutions (3 x 3, stride 1) in up to 12 tilings each, as far as the weights fit into
32 KiB: 28 x 28 x 128 in tiles of 14 rows, 64 filters and 32 channels without latency hiding, 14 x 14 x 256 in tiles of 14, 64 and 16 with
two slots. The tilings of the paper are unknown, and its latency hiding is by virtual threads. Its FPGA design runs at 200 MHz with 32 KiB
for weights, the preset (tvm-vta's Pynq configuration) at 100 MHz, so the bytes of DRAM per cycle may differ. Micro-op loads and
instruction fetch are not simulated, which may explain the excess of 7 to 9 %.

**Gemmini.** The cycles of matmuls were read on an FPGA that runs the RTL (FireSim, `tiled_matmul_ws` and `tiled_matmul_ws_perf` of
gemmini-rocc-tests, one Rocket core, 16 x 16 cells, 256 KiB, 64 KiB). The tiles here are those of the same library
(`tiled_matmul_auto`): 80 x 96 x 256 for the larger one.

- In the smaller matmul nothing repeats: operands come in, are multiplied and leave. Gemmini copies and multiplies blocks of 16 x 16; here
  each is one task. The host's instructions, translations of addresses and the latency of the L2 are not simulated, which may explain
  the 20 %.
- ResNet-50 is the figure of Gemmini's authors for the whole network with four images, in March 2021 (40 % a month before, 153,709,356
  cycles: pull request 69). Simulated are its 53 convolutions and its last layer alone: 1 x 1 convolutions as matmuls in the tiles of
  Gemmini's library, the others in the fastest of 6 to 16 tilings. The 16 residual additions would move 66 MB at 16 bytes per cycle, which
  leaves 87 % of the peak. The rest is unexplained; the pools, the host's instructions, TLB misses and Gemmini's tiles of convolutions are
  not simulated.

**GPU.** The A100's bandwidth and the conflicts are the vendor's laws, not measurements: 32 banks of 4 bytes, and a request with n-way
conflicts as n requests. The preset's lanes serve two warps per cycle where shared memory serves one. The measured bandwidths are the best
of accesses of 32, 64 and 128 bits; the simulated ones are 128 bytes per cycle and SM at the clock that the benchmark assumes (1328 MHz;
the banks of the GTX 480 serve 32 bits in two of its 1550 MHz cycles).

**Not in the table.** The papers on Gemmini (DAC 2021), on ONNXim (validation with Gemmini's RTL) and on microbenchmarks of GPUs (Mei and
Chu 2017, Jia et al. 2018) could be read in part only, without their figures. Public texts were searched for utilisations of Gemmini by
layer and its frames per second, for latencies of shared memory by degree of conflict on Fermi to Hopper, and for recorded outputs of these
projects' benchmarks. Cycles of Gemmini's tests on the functional simulator Spike are left out, because they count instructions.
"""


def figures() -> tuple[Figure, ...]:
    return (*tpu_figures(), *vta_figures(), *gemmini_figures(), *gpu_figures())


def public_figures_page(rows: tuple[Figure, ...]) -> str:
    return HEAD + "".join(f.row for f in rows) + NOTES


if __name__ == "__main__":
    PAGE.write_text(public_figures_page(figures()), encoding="utf-8")
    print(f"{PAGE.name} is written")
