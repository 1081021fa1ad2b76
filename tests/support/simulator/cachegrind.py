"""Exported C under `valgrind --tool=cachegrind`: cache accesses of its loops, counted by line.

All kernels are in one program, one run for each choice of caches. Before each kernel the caches are filled with older, unrelated lines; its
buffers are at offsets in a large aligned block. Instructions go through an I1 of few very long lines, all of them loaded before the first
kernel: they never reach the last level.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from support.simulator.c_code import COMPILER

from tilewright.engine.export import CFunction, c_function
from tilewright.engine.hwsim import Machine, cache_counts, read_machine
from tilewright.engine.ir import Buffer, PrimFunc, build
from tilewright.engine.ir import dtype as dt

VALGRIND = shutil.which("valgrind")
OPTIONS = (
    *("-std=c11", "-g", "-O2", "-fno-tree-vectorize", "-fno-unroll-loops", "-fno-tree-loop-distribute-patterns"),
    # Indices are computed at each use: values kept for later may be spilled to memory.
    *("-fno-ivopts", "-fno-tree-loop-im", "-fno-move-loop-invariants", "-fno-tree-pre", "-fno-gcse"),
    *("-ffp-contract=off", "-Wall", "-Werror"),
)
ARENA_BYTES = 1 << 22
LARGEST_CACHE = 1 << 18
CODE_CACHE = "--I1=1048576,4,65536"


class Geometry(msgspec.Struct, frozen=True):
    """A cache: bytes, ways, bytes of a line."""

    size: int
    ways: int
    line: int

    def __str__(self) -> str:
        return f"{self.size},{self.ways},{self.line}"


class Run(msgspec.Struct, frozen=True):
    """Both levels, and how many bytes more than a multiple of 256 lie between buffers."""

    first: Geometry
    last: Geometry
    skew: int = 0

    def __str__(self) -> str:
        return f"D1 {self.first}; LL {self.last}; skew {self.skew}"


RUNS = (
    Run(Geometry(1024, 2, 32), Geometry(8192, 4, 64)),
    Run(Geometry(2048, 1, 64), Geometry(32768, 8, 64)),
    Run(Geometry(3072, 3, 64), Geometry(16384, 8, 128)),
    Run(Geometry(4096, 4, 32), Geometry(65536, 16, 64)),
    Run(Geometry(8192, 8, 64), Geometry(12288, 3, 64)),
    Run(Geometry(2048, 2, 64), Geometry(8192, 2, 64), 64),
    # The tests stop here.
    Run(Geometry(1024, 1, 32), Geometry(4096, 1, 32)),
    Run(Geometry(1024, 16, 64), Geometry(16384, 4, 64), 64),
    Run(Geometry(6144, 3, 128), Geometry(65536, 8, 128)),
    Run(Geometry(4096, 2, 64), Geometry(24576, 6, 64), 192),
    Run(Geometry(32768, 8, 64), Geometry(262144, 8, 64)),
    Run(Geometry(16384, 4, 32), Geometry(131072, 16, 32), 32),
)
TESTED = RUNS[:6]


class Counts(msgspec.Struct, frozen=True):
    """A kernel's counts: accesses, and misses in the first and the last level."""

    reads: int
    writes: int
    first_read_misses: int
    first_write_misses: int
    last_read_misses: int
    last_write_misses: int


class Kernel(msgspec.Struct, frozen=True, eq=False):
    """A program as C, its buffers at `bases` in the block."""

    made: CFunction
    bases: dict[str, int]


