"""Port contention: the engines that may share a port, and the completion of their requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.hwsim.access.ports import PortSpec, PortUser, contended, holding_up
from tilewright.engine.hwsim.replay.arbiter import Port
from tilewright.engine.hwsim.replay.clocks import Variant

BUS = PortSpec("bus", 4, 1)
requests = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=4)


def port_user(unit: int, reads: tuple[int, ...] = (), writes: tuple[int, ...] = ()) -> PortUser:
    return PortUser(unit, (BUS,), frozenset(reads), frozenset(writes))


def cycle_by_cycle(burst: int, requested: list[tuple[int, int]]) -> dict[int, int]:
    """The completion cycle of each engine's request (start, cycles), simulated cycle by cycle."""
    done: dict[int, int] = {}
    left: dict[int, int] = {}
    holder, last, until = -1, -1, 0
    for now in range(13 + sum(cycles for _, cycles in requested)):
        if holder >= 0 and until == now:
            if not left[holder]:
                done[holder] = now
                del left[holder]
            holder = -1
        left |= {engine: cycles for engine, (since, cycles) in enumerate(requested) if since == now}
        if holder < 0 and left:
            holder = last = min(left, key=lambda engine: (engine <= last, engine))
            granted = min(burst, left[holder])
            left[holder], until = left[holder] - granted, now + granted
    return done


@given(st.integers(1, 4), requests)
def test_law_requests_finish_as_at_a_port_stepped_by_cycle(burst: int, requested: list[tuple[int, int]]):
    port, found = Port(burst), dict[int, int]()
    for now in sorted({since for since, _ in requested}):
        for engine, (since, cycles) in enumerate(requested):
            if since == now:
                port.request(engine, cycles, now)
        port.settle(now)
        found.update(port.dones())
    assert found == cycle_by_cycle(burst, requested)


def test_a_port_is_free_after_its_last_request():
    port = Port(2)
    port.request(0, 5, now=10)
    assert not port.is_free(10)
    port.settle(10)
    assert not port.is_free(14) and port.is_free(15)


def test_dependent_tasks_do_not_contend_for_a_port():
    compute, store = port_user(1, reads=(4,), writes=(3,)), port_user(0, reads=(3,), writes=(2,))
    assert contended([compute, store]) == {}
    assert contended([port_user(1, writes=(3,)), port_user(0, writes=(3,))]) == {}


def test_tasks_of_two_units_that_only_read_contend_for_a_port():
    assert contended([port_user(0, reads=(3,)), port_user(1, reads=(3,)), port_user(1)]) == {BUS: (0, 1, 2)}


def test_tasks_of_one_unit_do_not_contend():
    assert contended([port_user(0), port_user(0)]) == {}


def test_all_tasks_request_a_port_with_one_rival():
    staged, compute, store = port_user(0, writes=(4,)), port_user(1, reads=(4,), writes=(3,)), port_user(1, writes=(5,))
    assert contended([staged, compute, store]) == {BUS: (0, 1, 2)}


def requesting(engine: int, duration: int, *cycles: int) -> Variant:
    """A task that requests `cycles[n]` cycles of port n."""
    return Variant(engine, duration, demands=tuple((port, n) for port, n in enumerate(cycles) if n))


def test_port_causes_no_stall_in_work_longer_than_all_turns():
    """Twice two cycles, each behind two of the other: eight."""
    assert holding_up([requesting(0, 8, 4), requesting(1, 20, 10)], [2]) == {}
    assert holding_up([requesting(0, 7, 4), requesting(1, 20, 10)], [2]) == {0: {0, 1}}
    # A request of one cycle delays for one cycle only, but the next request may be delayed again.
    assert holding_up([requesting(0, 6, 4), requesting(1, 20, 1)], [2]) == {}
    assert holding_up([requesting(0, 5, 4), requesting(1, 20, 1)], [2]) == {0: {0, 1}}


def test_a_port_of_one_engine_causes_no_stall():
    assert holding_up([requesting(0, 4, 4), requesting(0, 5, 3)], [1]) == {}


def test_last_of_equal_ports_represents_all():
    kinds = [requesting(0, 4, 4, 1, 4), requesting(1, 4, 3, 1, 3)]
    assert holding_up(kinds, [2, 2, 2]) == {2: {0, 1}}
    assert holding_up(kinds, [2, 2, 1]) == {0: {0, 1}, 2: {0, 1}}
    assert holding_up([*kinds, requesting(1, 4, 3, 0, 2)], [2, 2, 2]) == {0: {0, 1}, 2: {0, 1}}
