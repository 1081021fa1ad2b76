"""The last wave of blocks in which some cores hold one block more than the others: two classes of cores, one core of each is replayed.

The first `first` cores hold more blocks. Both classes are at the shared ports as if they had been two from the beginning: by the law of
`crowd.CrowdPort` the cores after the first ones are granted each burst after them, so up to this wave the classes are one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from ..arbiter import IDLE
from ..shared_ports import SharedClocks
from .streams import CoreResult, StreamClocks

MOST = 100_000
"""Limit on the tasks of a wave: its repeats are not skipped."""


class WaveTasks(msgspec.Struct, frozen=True):
    """The tasks of one core of each class, in the clocks of the run, and when their requests complete, by task."""

    results: tuple[CoreResult, CoreResult]
    dones: tuple[Mapping[int, int], Mapping[int, int]]


def replay_mixed(clocks: SharedClocks, crowds: Mapping[int, int], preload: int, kinds: Sequence[Sequence[int]],
                 cores: tuple[int, int], begins: tuple[int, int]) -> WaveTasks:  # fmt: skip
    """Replays the tasks `kinds` of one core of each class, of so many `cores`, from `begins` on. The tasks of `clocks` are complete."""
    bursts = [0] * (max(clocks.users) + 1)
    ports = clocks.ports_now()
    for number, port in ports.items():
        bursts[number] = port.burst
    found = StreamClocks(clocks.table, clocks.queues, clocks.cell_count, bursts, crowds, clocks.users, cores, preload,
                         folds=True)  # fmt: skip
    for number, port in ports.items():
        own = found.ports[2 * number]
        # The last core of a group is of the second class.
        own.last = 2 * port.last + 1 if port.last != IDLE else IDLE
        own.holder, own.until = own.last, port.until
    found.continue_idle(clocks)
    left = [deque(numbers) for numbers in kinds]
    for stream, at in enumerate(begins):
        found.begin_of(stream, at)
    while any(left):
        moved = False
        for stream, numbers in enumerate(left):
            while numbers and found.has_room(stream, numbers[0]):
                found.issue_of(stream, numbers.popleft())
                moved = True
        if not moved:
            found.step()
    found.finish()
    rows = [{task: row for row, task in enumerate(tasks)} for tasks in found.tasks]
    dones = [{own[task]: done for task, done in found.dones.items() if task in own} for own in rows]
    return WaveTasks((found.result(0), found.result(1)), (dones[0], dones[1]))