def kernel(func: PrimFunc, *, accesses: str = "exact", skew: int = 0) -> Kernel:
    """The program under its name; buffers one behind the other at multiples of 256 bytes, `skew` more between them."""
    compiled = c_function(func, storage="arguments", accesses=accesses)  # pyright: ignore[reportArgumentType]
    bases: dict[str, int] = {}
    end = 0
    for buffer in compiled.arguments:
        assert isinstance(buffer, Buffer) and buffer.name not in bases, "sizes are numbers, names differ"
        bases[buffer.name] = end
        extents = [build.int_value(e) for e in buffer.shape]
        size = dt.size_bytes(buffer.dtype)
        for extent in extents:
            assert extent is not None
            size *= extent
        end = -(-(end + size) // 256) * 256 + skew
    assert end <= ARENA_BYTES
    return Kernel(compiled, bases)


def build_program(kernels: Sequence[Kernel], folder: Path) -> Path:
    """All kernels and a main that runs one after the other."""
    files = [folder / f"{k.made.name}.c" for k in kernels]
    for file, k in zip(files, kernels, strict=True):
        alone = f"void {k.made.name}("
        assert k.made.text.count(alone) == 1 and not k.made.can_fail
        file.write_text(k.made.text.replace(alone, "__attribute__((noinline, noclone)) " + alone))
    main = folder / "main.c"
    main.write_text(_main(kernels))
    program = folder / "kernels"
    command = [str(COMPILER), *OPTIONS, "-o", str(program), str(main), *map(str, files), "-lm"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return program


def _main(kernels: Sequence[Kernel]) -> str:
    declared = [f"void {k.made.name}({', '.join(['void *'] * len(k.made.arguments))});" for k in kernels]
    calls = [
        f"    flush();\n    {k.made.name}({', '.join(f'block + {k.bases[a.name]}' for a in k.made.arguments)});"
        for k in kernels
    ]
    return "\n".join(
        [
            "#include <stdint.h>",
            # Aligned manually: valgrind reads no line numbers of a program whose segments are aligned so widely.
            f"static unsigned char room[{ARENA_BYTES + (1 << 20)}];",
            f"static volatile unsigned char other[{2 * LARGEST_CACHE}];",
            *declared,
            "static __attribute__((noinline, noclone)) void flush(void) {",
            f"    for (int i = 0; i < {2 * LARGEST_CACHE}; i += 16)",
            "        (void)other[i];",
            "}",
            "int main(void) {",
            "    unsigned char *block = (unsigned char *)(((uintptr_t)room + (1 << 20) - 1) & ~(uintptr_t)((1 << 20) - 1));",
            *calls,
            "    return 0;",
            "}",
            "",
        ]
    )


def measured(program: Path, kernels: Sequence[Kernel], first: Geometry, last: Geometry) -> dict[str, dict[str, Counts]]:
    """One run under cachegrind: for each kernel by name, the counts of each block's statements."""
    out = program.parent / "cachegrind.out"
    command = [str(VALGRIND), "--tool=cachegrind", "--cache-sim=yes", CODE_CACHE, f"--D1={first}", f"--LL={last}",
               f"--cachegrind-out-file={out}", str(program)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    lines = _by_line(out.read_text())
    return {k.made.name: _of_kernel(k.made, lines) for k in kernels}


def _by_line(text: str) -> dict[tuple[str, str, int], dict[str, int]]:
    """Counts by file, function and line."""
    names: list[str] = []
    file = function = ""
    found: dict[tuple[str, str, int], dict[str, int]] = {}
    for line in text.splitlines():
        if line.startswith("events:"):
            names = line.split()[1:]
        elif line.startswith("fl="):
            file = Path(line[3:]).name
        elif line.startswith("fn="):
            function = line[3:]
        elif re.match(r"\d", line):
            number, *counts = map(int, line.split())
            found[file, function, number] = dict(zip(names, counts, strict=True))
    return found


def _of_kernel(compiled: CFunction, lines: Mapping[tuple[str, str, int], Mapping[str, int]]) -> dict[str, Counts]:
    def total(numbers: tuple[int, ...], event: str) -> int:
        return sum(lines.get((f"{compiled.name}.c", compiled.name, n), {}).get(event, 0) for n in numbers)

    events = ("Dr", "Dw", "D1mr", "D1mw", "DLmr", "DLmw")
    return {block: Counts(*(total(numbers, e) for e in events)) for block, numbers in compiled.line_of.items()}


def modelled(func: PrimFunc, case: Kernel, first: Geometry, last: Geometry) -> dict[str, Counts]:
    """The model's counts of each block."""
    counts = cache_counts(func, cached_machine(first, last), bases=case.bases)
    found: dict[str, list[int]] = {}
    for row in counts.rows:
        own = found.setdefault(row.block, [0] * 6)
        if row.cache == "first":
            own[0] += row.reads
            own[1] += row.writes
        own[2 if row.cache == "first" else 4] += row.read_misses
        own[3 if row.cache == "first" else 5] += row.write_misses
    return {block: Counts(*own) for block, own in found.items()}


def version() -> str:
    done = subprocess.run([str(VALGRIND), "--version"], capture_output=True, text=True, check=True)
    compiler = subprocess.run([str(COMPILER), "--version"], capture_output=True, text=True, check=True)
    return f"{done.stdout.strip()}, {compiler.stdout.splitlines()[0]}"


def cached_machine(*levels: Geometry) -> Machine:
    """A core with levels ("first", "middle" if there are three, "last") before its memory; scope "local" is in registers."""
    names = ("first", "middle", "last")[:: 4 - len(levels)]
    caches = "".join(
        f'[caches.{name}]\nmemory = "dram"\nengines = ["core"]\nsize_bytes = {g.size}\nways = {g.ways}\n'
        f"line_bytes = {g.line}\nlatency_cycles = 10\nbytes_per_cycle = 32\n"
        for name, g in zip(names, levels, strict=True)
    )
    return read_machine(_MACHINE + caches)


_MACHINE = """
name = "core"
clock_hz = 1_000_000_000

[memories.dram]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = 8
write_bytes_per_cycle = 8
latency_cycles = 100

[memories.registers]
scopes = ["local"]
capacity_bytes = 1_024
read_bytes_per_cycle = 64
write_bytes_per_cycle = 64

[engines.core]
kind = "scalar"
reads = ["dram", "registers"]
writes = ["dram", "registers"]
cycles_per_operation = 1

"""
