"""`python -m support.record.cachegrind [folder]`: repeats all runs, compares them with the model, and writes the counts.

tests/conformance/cachegrind_counts.json has the counts with their origin, docs/cachegrind.md the table. Run in `tests/`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
from support.programs.cache_programs import CASES, program
from support.simulator.cachegrind import OPTIONS, RUNS, Counts, Run, build_program, kernel, measured, modelled, version

RECORDED = Path(__file__).parents[2] / "conformance" / "cachegrind_counts.json"
PAGE = Path(__file__).parents[3] / "docs" / "cachegrind.md"
Blocks = Mapping[str, Counts]


class Record(msgspec.Struct, frozen=True):
    """Counts by run, program and block."""

    origin: str
    options: str
    counts: dict[str, dict[str, dict[str, Counts]]]


def recorded() -> Record:
    return msgspec.json.decode(RECORDED.read_bytes(), type=Record)


def measure_all(folder: Path) -> dict[str, dict[str, dict[str, Counts]]]:
    found: dict[str, dict[str, dict[str, Counts]]] = {}
    for skew in dict.fromkeys(r.skew for r in RUNS):
        kernels = [kernel(program(name), skew=skew) for name in CASES]
        built = build_program(kernels, folder)
        for run in (r for r in RUNS if r.skew == skew):
            found[str(run)] = measured(built, kernels, run.first, run.last)
    return {str(run): found[str(run)] for run in RUNS}


def disagreements(run: Run, counts: Mapping[str, Blocks]) -> list[str]:
    """The programs of a run whose counts the model does not reproduce exactly."""
    return [
        name
        for name in CASES
        if modelled(program(name), kernel(program(name), skew=run.skew), run.first, run.last) != counts[name]
    ]


def page(record: Record) -> str:
    rows = [_row(run, record.counts[str(run)]) for run in RUNS]
    first = record.counts[str(RUNS[0])]
    return _PAGE.format(
        origin=record.origin,
        options=record.options,
        programs=len(CASES),
        comparisons=len(CASES) * len(RUNS),
        runs="\n".join(rows),
        run=RUNS[0],
        counts="\n".join(_counts(name, block, c) for name in CASES for block, c in first[name].items()),
    )


def _row(run: Run, counts: Mapping[str, Blocks]) -> str:
    bad = disagreements(run, counts)
    every = [c for blocks in counts.values() for c in blocks.values()]
    accesses = sum(c.reads + c.writes for c in every)
    first = sum(c.first_read_misses + c.first_write_misses for c in every)
    last = sum(c.last_read_misses + c.last_write_misses for c in every)
    agreed = f"{len(counts) - len(bad)} of {len(counts)}" + (f" (not {', '.join(bad)})" if bad else "")
    return f"| {run.first} | {run.last} | {run.skew} | {accesses:,} | {first:,} | {last:,} | {agreed} |"


def _counts(name: str, block: str, c: Counts) -> str:
    figures = " | ".join(f"{getattr(c, field):,}" for field in c.__struct_fields__)
    return f"| {name} | {block} | {figures} |"


_PAGE = """# Caches against cachegrind

The cache model (`engine/hwsim/caches/model.py`) counts accesses and misses of a program's stream of addresses. The
reference is the same scheduled program, exported as C (`to_c(accesses="exact")`), compiled, and run under `valgrind
--tool=cachegrind`. All counts are equal, block by block: reads, writes, read and write misses of both levels.

Origin: {origin}. Options: `{options}`.

| D1 (bytes,ways,line) | LL | bytes between buffers | accesses | D1 misses | LL misses | programs equal |
|---|---|---|---|---|---|---|
{runs}

{programs} programs, {comparisons} comparisons: box blur, transpose and matmul as written, fused, inlined,
reordered, tiled, with padded rows, with transposed or blocked storage, with the accumulator in a register
(`tests/support/programs/cache_programs.py`).

Conditions of the comparison:

- "exact" compiles each access of the program to one access of the machine, in program order (`volatile`). Otherwise
  the compiler keeps values that two iterations read in registers (a third of the loads of a horizontal blur), a
  decision of the compiler, not of the program. The schedule puts an accumulator into a register with
  `cache_write(C, 0, "local")`.
- Intermediate buffers are arguments (`storage="arguments"`), so that all buffers have known offsets in a block
  aligned to 1 MiB.
- Kernels are `noinline, noclone`; the counts are those of the lines of their statements. Before each kernel the
  caches are filled with other lines, which are evicted first.
- Instructions share the last level. I1 has lines of 64 KiB, so that a kernel fetches no instruction lines.
- Loop counters must stay in registers. The counters of six loops over three arrays exceed x86's fifteen registers,
  and spilled counters are accesses that the program does not make. The options above also keep addresses out of
  registers.

Semantics: write-allocate, LRU replacement, misses go to the next level. Cachegrind does not count write-backs; the
model reports them per level (`CacheCounts.written_back`).

`python -m support.record.cachegrind` in `tests/` repeats the measurement and writes this page and
`tests/conformance/cachegrind_counts.json`. Without valgrind or a compiler, `tests/conformance/simulator/test_cachegrind.py`
compares the model with this file.

## {run}

| program | block | reads | writes | D1 read misses | D1 write misses | LL read misses | LL write misses |
|---|---|---|---|---|---|---|---|
{counts}
"""


def main(folder: Path) -> None:
    record = Record(version(), " ".join(OPTIONS), measure_all(folder))
    RECORDED.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    PAGE.write_text(page(record))
    print(f"{RECORDED.name} and {PAGE.name} written")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
