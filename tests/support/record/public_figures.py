"""Writes docs/public-figures.md: published figures of real machines beside those of the presets. Run it when a test
reports that the page is out of date:

PYTHONPATH=tests python -m support.record.public_figures
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.schedules.published import strided_warps, tpu_layer, vta_convolution

from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.hwsim.simulate import replayed

PAGE = Path(__file__).parents[3] / "docs" / "public-figures.md"

TPU = "arXiv 1704.04760"
TVM = "TVM, OSDI 2018 (arXiv 1802.04799), section 4.4"
CUDA = "CUDA C++ programming guide, shared memory"
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


def gpu_figures() -> Iterator[Figure]:
    machine = load_machine("gpu-sm")
    cycles = {}
    for degree in (1, 2, 4, 8, 16, 32):
        program, _ = replayed(strided_warps(degree).func, machine)
        (task,) = program.variants
        cycles[degree] = task.cost.duration
    rate = 128 * 4096 / cycles[1] * machine.clock_hz / 1e9
    yield Figure("A100, shared memory of 128 SMs", "doi 10.1016/j.ultsonch.2023.106546, table 3", "GB/s", 23101, rate)
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

**GPU.** Bandwidth and conflicts are the vendor's laws, not measurements: 32 banks of 4 bytes, and a request with n-way conflicts as n
requests. The preset's lanes serve two warps per cycle where shared memory serves one.

**Not in the table.** Gemmini's utilisations (DAC 2021) and measured latencies of bank conflicts (Mei and Chu 2017, Jia et al. 2018) are
left out: the text of these tables was not available to check the numbers.
"""


def figures() -> tuple[Figure, ...]:
    return (*tpu_figures(), *vta_figures(), *gpu_figures())


def public_figures_page(rows: tuple[Figure, ...]) -> str:
    return HEAD + "".join(f.row for f in rows) + NOTES


if __name__ == "__main__":
    PAGE.write_text(public_figures_page(figures()), encoding="utf-8")
    print(f"{PAGE.name} is written")
