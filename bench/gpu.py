"""Calibration and validation kernels on an NVIDIA GPU, in one run of less than six minutes, and the table that it leaves.

    python bench/gpu.py OUT.csv                  # on the computer with the GPU: needs its driver and NVRTC, no packages
    python bench/gpu.py OUT.csv --seconds 200    # what is not reached is named
    python bench/gpu.py OUT.csv --list           # the kernels, without a GPU
    python bench/gpu.py OUT.csv --table          # what a run wrote, as Markdown with the ratios of its ablations

The source is bench/gpu_kernels.cu; NVRTC compiles it for the device with the parameters of each row. Calibration: latency and bandwidth
by size, multiply-adds, the time of a launch. Validation, 40 rows: reads of shared memory by width and degree of conflict, a transpose with
padding and swizzle, GEMMs by tile, depth, 1 to 4 stages and order of blocks, a stream by threads on each SM, and blocks by waves. Times are
CUDA events, the median of up to 11 launches after one that is not counted.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

SOURCE = Path(__file__).with_name("gpu_kernels.cu")
SECONDS = 330.0
SAMPLES = 11
SIZE = 2048
"""Rows and columns of the matrices: 16 blocks of 128 along each."""

MIB = 1 << 20
HEAD = (
    "kind",
    "kernel",
    "variant",
    "parameters",
    "blocks",
    "threads",
    "shared_bytes",
    "bytes",
    "time_us",
    "low_us",
    "high_us",
    "samples",
)


@dataclass(frozen=True)
class Row:
    """A launch: the kernel of the source with its macros, its grid and block. `per_sm` multiplies the blocks by the SMs of the device."""

    kind: str
    kernel: str
    variant: str
    macros: Mapping[str, int] = field(default_factory=dict)
    blocks: tuple[int, int] = (1, 1)
    threads: tuple[int, int] = (32, 1)
    shared_bytes: int = 0
    bytes: int = 4 * MIB
    n: int = 0
    per_sm: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.kernel}: {self.variant}"

    def grid(self, multiprocessors: int) -> tuple[int, int]:
        return (max(1, round(self.per_sm * multiprocessors)), 1) if self.per_sm else self.blocks


def rows() -> tuple[Row, ...]:
    """All launches, the calibration first."""
    return (*_calibration(), *_validation())


def _calibration() -> Iterator[Row]:
    yield Row("calibration", "empty", "launch")
    for kib in (16, 128, 1024, 8192, 32768, 262144):
        yield Row("calibration", "chase", f"{kib} KiB", {"STEPS": 4096}, threads=(1, 1), bytes=kib << 10)
    for mib, rounds in ((1, 64), (4, 32), (16, 16), (64, 4), (512, 1)):
        yield Row(
            "calibration",
            "read",
            f"{mib} MiB",
            {"ROUNDS": rounds},
            threads=(512, 1),
            per_sm=4,
            bytes=mib * MIB,
            n=mib * MIB // 4,
        )
    yield Row("calibration", "fma", "1024 threads on each SM", {"STEPS": 4096}, threads=(1024, 1), per_sm=1)


def _validation() -> Iterator[Row]:
    for width, degrees in ((1, (0, 1, 2, 4, 8, 16, 32)), (2, (0, 1, 2, 4, 8)), (4, (0, 1, 2, 4))):
        for degree in degrees:
            macros = {"WIDTH": width, "STEP": degree, "STEPS": 2048, "SHARED_WORDS": 32 * degree + 16}
            what = f"b{32 * width}, " + (f"degree {degree}" if degree else "one address")
            yield Row("validation", "shared", what, macros, threads=(256, 1), per_sm=4)
    for what, pad, swizzle in (("plain", 0, 0), ("padded", 1, 0), ("swizzled", 0, 1)):
        grid = (SIZE // 32, SIZE // 32)
        yield Row(
            "validation",
            "transpose",
            what,
            {"PAD": pad, "SWIZZLE": swizzle},
            grid,
            (32, 8),
            bytes=4 * SIZE * SIZE,
            n=SIZE,
        )
    for tile in (64, 128):
        yield from (_gemm(tile, 16, stages, 0) for stages in (1, 2, 3, 4))
    yield from (_gemm(128, depth, 2, 0) for depth in (8, 32))
    yield _gemm(128, 16, 2, 4)
    for threads in (64, 128, 256, 512, 1024):
        yield Row(
            "validation",
            "stream",
            f"{threads} threads on each SM",
            {},
            threads=(threads, 1),
            per_sm=1,
            bytes=256 * MIB,
            n=64 * MIB,
        )
    for share in (0.5, 1.0, 1.05, 1.5, 2.0):
        yield Row(
            "validation", "fma", f"{share:g} blocks for each SM", {"STEPS": 4096}, threads=(1024, 1), per_sm=share
        )


def _gemm(tile: int, depth: int, stages: int, group: int) -> Row:
    macros = {"TILE": tile, "DEPTH": depth, "STAGES": stages, "GROUP": group}
    what = f"tile {tile} x {tile} x {depth}, {stages} stages" + (f", groups of {group}" if group else "")
    blocks = (SIZE // tile) ** 2
    return Row(
        "validation",
        "gemm",
        what,
        macros,
        (blocks, 1),
        (tile * tile // 64, 1),
        8 * stages * tile * depth,
        8 * SIZE * SIZE,
        SIZE,
    )


@dataclass(frozen=True)
class Timed:
    """A row with the microseconds of its samples."""

    row: Row
    blocks: int
    samples: tuple[float, ...]

    def cells(self) -> tuple[str, ...]:
        row, found = self.row, sorted(self.samples)
        parameters = " ".join(f"{name}={value}" for name, value in row.macros.items())
        figures = (median(found), found[len(found) // 10], found[-1 - len(found) // 10])
        sizes = (self.blocks, row.threads[0] * row.threads[1], row.shared_bytes, row.bytes)
        times = (f"{value:.3f}" for value in figures)
        return (row.kind, row.kernel, row.variant, parameters, *map(str, sizes), *times, str(len(found)))


class Device:
    """A GPU through the CUDA driver and NVRTC. Raises RuntimeError with the name of the call that failed."""

    def __init__(self) -> None:
        self._cuda, self._nvrtc = _library("cuda"), _library("nvrtc")
        self._check("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check("cuDeviceGet", ctypes.byref(device), 0)
        self._check("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        name = ctypes.create_string_buffer(100)
        self._check("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        # The numbers are those of CUdevice_attribute in cuda.h.
        self.multiprocessors, self.clock_khz, *self.capability = (
            self._attribute(device, which) for which in (16, 13, 75, 76)
        )
        self._start, self._end = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self._start, self._end):
            self._check("cuEventCreate", ctypes.byref(event), 0)

    def _attribute(self, device: ctypes.c_int, which: int) -> int:
        value = ctypes.c_int()
        self._check("cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    def _check(self, name: str, *given: Any) -> None:
        code = getattr(self._cuda, name)(*given)
        if code:
            raise RuntimeError(f"{name} failed with error {code}")

    def compiled(self, row: Row, source: str) -> ctypes.c_void_p:
        """The function of a row."""
        program, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self._nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"gpu_kernels.cu", 0, None, None)
        flags = [f"-D{name}={value}" for name, value in macros_of(row).items()]
        flags += [f"-arch=sm_{self.capability[0]}{self.capability[1]}", "-std=c++17"]
        options = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        failed, size = self._nvrtc.nvrtcCompileProgram(program, len(flags), options), ctypes.c_size_t()
        if failed:
            self._nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self._nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"{row.name} does not compile: {log.value.decode()[:300]}")
        self._nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        self._nvrtc.nvrtcGetCUBIN(program, binary)
        self._check("cuModuleLoadData", ctypes.byref(module), binary)
        self._check("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
        if row.shared_bytes > 48 << 10:
            self._check("cuFuncSetAttribute", function, 8, row.shared_bytes)  # the maximum of dynamic shared memory
        return function

    def timed(self, row: Row, source: str) -> Timed:
        """The times of a row."""
        function = self.compiled(row, source)
        contents, out = ctypes.c_uint64(), ctypes.c_uint64()
        grid = row.grid(self.multiprocessors)
        kept = max(row.bytes, 4 * grid[0] * grid[1] * row.threads[0] * row.threads[1])
        for buffer, size in ((contents, row.bytes), (out, kept)):
            self._check("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(size))
        try:
            given = chain(row.bytes) if row.kernel == "chase" else b""
            if given:
                self._check("cuMemcpyHtoD_v2", contents, given, ctypes.c_size_t(len(given)))
            else:
                self._check("cuMemsetD8_v2", contents, ctypes.c_ubyte(0), ctypes.c_size_t(row.bytes))
            n = ctypes.c_int(row.n)
            arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(a) for a in (out, contents, n)))
            samples = [self._launched(function, row, grid, arguments) for _ in range(SAMPLES + 1)][1:]
        finally:
            for buffer in (contents, out):
                self._check("cuMemFree_v2", buffer)
        return Timed(row, grid[0] * grid[1], tuple(samples))

    def _launched(self, function: ctypes.c_void_p, row: Row, grid: tuple[int, int], arguments: Any) -> float:
        taken = ctypes.c_float()
        self._check("cuEventRecord", self._start, None)
        self._check("cuLaunchKernel", function, *grid, 1, *row.threads, 1, row.shared_bytes, None, arguments, None)
        self._check("cuEventRecord", self._end, None)
        self._check("cuEventSynchronize", self._end)
        self._check("cuEventElapsedTime", ctypes.byref(taken), self._start, self._end)
        return taken.value * 1000


def macros_of(row: Row) -> dict[str, int]:
    return {f"KERNEL_{row.kernel.upper()}": 1, **row.macros}


def chain(size_bytes: int) -> bytes:
    """Indices that visit each line of 128 bytes once, far from the last, and come back."""
    lines = size_bytes // 128
    step = next(s for s in range(int(lines * 0.618) | 1, 2 * lines + 3, 2) if _common(s, lines) == 1)
    following = (ctypes.c_uint32 * (lines * 32))()
    for line in range(lines):
        following[line * 32] = (line + step) % lines * 32
    return bytes(following)


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def _library(name: str) -> Any:
    names = [f"lib{name}.so", *(f"lib{name}.so.{n}" for n in (1, 13, 12, 11))]
    found = [*names, *(str(file) for top in sys.path for file in Path(top or ".").glob(f"nvidia/*/lib/lib{name}.so*"))]
    for each in found:
        try:
            return ctypes.CDLL(each)
        except OSError:
            continue
    raise RuntimeError(f"there is no lib{name} on this computer")


def table(found: Sequence[Timed], device: str, clock_khz: int, left: Sequence[str], date: str) -> str:
    """The table in the form of `static/validation/tables`."""
    head = (
        f"# source: bench/gpu.py on {date}",
        f"# device: {device}, {clock_khz / 1e6:.3f} GHz by the driver",
        f"# conditions: CUDA events, median of {SAMPLES} launches after one that is not counted; GEMM and transpose of {SIZE}, fp32",
        "# units: us, bytes",
        "# ablation: degree of conflict, padding, swizzle, stages, tile, order of blocks, threads on each SM, waves",
        f"# not reached: {'; '.join(left) or 'none'}",
    )
    lines = [",".join(HEAD), *(",".join(f'"{c}"' if "," in c else c for c in each.cells()) for each in found)]
    return "\n".join((*head, *lines, ""))


BASES = {
    "shared": "degree 1",
    "transpose": "plain",
    "gemm": "1 stages",
    "stream": "64 threads on each SM",
    "fma": "1 blocks for each SM",
}
"""The variant that the others of a kernel are compared with, by a part of its name."""


def summary(text: str) -> str:
    """A recorded table as Markdown: each validation row with its time in units of its kernel's base, and what was not reached."""
    lines = text.splitlines()
    told = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    every = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    out = [
        f"{told['device']}; not reached: {told['not reached']}",
        "",
        "| kernel | variant | us | of the base |",
        "|---|---|---:|---:|",
    ]
    for row in every:
        base = _base(row, every) if row["kind"] == "validation" else None
        ratio = "" if base is None else f"{float(row['time_us']) / float(base['time_us']):.3f}"
        out.append(f"| {row['kernel']} | {row['variant']} | {float(row['time_us']):.2f} | {ratio} |")
    return "\n".join(out)


