"""`[caches.NAME]` in machine files: read, refused with their line, varied by `replace`."""

from __future__ import annotations

import pytest
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import MachineError, read_machine

CACHED = (
    PLAIN
    + """
[caches.l1]
memory = "ddr"
engines = ["scalar"]
size_bytes = 32768
ways = 8
line_bytes = 64
latency_cycles = 4
bytes_per_cycle = 32
source.ways = "the vendor's manual"

[caches.l2]
memory = "ddr"
engines = ["scalar"]
size_bytes = 524288
ways = 8
line_bytes = 64
latency_cycles = 12
bytes_per_cycle = 32
"""
)


def test_cache_levels_are_in_file_order():
    machine = read_machine(CACHED)
    l1, l2 = machine.caches_of("scalar", "ddr")
    assert (l1.name, l1.sets, l2.name, l2.sets) == ("l1", 64, "l2", 1024)
    assert machine.caches_of("dma", "ddr") == () and read_machine(PLAIN).caches == ()
    assert dict(l1.source) == {"ways": "the vendor's manual"}


def test_replacing_a_cache_parameter_by_path_changes_only_it():
    machine = read_machine(CACHED)
    varied = machine.replace("caches.l1.ways", 4)
    assert varied.caches[0].ways == 4 and varied.caches[1] == machine.caches[1]
    assert varied.memories == machine.memories and varied.engines == machine.engines
    with pytest.raises(MachineError) as caught:
        machine.replace("caches.l3.ways", 4)
    assert caught.value.code == "unknown-figure" and "caches.l2" in caught.value.refusal.expected


@pytest.mark.parametrize(
    ("old", "new", "code", "line_of"),
    [
        ('memory = "ddr"', 'memory = "nowhere"', "unknown-memory", 'memory = "nowhere"'),
        ('engines = ["scalar"]', 'engines = ["nobody"]', "unknown-engine", 'engines = ["nobody"]'),
        ('engines = ["scalar"]', "engines = []", "unknown-engine", "engines = []"),
        ("size_bytes = 32768", "size_bytes = 32769", "uneven-sets", "size_bytes = 32769"),
        ("ways = 8", "ways = 0", "bad-figure", "ways = 0"),
        ("ways = 8\n", "", "missing-figure", "[caches.l1]"),
        ("ways = 8", "ways = 8\nkind = 8", "unknown-key", "kind = 8"),
        ("line_bytes = 64", "line_bytes = 128", "uneven-lines", "line_bytes = 64"),
        ("ways = 8", 'ways = 8\nreplacement = "random"', "bad-figure", 'replacement = "random"'),
        (
            "line_bytes = 64\nlatency_cycles = 12",
            'line_bytes = 128\ninclusion = "exclusive"',
            "uneven-lines",
            "line_bytes = 128",
        ),
        ("latency_cycles = 12", "latency_cycles = 12\nprefetch_lines = 1", "prefetch-level", "prefetch_lines = 1"),
        ("ways = 8", "ways = 8\nprefetch_lines = 65", "bad-figure", "prefetch_lines = 65"),
        ("ways = 8", 'ways = 8\ninclusion = "exclusive"', "no-previous-level", 'inclusion = "exclusive"'),
        (
            "size_bytes = 32768\nways = 8",
            'size_bytes = 24576\nreplacement = "plru"\nways = 6',
            "uneven-ways",
            "ways = 6",
        ),
    ],
)
def test_an_invalid_cache_is_refused_at_its_line(old: str, new: str, code: str, line_of: str):
    assert old in CACHED.partition("[caches.l1]")[2]
    head, section, rest = CACHED.partition("[caches.l1]")
    text = head + section + rest.replace(old, new, 1)
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    refusal = caught.value.refusal
    assert refusal.code == code
    line = text.splitlines()[refusal.place.line - 1]
    assert line_of in line and (
        code != "uneven-lines" or refusal.place.line > text[: text.index("[caches.l2]")].count("\n")
    )
