"""Addresses of elements and their concurrent accesses, against the figures of reports."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
import pytest
from support.profile import samples

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import Report, accesses_of, distribution_of, load_machine, placement_of, simulate
from tilewright.engine.schedule import Schedule

EXAMPLES = sorted((Path(__file__).parents[4] / "static" / "examples").glob("*.py"))


def example(path: Path) -> tuple[Schedule, Report]:
    notebook = evaluate(load_document(path))
    assert notebook.schedule is not None and notebook.machine is not None
    return notebook.schedule, simulate(notebook.schedule.described, notebook.machine)


def unpadded() -> Report:
    schedule, _ = example(next(p for p in EXAMPLES if p.stem == "bank_conflicts"))
    straight = schedule.copy()
    straight.undo()
    return simulate(straight.func, load_machine("gpu-sm"))


def placement_named(report: Report, name: str):
    program = report.program
    (buffer,) = (b for b in program.places.by_buffer if b.name == name)
    placement = placement_of(program, buffer)
    assert placement is not None
    return placement


@pytest.mark.parametrize("path", samples(EXAMPLES, EXAMPLES[0], EXAMPLES[-1]), ids=lambda p: p.stem)
def test_each_element_has_its_own_address_within_the_footprint(path: Path) -> None:
    _, report = example(path)
    program = report.program
    for buffer, site in program.places.by_buffer.items():
        placement = placement_of(program, buffer)
        assert placement is not None
        if prod(placement.shape) > 1 << 18:
            continue
        for slot in range(site.slots):
            addresses = placement.addresses(np.indices(placement.shape), slot)
            places = set(zip(addresses.unit.reshape(-1).tolist(), addresses.address.reshape(-1).tolist(), strict=True))
            assert len(places) == prod(placement.shape)
            low, high = int(addresses.address.min()), int(addresses.address.max()) + placement.element_bytes
            assert site.address <= low and high <= site.address + site.total_bytes
            assert addresses.unit.min() >= 0 and addresses.unit.max() < max(placement.unit.count, 1)


def test_column_addresses_show_the_reported_conflicts() -> None:
    report = unpadded()
    placement = placement_named(report, "A_shared")
    assert (placement.unit.kind, placement.unit.count, placement.unit.row_bytes) == ("bank", 32, 4)
    addresses = placement.addresses(np.indices(placement.shape))
    assert set(addresses.unit[:, 5].tolist()) == {5} and addresses.unit[3].tolist() == list(range(32))
    (read,) = (u for u in accesses_of(report.program, placement) if not u.written)
    listing = read.listing()
    assert listing is not None and listing.whole
    (row,) = report.conflicts
    tiles = 64
    assert int(listing.lost.sum()) * tiles == row.cycles
    assert listing.count * tiles == row.accesses
    assert int(listing.lost.max()) + 1 == row.degree
    first = listing.position[listing.access == 0]
    assert len(first) == 32 and set(addresses.unit.reshape(-1)[first].tolist()) == {0}


@pytest.mark.parametrize("path", samples(EXAMPLES, EXAMPLES[0], EXAMPLES[-1]), ids=lambda p: p.stem)
def test_complete_listings_lose_the_conflict_cycles_of_a_task(path: Path) -> None:
    _, report = example(path)
    program = report.program
    for buffer in program.places.by_buffer:
        placement = placement_of(program, buffer)
        assert placement is not None
        for use in accesses_of(program, placement):
            listing = use.listing()
            if listing is None or not listing.whole or use.engine_kind != "vector":
                continue
            costs = [c for v in program.variants for c in v.cost.conflicts if buffer in c.buffers]
            lost = int(listing.lost.sum())
            assert lost == 0 or any(c.cycles == lost and c.degree == 1 + int(listing.lost.max()) for c in costs)


def test_each_of_two_slots_is_in_its_own_block() -> None:
    _, report = example(next(p for p in EXAMPLES if p.stem == "vtcm_double_buffer"))
    placement = placement_named(report, "A_local.vtcm")
    assert [int(placement.addresses([np.zeros(1, int)] * 4, slot).unit[0]) for slot in (0, 1)] == [0, 1]


def test_accesses_of_a_copy_are_its_runs() -> None:
    _, report = example(next(p for p in EXAMPLES if p.stem == "vtcm_double_buffer"))
    placement = placement_named(report, "A")
    (use,) = accesses_of(report.program, placement)
    listing = use.listing()
    assert listing is not None and use.run_bytes == 256
    assert Counter(listing.access.tolist()) == dict.fromkeys(range(64), 64)


def test_access_of_matrix_work_is_a_tile() -> None:
    _, report = example(next(p for p in EXAMPLES if p.stem == "vtcm_double_buffer"))
    placement = placement_named(report, "A_local.vtcm")
    (use,) = (u for u in accesses_of(report.program, placement) if not u.written)
    listing = use.listing()
    assert listing is not None and listing.count == 8
    rows, columns = np.divmod(listing.position[listing.access == 0], 64)
    assert set(rows.tolist()) == set(range(32)) and set(columns.tolist()) == set(range(32))


@pytest.mark.parametrize("path", samples(EXAMPLES, EXAMPLES[0], EXAMPLES[-1]), ids=lambda p: p.stem)
def test_bytes_of_buffers_are_the_traffic(path: Path) -> None:
    _, report = example(path)
    program = report.program
    if program.machine.cores > 1:
        pytest.skip("traffic is that of all cores, accesses those of one")
    placements = [placement_of(program, b) for b in program.places.by_buffer]
    shares = [
        distribution_of(program, report.timeline.counts, placement) for placement in placements if placement is not None
    ]
    moved = sum(s.read_bytes + s.written_bytes for s in shares)
    copied = 2 * sum(t.bytes for t in report.traffic)
    assert moved == copied + sum(a.read_bytes + a.written_bytes for a in report.accesses)
