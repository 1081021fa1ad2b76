"""`python -m support.record_cachegrind [folder]`: measures all runs anew, compares, and writes what was found.

tests/conformance/cachegrind_counts.json has the counts with their origin, docs/cachegrind.md the table. Run in `tests/`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
from support.cache_programs import CASES, program
from support.cachegrind import OPTIONS, RUNS, Counts, Run, build_program, kernel, measured, modelled, version

RECORDED = Path(__file__).parents[1] / "conformance" / "cachegrind_counts.json"
PAGE = Path(__file__).parents[2] / "docs" / "cachegrind.md"
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
    """The programs of a run whose counts the model does not say, exactly."""
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

The cache model (`engine/hwsim/caches/model.py`) counts accesses and misses of a program's own stream of addresses. Held
against it: the same scheduled program exported as C (`to_c(accesses="exact")`), compiled, and run under `valgrind
--tool=cachegrind`. The counts are equal, to the last one, block by block: reads, writes, read and write misses of
both levels.

Origin: {origin}. Options: `{options}`.

| D1 (bytes,ways,line) | LL | bytes between buffers | accesses | D1 misses | LL misses | programs equal |
|---|---|---|---|---|---|---|
{runs}

{programs} programs, {comparisons} comparisons: box blur, transpose and matmul as written, fused, inlined,
reordered, tiled, with padded rows, with storage transposed or in blocks, with the accumulator in a register
(`tests/support/cache_programs.py`).

What it takes to compare:

- "exact" makes each access of the program one of the machine's, in the program's order (`volatile`). Without it a
  compiler keeps in registers what two iterations both read (a third of the loads of a blur across), which is its
  decision, not the program's. An accumulator that is to be in a register says so in the schedule: `cache_write(C,
  0, "local")`.
- Intermediate buffers are arguments (`storage="arguments"`), so that all buffers lie at known offsets in a block
  aligned to 1 MiB.
- Kernels are `noinline, noclone`; counts are taken from the lines of its statements only. Before each the caches
  are filled with other lines, which are older than whatever comes.
- Instructions share the last level. I1 gets lines of 64 KiB, so that none is fetched while a kernel runs.
- Loop counters must stay in registers: six loops over three arrays do not fit x86's fifteen, and their counters in
  memory are accesses that the program does not make. The options above keep addresses from taking registers, too.

Semantics: write-allocate, least recently used goes first, a level asks the next for what it lacks. Of lines
written back, which cachegrind does not count, the model says how many each level puts out
(`CacheCounts.written_back`).

`python -m support.record_cachegrind` in `tests/` measures all this anew and writes this page and
`tests/conformance/cachegrind_counts.json`, with which `tests/conformance/test_cachegrind.py` compares where
valgrind or a compiler is missing.

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
