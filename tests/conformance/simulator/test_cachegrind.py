"""Misses of the cache model and of compiled C under cachegrind: equal, block by block. See docs/cachegrind.md.

Without valgrind or a C compiler the counts are those recorded with `python -m support.record.cachegrind`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.profile import samples
from support.programs.cache_programs import CASES, program
from support.record.cachegrind import PAGE, recorded
from support.simulator.c_code import COMPILER
from support.simulator.cachegrind import (
    RUNS,
    TESTED,
    VALGRIND,
    Counts,
    Kernel,
    Run,
    build_program,
    kernel,
    measured,
    modelled,
)

HAS_TOOLS = VALGRIND is not None and COMPILER is not None


class Bench:
    """The compiled kernels, by how their buffers lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernels: dict[int, list[Kernel]] = {}
        self.programs: dict[int, Path] = {}

    def at(self, skew: int) -> list[Kernel]:
        if skew not in self.kernels:
            self.kernels[skew] = [kernel(program(name), skew=skew) for name in CASES]
        return self.kernels[skew]

    def counts(self, run: Run) -> dict[str, dict[str, Counts]]:
        if not HAS_TOOLS:
            return recorded().counts[str(run)]
        if run.skew not in self.programs:
            folder = self.folder / str(run.skew)
            folder.mkdir()
            self.programs[run.skew] = build_program(self.at(run.skew), folder)
        return measured(self.programs[run.skew], self.at(run.skew), run.first, run.last)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("kernels"))


@pytest.mark.slow
@pytest.mark.parametrize("run", samples(TESTED, TESTED[0]), ids=str)
def test_counts_of_the_exported_c_are_those_of_the_model(bench: Bench, run: Run):
    counts = bench.counts(run)
    assert set(counts) == set(CASES)
    for name, bases in zip(CASES, bench.at(run.skew), strict=True):
        assert modelled(program(name), bases, run.first, run.last) == counts[name], name
        assert all(c.reads + c.writes > 0 for c in counts[name].values())


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TOOLS, reason="needs valgrind and a C compiler")
def test_recorded_counts_are_measured_again(bench: Bench):
    assert bench.counts(TESTED[0]) == recorded().counts[str(TESTED[0])]


def test_the_page_is_about_the_recorded_counts():
    record, text = recorded(), PAGE.read_text()
    assert set(record.counts) == {str(r) for r in RUNS}
    assert record.origin in text and f"{len(CASES) * len(RUNS)} comparisons" in text
    assert text.count(f"{len(CASES)} of {len(CASES)} |") == len(RUNS), "every program is equal in every run"
