"""Levels in machine files: what is wrong is refused with its line, and a level can be changed like any part."""

from __future__ import annotations

import pytest
from support.simulator.chips.machines import on_cores
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import MachineError, read_machine

LEVELS = """
[levels.cluster]
count = 4

[levels.core]
count = 8
in = "cluster"
dispatch = "round_robin"
start_cycles = 100
source.count = "assumed"
source.in = "assumed"
"""


CHIP = on_cores(PLAIN) + LEVELS


def test_levels_are_nested():
    machine = read_machine(CHIP)
    assert machine.core is not None and (machine.core.name, machine.cores) == ("core", 32)
    assert [machine.cores_around(name) for name in ("", "cluster", "core")] == [32, 8, 1]
    assert machine.shared_levels == {"", "cluster"}


def test_a_machine_without_levels_is_one_core():
    machine = read_machine(PLAIN)
    assert (machine.core, machine.cores, machine.shared_levels) == (None, 1, frozenset())


def test_a_level_is_changed_by_its_path():
    machine = read_machine(CHIP).replace("levels.core.count", 2).replace("core.dispatch", "static")
    assert machine.cores == 8 and machine.core is not None and machine.core.dispatch == "static"
    with pytest.raises(MachineError) as refused:
        machine.replace("levels.core.dispatch", "at random")
    assert refused.value.code == "bad-figure"


@pytest.mark.parametrize(
    ("old", "new", "code", "key"),
    [
        ('in = "cluster"', 'in = "tile"', "unknown-level", "in"),
        ('in = "cluster"', "", "levels-apart", "[levels.core]"),
        ("count = 4", 'count = 4\nin = "core"', "levels-apart", "in"),
        ("count = 8", "count = 0", "bad-figure", "count"),
        ("count = 8", "", "missing-figure", "[levels.core]"),
        ('"round_robin"', '"random"', "bad-figure", "dispatch"),
        ("start_cycles = 100", "start_cycle = 100", "unknown-key", "start_cycle"),
        ("start_cycles = 100", 'shared_memories = ["ram"]', "unknown-memory", "shared_memories"),
    ],
)
def test_a_wrong_level_is_refused_at_its_line(old: str, new: str, code: str, key: str):
    text = CHIP.replace(old, new)
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    refusal = caught.value.refusal
    assert refusal.code == code
    assert refusal.place is not None and text.splitlines()[refusal.place.line - 1].startswith(key)


def test_engines_belong_to_the_cores():
    with pytest.raises(MachineError) as caught:
        read_machine(on_cores(PLAIN, "cluster") + LEVELS)
    assert (caught.value.code, caught.value.refusal.expected) == ("engine-level", 'level = "core"')
    with pytest.raises(MachineError) as caught:
        read_machine(PLAIN + LEVELS)
    assert caught.value.code == "engine-level"


def test_a_part_of_an_unknown_level():
    with pytest.raises(MachineError) as caught:
        read_machine(on_cores(PLAIN, "tile"))
    assert caught.value.code == "unknown-level"


def test_cores_share_one_cache():
    cache = '[caches.l2]\nmemory = "ddr"\nengines = ["dma"]\nsize_bytes = 4096\nways = 4\nline_bytes = 64\nbytes_per_cycle = 8\n'
    machine = read_machine(CHIP + cache)
    assert machine.shared_cache is not None
    assert machine.before_caches.memory("ddr").read_bytes_per_cycle == 8
    for wrong in (cache + 'replacement = "fifo"\n', cache + cache.replace("l2", "l3")):
        with pytest.raises(MachineError) as caught:
            read_machine(CHIP + wrong)
        assert caught.value.code == "shared-cache"
