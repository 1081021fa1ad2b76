"""Machine files: invalid ones are refused with the line; `replace` checks like a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.simulator.machines import PLAIN, plain

from tilewright.engine.hwsim import MachineError, load_machine, read_machine


def refusal(text: str):
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    return caught.value.refusal


def test_scopes_of_the_presets_are_those_of_the_discussions():
    dual, shared = load_machine("dual-bank-npu"), load_machine("matrix-vector-npu")
    assert dual.find_memory("local.vtcm").blocks == 2
    matrix, vector = shared.engine("matrix"), shared.engine("vector")
    assert matrix.writes == vector.reads == ("local",)
    assert dual.find_memory("nowhere") is None
    vtcm = dual.find_memory("local.vtcm_Block_2")
    assert vtcm is dual.find_memory("local.vtcm") and vtcm.block_of("local.vtcm_Block_2") == 1
    assert vtcm.block_of("local.vtcm") is None
    vta = load_machine("vta")
    assert [vta.find_memory(f"local.{b}_buffer").name for b in ("inp", "wgt", "acc")] == ["inp", "wgt", "acc"]


def test_a_file_is_loaded_by_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(PLAIN)
    assert load_machine(file) == load_machine(str(file)) == plain()
    assert hash(load_machine(file)) == hash(plain())


@pytest.mark.parametrize("name", ["nothing-like-it", "missing.toml", "../static"])
def test_a_missing_machine_is_refused(name: str):
    with pytest.raises(MachineError) as caught:
        load_machine(name)
    assert caught.value.code in ("unknown-machine", "machine-file")


@pytest.mark.parametrize(
    ("old", "new", "code", "line_of"),
    [
        ("banks = 2", "banks = -2", "bad-figure", "banks = -2"),
        ("banks = 2", "banks = 2.5", "bad-figure", "banks = 2.5"),
        ("banks = 2", "bank = 2", "unknown-key", "bank = 2"),
        ("banks = 2", "banks = 3", "uneven-banks", "banks = 3"),
        ("banks = 2", 'banks = 2\nmapping = "interleave"', "no-interleave", "mapping"),
        ("banks = 2", 'banks = 2\nsource.bnks = "x"', "unknown-key", "source.bnks"),
        ("banks = 2", "banks = 2\nsource.banks = 7", "bad-figure", "source.banks"),
        ("banks = 2", "banks =", "machine-file", "banks ="),
        ("banks = 2", "a." * 100 + "a = 2", "machine-file", "a.a.a"),
        ('scopes = ["local"]', 'scopes = ["global"]', "scope-taken", 'scopes = ["global"]\ncapacity_bytes = 8_192'),
        ('scopes = ["local"]', "scopes = []", "no-scope", "scopes = []"),
        ('scopes = ["local"]', 'scopes = ["local"]\nblock_scopes = ["a", "a"]', "scope-taken", "block_scopes"),
        ('scopes = ["local"]', 'scopes = ["local"]\nblock_scopes = ["global"]', "scope-taken", "block_scopes"),
        ("tile_rows = 8\n", "", "missing-figure", "[engines.matrix]"),
        ('kind = "matrix"', 'kind = "tensor"', "bad-figure", 'kind = "tensor"'),
        (
            'kind = "dma"\nreads = ["ddr", "pad"]',
            'kind = "dma"\nreads = ["dram"]',
            "unknown-memory",
            'reads = ["dram"]',
        ),
        ('kind = "dma"\nreads = ["ddr", "pad"]', 'kind = "dma"\nreads = []', "no-reach", "reads = []"),
        ("clock_hz = 1_000_000_000", "clock_hz = 0", "bad-figure", "clock_hz = 0"),
        ("clock_hz = 1_000_000_000", "", "missing-figure", None),
    ],
)
def test_an_invalid_file_is_refused_at_its_line(old: str, new: str, code: str, line_of: str | None):
    assert old in PLAIN
    text = PLAIN.replace(old, new, 1)
    refused = refusal(text)
    assert refused.code == code
    assert refused.message and refused.expected and refused.place is not None and refused.place.file == "m.toml"
    if line_of is not None:
        assert refused.place.line == text[: text.index(line_of)].count("\n") + 1


def test_a_machine_without_memories_is_refused():
    assert refusal('name = "x"\nclock_hz = 1\n').code == "missing-figure"
    assert refusal('name = "x"\nclock_hz = 1\nmemories = 3\n').code == "missing-figure"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("memories.pad.banks", 4),
        ("local.banks", 4),
        ("pad.banks", 4),
        ("engines.dma.bytes_per_cycle", 64),
        ("dma.setup_cycles", 0),
        ("clock_hz", 5),
        ("memories.pad.scopes", ("local", "shared")),
    ],
)
def test_replacing_a_parameter_by_path_changes_only_it(path: str, value: object):
    machine = plain()
    changed = machine.replace(path, value)
    assert changed != machine == plain()
    field = path.rpartition(".")[2]
    parts = (changed, *changed.memories, *changed.engines)
    before = (machine, *machine.memories, *machine.engines)
    assert sum(getattr(a, field, None) != getattr(b, field, None) for a, b in zip(before, parts, strict=True)) == 1
    assert any(getattr(p, field, None) == value for p in parts)
    assert [dict(p.source) for p in parts if p.source] == [{field: "changed by Machine.replace"}]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("memories.pad.bank", 4, "unknown-figure"),
        ("memories.none.banks", 4, "unknown-figure"),
        ("nowhere", 4, "unknown-figure"),
        ("memories.pad.name", "x", "unknown-figure"),
        ("engines", (), "unknown-figure"),
        ("local.banks", 0, "bad-figure"),
        ("local.banks", "four", "bad-figure"),
        ("local.banks", 3, "uneven-banks"),
        ("engines.dma.reads", ("dram",), "unknown-memory"),
    ],
)
def test_replacing_by_an_invalid_value_is_refused(path: str, value: object, code: str):
    with pytest.raises(MachineError) as caught:
        plain().replace(path, value)
    assert caught.value.code == code
    assert caught.value.refusal.expected


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5_000 + "]" * 5_000,
        "x = " + "[" * 100_000,
        "x = " + "{a = " * 3_000 + "1" + "}" * 3_000,
        "clock_hz = " + "9" * 5_000,
        "[memories.a]\nbanks = 0x" + "f" * 5_000,
    ],
    ids=("lists", "lists without an end", "tables", "digits", "hexadecimal digits"),
)
def test_malicious_file_is_refused(text: str) -> None:
    with pytest.raises(MachineError):
        read_machine(text)


def test_a_pipe_does_not_block_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(MachineError, match="not a file"):
        load_machine(tmp_path / "pipe.toml")
