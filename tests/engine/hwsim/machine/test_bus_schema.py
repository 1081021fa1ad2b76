"""Ports, queues and `[buses.NAME]` in machine files: read, refused with their line, varied by `replace`."""

from __future__ import annotations

import pytest
from support.simulator.machines import PLAIN, plain

from tilewright.engine.hwsim import MachineError, read_machine

BUSSED = (
    PLAIN
    + """
[buses.axi]
engines = ["dma", "vector"]
bytes_per_cycle = 16
burst_bytes = 64
source.burst_bytes = "the bus's specification"
"""
)


def test_a_bus_is_that_of_its_engines():
    machine = read_machine(BUSSED)
    (axi,) = machine.buses
    assert (axi.name, axi.bytes_per_cycle, axi.burst_bytes) == ("axi", 16, 64)
    assert machine.buses_of("dma") == machine.buses_of("vector") == (axi,)
    assert machine.buses_of("matrix") == () == plain().buses
    assert dict(axi.source) == {"burst_bytes": "the bus's specification"}


def test_default_ports_are_separate_and_queues_hold_eight():
    assert {m.ports for m in plain().memories} == {"separate"}
    assert {e.queue_tasks for e in plain().engines} == {8}
    shared = read_machine(PLAIN.replace("banks = 2", 'banks = 2\nports = "shared"'))
    assert [m.ports for m in shared.memories] == ["separate", "shared"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("buses.axi.bytes_per_cycle", 32),
        ("axi.burst_bytes", 1),
        ("buses.axi.engines", ("matrix",)),
        ("memories.pad.ports", "shared"),
        ("engines.dma.queue_tasks", 1),
    ],
)
def test_replacing_a_parameter_by_path_changes_only_it(path: str, value: object):
    machine = read_machine(BUSSED)
    varied = machine.replace(path, value)
    before = [*machine.memories, *machine.engines, *machine.buses]
    after = [*varied.memories, *varied.engines, *varied.buses]
    (changed,) = [new for old, new in zip(before, after, strict=True) if old != new]
    field = path.rpartition(".")[2]
    assert getattr(changed, field) == value and dict(changed.source)[field] == "changed by Machine.replace"


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("buses.ahb.bytes_per_cycle", 32, "unknown-figure"),
        ("buses.axi.width", 32, "unknown-figure"),
        ("buses", (), "unknown-figure"),
        ("buses.axi.bytes_per_cycle", 0, "bad-figure"),
        ("buses.axi.engines", ("nobody",), "unknown-engine"),
        ("memories.pad.ports", "both", "bad-figure"),
        ("engines.dma.queue_tasks", 0, "bad-figure"),
    ],
)
def test_replacing_by_an_invalid_value_is_refused(path: str, value: object, code: str):
    with pytest.raises(MachineError) as caught:
        read_machine(BUSSED).replace(path, value)
    assert caught.value.code == code and caught.value.refusal.expected


@pytest.mark.parametrize(
    ("old", "new", "code", "line_of"),
    [
        ('engines = ["dma", "vector"]', 'engines = ["nobody"]', "unknown-engine", 'engines = ["nobody"]'),
        ('engines = ["dma", "vector"]', "engines = []", "unknown-engine", "engines = []"),
        ("bytes_per_cycle = 16", "bytes_per_cycle = -1", "bad-figure", "bytes_per_cycle = -1"),
        ("bytes_per_cycle = 16", "", "missing-figure", "[buses.axi]"),
        ("burst_bytes = 64", "burst = 64", "unknown-key", "burst = 64"),
        ("[buses.axi]", "[buses]", "unknown-key", "engines"),
    ],
)
def test_an_invalid_bus_is_refused_at_its_line(old: str, new: str, code: str, line_of: str):
    head, section, rest = BUSSED.partition("[buses.axi]")
    text = head + (section + rest).replace(old, new, 1)
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    refusal = caught.value.refusal
    assert refusal.code == code and refusal.place is not None
    assert line_of in text.splitlines()[refusal.place.line - 1] and refusal.place.line > head.count("\n")


INTERLEAVED = PLAIN.replace(
    "banks = 2", 'banks = 8\nmapping = "interleave"\ninterleave_bytes = 32\nbank_groups = 4\nphase_bytes = 128'
)


def test_groups_of_banks_are_read():
    pad = read_machine(INTERLEAVED).memory("pad")
    assert (pad.bank_groups, pad.bank_ports, pad.broadcast, pad.phase_bytes) == (4, 1, True, 128)
    assert read_machine(INTERLEAVED.replace("vector_bytes = 32", 'vector_bytes = 32\noperands = "together"'))


@pytest.mark.parametrize(
    ("old", "new", "line_of"),
    [
        ("bank_groups = 4", "bank_groups = 3", "bank_groups = 3"),
        ('"interleave"', '"block"', "bank_groups = 4"),
        ("interleave_bytes = 32", "interleave_bytes = 48", "interleave_bytes = 48"),
    ],
)
def test_banks_that_do_not_divide_are_refused_at_their_line(old: str, new: str, line_of: str):
    text = INTERLEAVED.replace(old, new, 1)
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    refusal = caught.value.refusal
    assert refusal.code == "uneven-banks" and refusal.place is not None
    assert line_of in text.splitlines()[refusal.place.line - 1]
