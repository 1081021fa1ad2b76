"""The search of a network: the order of kernels, the total budget, resuming, and refusals that do not stop the search."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pasted.relax_modules import HEAD, MODEL, OPEN

from tilewright.engine.explore import Database
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import Network, structural_equal
from tilewright.engine.network import (
    KernelStudy,
    NetworkProgress,
    NetworkStudy,
    distinct_kernels,
    explore_network,
    progress_text,
    run_network,
    scheduled_program,
    study_json,
    study_text,
)
from tilewright.engine.network.search import loop
from tilewright.engine.network.search.study import KernelTask
from tilewright.engine.network.search.workers import Ended, ThreadWorker
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")
LARGER = MODEL.replace("16, 16", "32, 32").replace("T.axis.spatial(16", "T.axis.spatial(32")
"""The model with matrices that take more cycles than the start of a copy."""

TWO_SIZES = (
    HEAD
    + """
    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.Buffer((64, 64), "float32"), y: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(64, 64):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def scale1(x: T.Buffer((64, 256), "float32"), y: T.Buffer((64, 256), "float32")):
        for i, j in T.grid(64, 256):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((64, 64), dtype="float32"), z: R.Tensor((64, 256), dtype="float32")) -> R.Tensor((64, 64), dtype="float32"):
        R.func_attr({"num_input": 2})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((64, 64), dtype="float32"))
            lv1 = R.call_tir(cls.scale1, (z,), out_ty=R.Tensor((64, 256), dtype="float32"))
            R.output(lv)
        return lv
"""
)
"""Two kernels that differ in their sizes."""


def network() -> Network:
    return parse_network(LARGER)


@dataclass
class Searched:
    """A search that ended with the first schedule of each kernel, its progress, and its store."""

    whole: Network
    study: NetworkStudy
    seen: list[NetworkProgress]
    folder: Path
    database: Path


def searched(whole: Network, folder: Path, **options: Any) -> Searched:
    seen: list[NetworkProgress] = []
    count = len({call.kernel for call in whole.graph.calls} - {"again"})
    file = folder / "found.sqlite3"
    study = explore_network(
        whole, NPU, seconds=60, folder=folder, database=file, watch=seen.append, stop=lambda: len(seen) >= count,
        **{"workers": 0, **options},
    )  # fmt: skip
    return Searched(whole, study, seen, folder, file)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    return searched(network(), tmp_path_factory.mktemp("first"))


@pytest.mark.slow
def test_process_finds_a_schedule_for_each_kernel(tmp_path: Path) -> None:
    compute_the_same(searched(network(), tmp_path, workers=1))


@pytest.mark.slow
def test_each_kernel_gets_a_schedule_that_computes_the_same(first: Searched) -> None:
    compute_the_same(first)


def compute_the_same(found: Searched) -> None:
    whole, study, seen = found.whole, found.study, found.seen
    assert [p.last.name for p in seen] == ["both", "scale"], "the kernel with the most to win comes first"
    assert [p.done for p in seen] == [1, 2] and all(p.total == 2 for p in seen)
    assert study.bound <= study.cycles < study.before and study.cycles == study.report.cycles == seen[-1].cycles
    assert all(k.is_scheduled and k.study is not None and k.study.status == "proved" for k in study.kernels)
    programs = {k.name: scheduled_program(whole[k.name], k.study.lines) for k in study.kernels if k.study}
    each = {name: simulate(func, NPU).cycles for name, func in programs.items()}
    assert study.cycles == sum(each[k.name] * k.runs for k in study.kernels)
    generator = np.random.default_rng(0)
    arrays = {
        t.name: generator.standard_normal((32, 32)).astype(t.dtype) for t in (*whole.graph.inputs, *whole.graph.weights)
    }
    (expected,), (result,) = run_network(whole, arrays), run_network(whole, arrays, scheduled=programs)
    np.testing.assert_array_equal(result, expected)
    assert "2 of 2 kernels scheduled, 2 of them proved or tested" in study_text(study)
    assert progress_text(seen[-1]).startswith(f"2 of 2 kernels, {study.cycles:,} cycles")
    assert study_json(study)["kernels"][0]["verdict"] == "proved"


@pytest.mark.slow
@pytest.mark.parametrize("slices", [2, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_a_search_resumes_from_an_earlier_one(first: Searched, tmp_path: Path, slices: int) -> None:
    folder = Path(shutil.copytree(first.folder, tmp_path / "copy"))
    known = {k.name: k.study for k in first.study.kernels if k.study is not None}
    again: list[NetworkProgress] = []
    second = explore_network(
        first.whole, NPU, seconds=60, workers=0, known=known, folder=folder, watch=again.append,
        stop=lambda: len(again) >= slices,
    )  # fmt: skip
    assert second.cycles <= first.study.cycles and second.before == first.study.before
    assert again and all(p.last.study is not None and p.last.study.slices > 1 for p in again), (
        "nothing is derived again"
    )
    assert sorted(k.study.trials for k in second.kernels if k.study) > sorted(k.trials for k in known.values())
    assert list(folder.glob("*.sqlite"))
    if slices > 2:
        known = {k.name: k.study for k in second.kernels if k.study}
        third = explore_network(first.whole, NPU, seconds=60, workers=0, known=known, folder=folder)
        assert second.ended and third.ended and third.cycles == second.cycles


@pytest.mark.slow
def test_a_network_adds_its_best_to_a_database(first: Searched) -> None:
    assert not any(k.study.began_with for k in first.study.kernels if k.study)
    with Database(first.database) as database:
        best = {k.name: k.study.cycles for k in first.study.kernels if k.study}
        assert {r.workload.title.partition("(")[0]: r.cycles for r in database.records()} == best


@pytest.mark.slow
def test_network_starts_from_a_database(first: Searched, tmp_path: Path) -> None:
    shutil.copy(first.database, tmp_path)
    second = searched(parse_network(LARGER.replace("scale", "times")), tmp_path).study
    assert all(k.study and "the schedule found before" in k.study.began_with for k in second.kernels)
    assert "kernels began with found schedules; one starts from the schedule found before" in study_text(second)
    assert second.cycles <= first.study.cycles


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    """The search of one kernel with an open size, with a damaged database."""
    folder = tmp_path_factory.mktemp("opened")
    (folder / "found.sqlite3").write_bytes(b"not a database" * 100)
    return searched(parse_network(OPEN), folder, sizes={"n": 512})


@pytest.mark.slow
def test_search_continues_without_a_damaged_database(opened: Searched) -> None:
    study = opened.study
    assert all(k.is_scheduled for k in study.kernels)
    text = study_text(study)
    assert text.count("the search goes on without it") == 1 and "began with found schedules" not in text
    assert all("goes on without it" in kernel["database_problem"] for kernel in study_json(study)["kernels"])


@pytest.mark.slow
def test_schedule_of_an_open_size_holds_for_all_calls(opened: Searched) -> None:
    whole = opened.whole
    (relu,) = opened.study.kernels
    assert relu.runs == 4 and relu.is_scheduled and relu.cycles < relu.before and relu.study is not None
    func = scheduled_program(whole["relu"], relu.study.lines)
    assert structural_equal(whole["relu"], distinct_kernels(whole, {"n": 512})[0].func)
    short, long = (np.full((512 * n, 8), -1.5, "float32") for n in (1, 2))
    for result in run_network(whole, {"x": short, "z": long}, {"n": 512}, scheduled={"relu": func}):
        np.testing.assert_array_equal(result, np.zeros_like(result))


@pytest.mark.parametrize("is_kept", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_kernels_that_are_kept_or_cannot_be_derived(is_kept: bool) -> None:
    # A block without loops has nothing to tile.
    odd = TWO_SIZES.replace(
        """        for i, j in T.grid(64, 256):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)
