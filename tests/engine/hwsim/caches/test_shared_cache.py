"""The contents of a cache that all cores share, against a plain replay of every line, and its effect on cycles."""

from __future__ import annotations

import msgspec
import pytest
from support.profile import samples
from support.simulator.shared_cache import Kernel, dispatched, kernel_of, plainly, simulated

from tilewright.engine.hwsim import MachineError, load_machine, simulate
from tilewright.engine.hwsim.replay.cores.dispatch import BlockOrder, block_indices, order_of
from tilewright.engine.hwsim.tasks.nest import Loop
from tilewright.engine.ir import Var
from tilewright.engine.script import parse

TALL = Kernel(32 * 12, 32 * 12, 16 * 8, (32, 32, 16), 0, False, 2, 0, "row", 4, 3, "first_free", 1400)
"""12 x 12 blocks, 12 of them at a time: 12 tiles of B in each row, for which the cache has no room."""


@pytest.mark.parametrize("seed", samples(range(300), *range(24)))
def test_law_hits_are_those_of_a_plain_replay_of_every_line(seed: int) -> None:
    kernel = kernel_of(seed)
    found, refused = simulated(kernel)
    assert not refused
    assert found == plainly(kernel)


def test_law_blocks_are_handed_out_as_in_tilelangs_templates() -> None:
    for seed in range(40):
        kernel = kernel_of(seed)
        width, height = kernel.grid
        loops = [Loop(Var(a), n, a, grid=True, axis=a) for a, n in (("x", width), ("y", height))]
        order = BlockOrder(kernel.panel, "row" if kernel.along == "row" else "column")
        assert [(int(x), int(y)) for x, y in block_indices(loops, order)] == dispatched(kernel)
        assert order_of(parse(kernel.text).program) == (order if kernel.panel else BlockOrder())


def test_another_order_of_blocks_moves_fewer_bytes_behind_the_cache_and_is_the_fix() -> None:
    machine = TALL.machine.replace("memories.hbm.read_bytes_per_cycle", 24).replace(
        "memories.hbm.write_bytes_per_cycle", 24
    )
    report = simulate(parse(TALL.text).program, machine)
    own, *others = report.cache_orders
    assert own.cycles == report.cycles and own.behind_bytes > 1.5 * others[0].behind_bytes
    (finding,) = [f for f in report.findings if f.code == "shared-cache-thrash"]
    best = min((o for o in others if o.cycles), key=lambda o: o.cycles or 0)
    assert finding.saved == report.cycles - (best.cycles or 0) > 0
    # The order that is named is that of the kernel with this statement.
    after = msgspec.structs.replace(TALL, panel=best.panel, along=best.along)
    again = simulate(parse(after.text).program, machine)
    assert again.cycles == best.cycles
    assert "shared-cache-thrash" not in {f.code for f in again.findings}
    assert again.chip is not None and again.chip.cache is not None
    assert again.chip.cache.missed_bytes + again.chip.cache.returned_bytes == best.behind_bytes


def test_a_cache_for_everything_misses_each_line_once_and_costs_what_a_wide_memory_costs() -> None:
    large = msgspec.structs.replace(TALL, lines=1 << 16)
    report = simulate(parse(large.text).program, large.machine)
    assert report.chip is not None and report.chip.cache is not None
    assert report.chip.cache.missed_bytes == 2 * 384 * 128 * 2
    assert report.chip.cache.returned_bytes == 384 * 384 * 2
    (port,) = [p for p in report.chip.ports if p.name == report.chip.cache.behind]
    assert port.bytes == report.chip.cache.missed_bytes + report.chip.cache.returned_bytes


def test_addresses_that_are_not_known_are_hits_and_said() -> None:
    text = TALL.text.replace("A[by * 32, ko * 16]", "A[(by * by) % 12 * 32, ko * 16]")
    report = simulate(parse(text).program, TALL.machine)
    assert report.chip is not None and report.chip.cache is not None
    said = "shared-cache-unknown" in {f.code for f in report.findings}
    assert said == bool(report.chip.cache.refused)
    assert said or report.chip.cache.missed_bytes > 0


@pytest.mark.parametrize("changes", [{"replacement": "fifo"}, {"prefetch_lines": 1}])
def test_a_shared_cache_of_another_kind_is_refused(changes: dict[str, object]) -> None:
    machine = load_machine("a100")
    with pytest.raises(MachineError) as caught:
        for key, value in changes.items():
            machine = machine.replace(f"caches.l2.{key}", value)
    assert caught.value.code == "shared-cache"
