"""Calibration: the machine file follows from a record, an interrupted record is continued, and noise is told."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import msgspec
import pytest

import tilewright.app.cli as cli
import tilewright.app.cli.commands.timing.calibrate as command
from tilewright.engine.hwsim import load_machine
from tilewright.engine.hwsim.caches.report import CacheCounts, CacheRow
from tilewright.engine.ir import TilewrightError
from tilewright.engine.measure.calibrate import (
    QUANTITIES,
    Calibration,
    Measured,
    Quantity,
    calibrate,
    calibrated_machine,
    machine_text,
    quick_quantities,
    read_calibration,
)
from tilewright.engine.measure.calibrate import record as recording
from tilewright.engine.measure.calibrate.machine import CacheShape, figures, system_caches
from tilewright.engine.measure.measured import Spread
from tilewright.engine.measure.ports import traffic_time

RECORDED = read_calibration(Path(__file__).with_name("recorded.json"))
"""A quick calibration of one core of an AMD EPYC (Zen 4) that others used at the same time."""

ZEN4 = (CacheShape(32 << 10, 8, 64), CacheShape(1 << 20, 8, 64), CacheShape(32 << 20, 16, 64))

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, recording.COMPILERS)), reason="there is no C compiler on this computer"
)


def row(kernel: str, nanoseconds: float, size_bytes: int = 4096, spread: float = 0.0) -> Measured:
    limits = Spread(nanoseconds, nanoseconds * (1 - spread), nanoseconds * (1 + spread))
    return Measured(kernel, size_bytes, limits, 5)


def with_rows(*rows: Measured) -> Calibration:
    return msgspec.structs.replace(RECORDED, processor="a core", rows=rows)


def test_the_clock_is_that_of_dependent_additions():
    assert with_rows(row("int_add_chain", 0.25)).clock_hz == 4e9
    assert with_rows().clock_hz is None
    assert RECORDED.clock_hz == pytest.approx(3.64e9, rel=0.01)


def test_a_machine_has_the_figures_of_its_record():
    found = with_rows(
        row("int_add_chain", 0.25),
        row("f32_fma_many", 0.125),
        row("f32_fma_chain", 1.0),
        row("latency", 1.0, 16 << 10),
        row("latency", 3.5, 256 << 10),
        row("latency", 90.0, 256 << 20),
        row("read_bytes", 1 / 256, 16 << 10),
        row("read_bytes", 1 / 32, 256 << 20),
        row("write_bytes", 1 / 16, 256 << 20),
    )
    machine = calibrated_machine(found, "mine", ZEN4)
    first, second, third = machine.caches
    assert (machine.name, machine.clock_hz) == ("mine", 4_000_000_000)
    assert (first.size_bytes, first.latency_cycles, first.bytes_per_cycle) == (32 << 10, 4, 64)
    assert (second.size_bytes, second.latency_cycles) == (1 << 20, 14)
    # What was not measured is the preset's.
    assert third.latency_cycles == load_machine("cpu-core").caches[2].latency_cycles
    memory, simd = machine.far, machine.engine("simd")
    assert (memory.latency_cycles, memory.read_bytes_per_cycle, memory.write_bytes_per_cycle) == (360, 8, 4)
    assert (simd.latency_cycles, simd.vector_bytes) == (4, 2 * found.vector_bytes)


def test_each_measured_figure_has_its_limits_beside_it():
    text = machine_text(RECORDED, "mine", ZEN4)
    found = tomllib.loads(text)
    told = found["caches"]["L2"]["source"]["latency_cycles"]
    assert "262144 B" in told and "to" in told and "5 samples, noisy (AMD EPYC, 2026-11-28)" in told
    assert found["caches"]["L2"]["source"]["ways"] == "told by the system"
    paths = [figure.path for figure in figures(RECORDED, ZEN4)]
    assert len(set(paths)) == len(paths) > 20


def test_the_recorded_levels_are_in_order():
    machine = calibrated_machine(RECORDED, "mine", ZEN4)
    waits = [cache.latency_cycles for cache in machine.caches] + [machine.far.latency_cycles]
    rates = [cache.bytes_per_cycle for cache in machine.caches] + [machine.far.read_bytes_per_cycle]
    assert waits == sorted(waits) and rates == sorted(rates, reverse=True)


def test_a_record_without_a_clock_changes_nothing():
    assert not list(figures(with_rows(row("latency", 1.0, 16 << 10)), ZEN4))


def test_noise_is_told():
    assert row("latency", 1.0, spread=0.06).is_noisy and not row("latency", 1.0, spread=0.04).is_noisy


def test_a_quick_calibration_has_the_same_kernels():
    assert {q.kernel for q in quick_quantities()} == {q.kernel for q in QUANTITIES}
    assert len(quick_quantities()) < len(QUANTITIES) / 3


def test_the_system_tells_its_caches(tmp_path: Path):
    for index, (kind, level, size) in enumerate([("Data", 1, "32K"), ("Instruction", 1, "32K"), ("Unified", 2, "1M")]):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for key, value in {"type": kind, "level": level, "size": size, "ways_of_associativity": 8}.items():
            (folder / key).write_text(f"{value}\n")
    assert system_caches(tmp_path) == (CacheShape(32 << 10, 8, 64), CacheShape(1 << 20, 8, 64))
    assert system_caches(tmp_path / "none") == ()


@needs_compiler
def test_an_interrupted_calibration_continues(tmp_path: Path):
    first, second = Quantity("int_add_chain"), Quantity("latency", 16 << 10)
    asked: list[str] = []
    file = tmp_path / "cpu.json"
    calibrate([first], file, samples=2)
    found = calibrate([first, second], file, samples=2, on_progress=lambda _, q: asked.append(q.name))
    assert asked == ["latency/16384"] and found == read_calibration(file)
    assert [(r.kernel, r.samples) for r in found.rows] == [("int_add_chain", 2), ("latency", 2)]
    assert found.clock_hz is not None and 1e8 < found.clock_hz < 1e10
    assert all(r.nanoseconds.low <= r.nanoseconds.median <= r.nanoseconds.high for r in found.rows)


@needs_compiler
@pytest.mark.parametrize("kernel", sorted({q.kernel for q in QUANTITIES}))
def test_each_kernel_runs(kernel: str, tmp_path: Path):
    size = next(q.size_bytes for q in QUANTITIES if q.kernel == kernel)
    (found,) = calibrate([Quantity(kernel, max(size, 32 << 10))], tmp_path / "cpu.json", samples=1).rows
    assert 0 < found.nanoseconds.median < 1e5


def test_a_record_of_another_processor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "cpu.json"
    file.write_bytes(msgspec.json.encode(with_rows()))
    monkeypatch.setattr(recording.shutil, "which", lambda _: "/usr/bin/cc")
    with pytest.raises(TilewrightError) as caught:
        calibrate([], file)
    assert caught.value.refusal.code == "other-processor"


def test_a_damaged_record_is_told(tmp_path: Path):
    file = tmp_path / "cpu.json"
    file.write_text("{")
    with pytest.raises(TilewrightError) as caught:
        read_calibration(file)
    assert caught.value.refusal.code == "calibration-file"


def test_a_computer_without_a_compiler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recording.shutil, "which", lambda _: None)
    with pytest.raises(TilewrightError) as caught:
        calibrate([], tmp_path / "cpu.json")
    assert caught.value.refusal.code == "no-compiler"


@needs_compiler
def test_the_command_writes_a_machine_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(command, "quick_quantities", lambda: (Quantity("int_add_chain"), Quantity("latency", 16 << 10)))
    target = tmp_path / "mine.toml"
    assert cli.main(["calibrate", "--quick", "--output", str(target)]) == 0
    text = capsys.readouterr().out
    assert "int_add_chain" in text and "GHz" in text and "noisy" in text
    assert load_machine(target).name == "mine" and (tmp_path / "mine.json").exists()


def test_traffic_takes_as_long_as_the_busiest_path_between_levels():
    machine = calibrated_machine(RECORDED, "mine", ZEN4)
    rows = (CacheRow("L1", "B", "A", 9000, 0, 8000, 0), CacheRow("L2", "B", "A", 8000, 0, 4000, 0))
    counts = CacheCounts(rows, {"L1": 1000}, 9000, 9000)
    cycle_us = 1e6 / machine.clock_hz
    by_second = 9000 * 64 / machine.caches[1].bytes_per_cycle * cycle_us
    by_third = 4000 * 64 / machine.caches[2].bytes_per_cycle * cycle_us
    assert traffic_time(counts, machine, 16 << 10) == 0
    assert traffic_time(counts, machine, 512 << 10) == pytest.approx(by_second)
    assert traffic_time(counts, machine, 8 << 20) == pytest.approx(max(by_second, by_third))