def _base(row: Mapping[str, str], every: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """The row to compare with: of the same kernel, and of the same width or tile where it has several."""
    part = BASES[row["kernel"]]
    own = row["variant"].split(",")[0] if row["kernel"] == "shared" else ""
    found = [o for o in every if o["kind"] == "validation" and o["kernel"] == row["kernel"] and part in o["variant"]]
    if row["kernel"] == "gemm":
        tile = row["variant"].split(" x ")[0]
        found = [o for o in found if o["variant"].split(" x ")[0] == tile]
    return next((o for o in found if o["variant"].startswith(own)), None)


def run(out: Path, seconds: float) -> int:
    device, source, began = Device(), SOURCE.read_text("utf-8"), time.monotonic()
    found: list[Timed] = []
    left: list[str] = []
    date = time.strftime("%Y-%m-%d", time.gmtime())
    for row in rows():
        if time.monotonic() - began > seconds:
            left.append(row.name)
            continue
        try:
            found.append(device.timed(row, source))
        except RuntimeError as error:
            left.append(f"{row.name} ({error})".replace("\n", " "))
        # A run that is cut off leaves what it has.
        out.write_text(table(found, device.name, device.clock_khz, left, date))
    print(f"{len(found)} rows in {time.monotonic() - began:.0f} s on {device.name}; not reached: {len(left)}")
    return 0 if found else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{row.kind}  {row.name}" for row in rows()))
    elif given.table:
        print(summary(given.out.read_text("utf-8")))
    else:
        return run(given.out, given.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
