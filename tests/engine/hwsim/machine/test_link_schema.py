"""Links in machine files: the segments of their paths, and what is wrong is refused with its line."""

from __future__ import annotations

import pytest
from support.simulator.chips.machines import on_cores, staged_copy
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, MachineError, read_machine, simulate
from tilewright.engine.hwsim.machine.links import Routes, routes_of

LINKS = """
[levels.core]
count = 12
dispatch = "round_robin"

[links.down]
from = "ddr"
to = "pad"
bytes_per_cycle = 4
shape = "mesh"
row_nodes = 4
attached = [0, 11]
hop_cycles = 5
source.hop_cycles = "assumed"

[links.up]
from = "pad"
to = "ddr"
bytes_per_cycle = 4
"""

CHIP = on_cores(PLAIN) + LINKS


def routes(**changes: object) -> Routes:
    machine = read_machine(CHIP)
    for key, value in changes.items():
        machine = machine.replace(f"links.down.{key}", value)
    return routes_of(machine.links[0], machine)


def test_a_path_goes_along_the_row_and_then_along_the_column():
    found = routes(attached=(0,))
    assert dict(found.path([6]).parts) == {(-1, 0): 1, (0, 1): 1, (1, 2): 1, (2, 6): 1}
    assert found.delay([6], 6) == 4 * 5
    down = routes(attached=(0,), direction="down")
    assert list(down.path([6]).parts) and set(down.path([6]).parts) == {(-1, 0), (0, 4), (4, 5), (5, 6)}


def test_a_core_uses_the_nearest_attachment_or_an_equal_part_of_each():
    assert set(routes().path([10]).parts) == {(-2, 11), (11, 10)}
    both = routes(access="interleaved").path([10])
    assert (both.of, both.parts[-2, 11], both.parts[-1, 0]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("shape", "direction", "segments"),
    [
        ("ring", "both", {(-1, 0), (0, 11), (11, 10)}),
        ("ring", "up", {(-1, 0), *((n, n + 1) for n in range(10))}),
        ("torus", "both", {(-1, 0), (0, 1), (1, 2), (2, 10)}),
        ("torus", "down", {(-1, 0), (0, 8), (8, 11), (11, 10)}),
        ("bus", "both", {(-1, 0)}),
    ],
)
def test_the_way_around_a_ring_or_torus(shape: str, direction: str, segments: set[tuple[int, int]]):
    assert set(routes(attached=(0,), shape=shape, direction=direction).path([10]).parts) == segments


def test_a_transfer_to_several_cores_occupies_each_segment_of_its_tree_once():
    path = routes(attached=(0,)).path([1, 2, 6])
    assert dict(path.parts) == {(-1, 0): 1, (0, 1): 1, (1, 2): 1, (2, 6): 1}


@pytest.mark.parametrize(
    ("old", "new", "code", "key"),
    [
        ('from = "ddr"', 'from = "dram"', "unknown-memory", "from"),
        ('to = "pad"', 'to = "ddr"', "link-level", "to"),
        ("row_nodes = 4", "row_nodes = 5", "uneven-links", "row_nodes"),
        ("attached = [0, 11]", "attached = [12]", "link-node", "attached"),
        ("attached = [0, 11]", "attached = []", "link-node", "attached"),
        ('shape = "mesh"', 'shape = "star"', "bad-figure", "shape"),
        ("hop_cycles = 5", "hop_cycle = 5", "unknown-key", "hop_cycle"),
        ("source.hop_cycles", "source.hops", "unknown-key", "source.hops"),
    ],
)
def test_a_wrong_link_is_refused_at_its_line(old: str, new: str, code: str, key: str):
    text = CHIP.replace(old, new, 1)
    with pytest.raises(MachineError) as caught:
        read_machine(text, "m.toml")
    refusal = caught.value.refusal
    assert refusal.code == code
    assert refusal.place is not None and text.splitlines()[refusal.place.line - 1].startswith(key)


def test_multicast_needs_a_link_to_the_cores_and_a_fixed_order_of_blocks():
    def code(text: str) -> str:
        with pytest.raises(MachineError) as caught:
            read_machine(text)
        return caught.value.code

    assert code(CHIP + "multicast = true\n") == "link-multicast"
    cast = CHIP.replace("hop_cycles = 5", "multicast = true")
    assert code(cast.replace("round_robin", "first_free")) == "link-multicast"


def test_a_chip_of_one_core_has_links_of_one_node():
    machine = read_machine(CHIP).replace("links.down.row_nodes", 0).replace("levels.core.count", 1)
    found = routes_of(machine.links[0], machine)
    assert (found.nodes, dict(found.path([0]).parts)) == (1, {(-1, 0): 1})
    plain = read_machine(on_cores(PLAIN) + "\n[levels.core]\ncount = 1\n")
    assert cycles(machine, 1) == cycles(plain, 1) + 5


def cycles(machine: Machine, blocks: int = 12) -> int:
    report = simulate(staged_copy(blocks), machine)
    assert report.unknown is None
    return report.cycles


def test_a_link_of_one_core_delays_by_its_hops_only():
    machine = read_machine(CHIP).replace("levels.core.count", 12).replace("links.down.bytes_per_cycle", 1 << 20)
    machine = machine.replace("links.up.bytes_per_cycle", 1 << 20)
    far = machine.replace("links.down.attached", (11,))
    near = far.replace("links.down.attached", (0,))
    # One block runs on the first core, at node 0: five hops are farther than the near attachment.
    assert cycles(far, 1) - cycles(near, 1) == 5 * 5


def test_the_report_names_the_busiest_segment_and_the_core_that_waits_longest():
    report = simulate(staged_copy(24), read_machine(CHIP).replace("links.down.attached", (0,)))
    assert report.chip is not None and report.unknown is None
    down = next(port for port in report.chip.ports if port.name == "down")
    assert (down.bytes, down.busiest, down.segments, down.hops) == (24 * 8 * 256 * 4, "ddr to node 0", 12, 6)
    assert down.cycles == down.bytes // 4 and down.longest is not None and down.longest[1] > 0
    up = next(port for port in report.chip.ports if port.name == "up")
    assert (up.bytes, up.busiest, up.segments) == (down.bytes, "", 0) and up.cycles == down.cycles