""",
        """        with T.sblock("scale"):
            T.reads(x[0, 0])
            T.writes(y[0, 0])
            y[0, 0] = x[0, 0] * T.float32(2)
""",
    )
    assert odd != TWO_SIZES
    whole = parse_network(odd)
    schedule = Schedule(whole["scale"])
    schedule.parallel(schedule.get_loops("scale")[0])
    seen: list[NetworkProgress] = []
    study = explore_network(
        whole, NPU, seconds=60, workers=0, scheduled={"scale": schedule.func} if is_kept else {}, watch=seen.append,
        stop=lambda: len(seen) >= 2,
    )  # fmt: skip
    (refused,) = study.refused
    assert refused.name == "scale1" and refused.study is not None and refused.study.message
    assert "scale1 stays unscheduled: " in study_text(study)
    (scale,) = [k for k in study.kernels if k.name == "scale"]
    assert scale.is_kept == is_kept and {p.last.name for p in seen} == {"scale1"} | (set() if is_kept else {"scale"})
    if is_kept:
        assert scale.study is None and scale.cycles == scale.before and "kept" in study_text(study)
    else:
        assert scale.is_scheduled


def test_schedule_that_is_no_longer_legal_is_dropped() -> None:
    whole = network()
    known = {"both": KernelStudy("both", "x = 1", 'sch.parallel("nobody")', 5, "proved", slices=1, ended=True)}
    study = explore_network(whole, NPU, seconds=60, workers=0, known=known, stop=lambda: True)
    (both,) = [k for k in study.kernels if k.name == "both"]
    assert not both.is_scheduled and both.cycles == both.before and study.seconds < 30
    assert both.study is not None and both.study.code


@pytest.mark.slow
def test_kernels_of_equal_structure_start_from_the_first_sketch() -> None:
    tasks: list[KernelTask] = []
    seen: list[NetworkProgress] = []
    whole = parse_network(TWO_SIZES)

    class Noting(ThreadWorker):
        def perform(self, task: KernelTask, ended: Ended) -> KernelStudy | None:
            tasks.append(task)
            return super().perform(task, ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "ThreadWorker", Noting)
        study = explore_network(whole, NPU, seconds=60, workers=0, watch=seen.append, stop=lambda: len(seen) >= 2)
    first, second = tasks
    found = {k.name: k.study for k in study.kernels}
    assert (first.known.kernel, second.known.kernel) == ("scale1", "scale"), (
        "the kernel with the most to win comes first"
    )
    derived = found["scale1"]
    assert first.choices == () and derived is not None and derived.choice is not None
    assert second.choices == (derived.choice,) and second.enough > 0
    assert all(s is not None and s.status == "proved" for s in found.values())
