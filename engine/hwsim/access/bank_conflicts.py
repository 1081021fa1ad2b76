"""Bank conflicts, from addresses: a bank serves the rows of one access one after the other.

An access lasts as many cycles as its busiest bank has rows to serve; the cycles beyond those for an even spread over the banks are lost.
The conflicts of an access depend only on its start address modulo the period of the banks. So the accesses of a loop nest with affine
addresses are counted by that remainder (a loop adds multiples of its stride, modulo the period), and one access of each kind is analysed:
exact, and no more expensive for more iterations. This module knows no programs: addresses are bytes, lanes are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, lcm, prod

import msgspec
import numpy as np
import numpy.typing as npt

from ..machine.parts import Memory

Ints = npt.NDArray[np.int64]

MAX_STARTS = 1 << 13
"""Limit on different combinations of remainders. One operand has at most a period of them."""

MAX_ELEMENTS = 1 << 20
"""Elements that are analysed together, for several groups of lanes."""

MOST_KNOWN = 4096
"""Cached results: this many patterns, a few hundred bytes each."""

MAX_NUMBER = 1 << 62
"""Numbers are kept in 64 bits."""


MAX_ROWS = 1 << 30
"""Up to this many rows, row numbers have 32 bits: listing is bound by memory bandwidth."""

PLACES = 2
"""Slots of the hash table for each row that an access reads."""

SPARSE = 16
"""Numbers whose range is more than this multiple of their count are sorted; otherwise a table over the whole range is faster."""


class Banking(msgspec.Struct, frozen=True):
    """The rules by which a memory serves rows (`machine.Memory`): consecutive rows are interleaved over the `groups`, each of which has the
    `ports`.

    If a group has several banks, `region_bytes` is the capacity of one bank in each group together, else 0. With `counts_rows` the result
    is not cycles but the rows of an access, each as a whole: the bursts it moves.
    """

    groups: int
    row_bytes: int
    ports: int = 1
    shared: bool = False
    broadcast: bool = True
    phase_bytes: int = 0
    region_bytes: int = 0
    regions: int = 1
    counts_rows: bool = False
    thread_bytes: int = 0
    joins: bool = False
    thread_lanes: int = 1

    def period_bytes(self, operands: Sequence[VectorOperand], extents: Sequence[tuple[int, ...]]) -> int:
        """Returns the distance of addresses that meet in the same group, and in the same bank if that makes a difference. Operands run over
        lanes and loops of these `extents`.
        """
        if self.region_bytes and (self.ports > 1 or len({o.written for o in operands}) == 2):
            # Within one region a group identifies a bank.
            first, last = zip(*(o.reach(*extents) for o in operands), strict=True)
            forward = all(step >= 0 for o in operands for step in o.lane_strides)
            if not forward or min(first) // self.region_bytes != max(last) // self.region_bytes:
                return self.region_bytes * self.regions
        return self.row_bytes * self.groups


class VectorOperand(msgspec.Struct, frozen=True):
    """One operand of vector operations: the byte address of its first element, and strides in bytes by lane loop and by other loop."""

    element_bytes: int
    base: int
    lane_strides: tuple[int, ...]
    strides: tuple[int, ...] = ()
    written: bool = False

    def reach(self, lanes: Sequence[int], loops: Sequence[int]) -> tuple[int, int]:
        """Returns the first and last byte, over lanes and loops of these extents."""
        steps = [step * (n - 1) for step, n in zip((*self.lane_strides, *self.strides), (*lanes, *loops), strict=True)]
        low, high = (self.base + sum(limit(0, step) for step in steps) for limit in (min, max))
        return low, high + self.element_bytes - 1


class BankConflicts(msgspec.Struct, frozen=True):
    """Conflicts of `accesses`: they add `cycles` in all; the worst access needs `degree` - 1 more cycles than without conflicts. An access
    in several phases counts as several.
    """

    accesses: int = 0
    cycles: int = 0
    degree: int = 1

    def __add__(self, other: BankConflicts) -> BankConflicts:
        return BankConflicts(self.accesses + other.accesses, self.cycles + other.cycles, max(self.degree, other.degree))


class AccessedElements(msgspec.Struct, frozen=True, eq=False):
    """Accessed elements: for each the number of its access, from 0, and its byte address."""

    access: Ints
    address: Ints
    element_bytes: int
    written: bool = False


def banking(memory: Memory) -> Banking | None:
    """Returns the rule of a memory; None if rows are not spread over banks."""
    if memory.mapping == "block" or memory.banks == 1:
        return None
    groups = memory.bank_groups or memory.banks
    regions = memory.banks // groups
    return Banking(
        groups,
        memory.interleave_bytes,
        memory.bank_ports,
        memory.ports == "shared",
        memory.broadcast,
        memory.phase_bytes,
        memory.capacity_bytes // regions if memory.bank_groups else 0,
        regions,
        thread_bytes=memory.thread_bytes,
        joins=memory.joined_phases,
    )


def affine_conflicts(
    rule: Banking, lanes: Sequence[int], loops: Sequence[int], operands: Sequence[VectorOperand], width: int
) -> BankConflicts:
    """Returns the conflicts of operations on `width` lanes whose operands are accessed at once. With too many combinations, operands are
    assumed to be accessed in sequence.

    Lanes are numbered through the `lanes` loops (their extents, the fastest first) and grouped by `width`, in every iteration of the other
    `loops`.
    """
    found = exact_conflicts(rule, lanes, loops, operands, width)
    if found is not None:
        return found
    return sum((affine_conflicts(rule, lanes, loops, (o,), width) for o in operands), BankConflicts())


def exact_conflicts(
    rule: Banking, lanes: Sequence[int], loops: Sequence[int], operands: Sequence[VectorOperand], width: int
) -> BankConflicts | None:
    """Like `affine_conflicts`, but returns None for too many combinations."""
    period = rule.period_bytes(operands, (tuple(lanes), tuple(loops)))
    near = tuple(msgspec.structs.replace(o, base=o.base % period) for o in operands)
    return cached_conflicts(rule, period, tuple(lanes), tuple(loops), near, width)


@lru_cache(MOST_KNOWN)
def cached_conflicts(
    rule: Banking,
    period: int,
    lanes: tuple[int, ...],
    loops: tuple[int, ...],
    operands: tuple[VectorOperand, ...],
    width: int,
) -> BankConflicts | None:
    """Cached because patterns recur: in tasks that differ only in their cells, and in a program before and after a step."""
    found = BankConflicts()
    for groups, repeats in _groups(lanes, width):
        strides = [
            [*o.strides, *(sum(map(int.__mul__, step, o.lane_strides)) for _, step in repeats)] for o in operands
        ]
        starts = _starts(period, [*loops, *(n for n, _ in repeats)], operands, strides)
        if starts is None:
            return None
        lanes_each = [len(group) for group in groups]
        for length in dict.fromkeys(lanes_each):
            alike = np.stack([group for group in groups if len(group) == length])
            most = max(1, MAX_ELEMENTS // (len(starts[0]) * length))
            for first in range(0, len(alike), most):
                found += _repeated(rule, operands, alike[first : first + most], *starts)
    return found


def _groups(lanes: Sequence[int], width: int) -> list[tuple[list[Ints], list[tuple[int, tuple[int, ...]]]]]:
    """Returns groups of `width` lanes as coordinates in the lane loops, each with loops that repeat it: (times, step in each lane loop).

    The pattern repeats after a common multiple of a group's lanes and the lanes of the innermost loops, advanced in the next loop.
    """
    extents = [n for n in lanes if n > 1]
    axes = [k for k, n in enumerate(lanes) if n > 1]
    if not extents:
        return [([np.zeros((1, len(lanes)), np.int64)], [])]
    inner = 1
    for k, extent in enumerate(extents):
        common = lcm(inner, width)
        step = common // inner
        if extent % step == 0 or k == len(extents) - 1:
            times = extent // step
            loops = [(times, _unit(axes[k], step, len(lanes)))]
            loops += [(n, _unit(axes[m], 1, len(lanes))) for m, n in enumerate(extents) if m > k]
            whole = common * times if extent % step else prod(extents)
            found = [(_cut(lanes, 0, common, width), loops)] if times else []
            return [*found, (_cut(lanes, whole, prod(extents), width), [])]
        inner *= extent
    raise AssertionError("the last loop has no next one")


def _unit(axis: int, step: int, rank: int) -> tuple[int, ...]:
    return tuple(step if k == axis else 0 for k in range(rank))


def _cut(lanes: Sequence[int], first: int, last: int, width: int) -> list[Ints]:
    """Returns the coordinates of lanes `first` to `last`, in groups."""
    every = np.stack(np.unravel_index(np.arange(first, last), tuple(lanes), order="F"), axis=1).astype(np.int64)
    return [every[start : start + width] for start in range(0, last - first, width)]


def _starts(
    period: int, loops: Sequence[int], operands: Sequence[VectorOperand], strides: Sequence[Sequence[int]]
) -> tuple[Ints, Ints] | None:
    """Returns the start addresses of operations modulo the period, a column for each operand, and their counts. None for too many
    combinations.
    """
    starts = np.array([[o.base % period for o in operands]], np.int64)
    counts = np.ones(1, np.int64)
    for n, extent in enumerate(loops):
        step = np.array([s[n] % period for s in strides], np.int64)
        turn = lcm(*(period // gcd(int(s), period) for s in step))
        distinct = min(extent, turn)
        if distinct > 1 and len(step) > 1 and len(starts) * distinct > MAX_STARTS:
            return None
        if distinct == 1:
            counts = counts * extent
            continue
        times = extent // distinct + (np.arange(distinct) < extent % distinct)
        starts = (starts[:, None, :] + np.arange(distinct)[:, None] * step) % period
        counts = (counts[:, None] * times).reshape(-1)
        starts, place = _sorted_once(starts.reshape(-1, len(step)), period)
        joined = np.zeros(len(starts), np.int64)
        np.add.at(joined, place, counts)
        counts = joined
    return starts, counts


def _sorted_once(starts: Ints, period: int) -> tuple[Ints, Ints]:
    """Returns the sorted distinct rows of a table of numbers in [0, period), and the index of each row among them."""
    columns = starts.shape[1]
    if period**columns > MAX_NUMBER:
        found, place = np.unique(starts, axis=0, return_inverse=True)
        return found, place.reshape(-1)
    number = starts[:, 0]
    for column in range(1, columns):
        number = number * period + starts[:, column]
    kept, place = _each_number(number, period**columns)
    powers = np.array([period**k for k in reversed(range(columns))], np.int64)
    return np.floor_divide.outer(kept, powers) % period, place


def _repeated(
    rule: Banking, operands: Sequence[VectorOperand], groups: Ints, starts: Ints, counts: Ints
) -> BankConflicts:
    """Returns the conflicts of groups of equally many lanes (group, lane, loop) at each of their starts, weighted by `counts`."""
    if rule.joins and len(operands) == 1:
        addresses = groups @ np.array(operands[0].lane_strides, np.int64)
        joined = _are_joined(addresses, np.ones(addresses.shape, bool), rule)
        if joined.any():
            wider = msgspec.structs.replace(rule, phase_bytes=2 * rule.phase_bytes, joins=False)
            apart = msgspec.structs.replace(rule, joins=False)
            halves = ((wider, groups[joined]), (apart, groups[~joined]))
            return sum((_repeated(r, operands, g, starts, counts) for r, g in halves if len(g)), BankConflicts())
    count, length = len(groups), len(groups[0])
    width, phases = _phases(rule, operands, length)
    kinds = count * len(starts)
    access = np.add.outer(np.arange(kinds) * phases, np.arange(length) // width)
    elements: list[AccessedElements] = []
    for k, o in enumerate(operands):
        address = starts[:, k, None] + (groups @ np.array(o.lane_strides, np.int64))[:, None, :]
        elements.append(AccessedElements(access.reshape(-1), address.reshape(-1), o.element_bytes, o.written))
    return _summed(cycles_lost(rule, elements, kinds * phases), np.tile(np.repeat(counts, phases), count))


def _phases(rule: Banking, operands: Sequence[VectorOperand], lanes: int) -> tuple[int, int]:
    """Returns (lanes in a phase, number of phases)."""
    widest = max(o.element_bytes for o in operands)
    width = max(1, rule.phase_bytes // widest) if rule.phase_bytes else lanes
    return width, -(-lanes // width)


def listed_conflicts(rule: Banking, elements: Sequence[AccessedElements], lane: Ints) -> BankConflicts:
    """Returns the conflicts of operations whose elements are listed one by one: `lane` is the number of each in its access."""
    kept, phased = in_phases(rule, elements, lane)
    return _summed(cycles_lost(rule, phased, kept), np.ones(kept, np.int64))


def in_phases(rule: Banking, elements: Sequence[AccessedElements], lane: Ints) -> tuple[int, list[AccessedElements]]:
    """Returns the number of accesses if each phase counts as one, and the elements with these access numbers."""
    widest = max(e.element_bytes for e in elements)
    access = elements[0].access
    if rule.phase_bytes:
        phase = lane // max(1, rule.phase_bytes // widest)
        if rule.joins and len(elements) == 1:
            phase //= np.where(_joined_accesses(rule, elements[0], lane), 2, 1)
        access = access * (int(phase.max(initial=0)) + 1) + phase
    kept, access = _each_number(access, int(access.max(initial=-1)) + 1)
    return len(kept), [msgspec.structs.replace(e, access=access) for e in elements]


def _joined_accesses(rule: Banking, element: AccessedElements, lane: Ints) -> npt.NDArray[np.bool_]:
    """Returns for each element whether the phases of its access are joined."""
    kept, access = _each_number(element.access, int(element.access.max(initial=-1)) + 1)
    shape = len(kept), int(lane.max(initial=0)) + 1
    addresses, active = np.zeros(shape, np.int64), np.zeros(shape, bool)
    addresses[access, lane], active[access, lane] = element.address, True
    return _are_joined(addresses, active, rule)[access]


def _are_joined(addresses: Ints, active: npt.NDArray[np.bool_], rule: Banking) -> npt.NDArray[np.bool_]:
    """Returns for each access (row) whether threads i and i xor 1, or i and i xor 2, access the same address wherever both are active."""
    lanes: Ints = np.arange(addresses.shape[1], dtype=np.int64)
    found = np.zeros(len(addresses), bool)
    for step in (rule.thread_lanes, 2 * rule.thread_lanes):
        other: Ints = np.bitwise_xor(lanes, np.int64(step))
        here = lanes[other < len(lanes)]
        same = (addresses[:, here] == addresses[:, other[here]]) | ~active[:, here] | ~active[:, other[here]]
        found |= same.all(axis=1)
    return found


def _summed(lost: Ints, counts: Ints) -> BankConflicts:
    return BankConflicts(int(counts.sum()), int(lost @ counts), 1 + int(lost.max(initial=0)))


def cycles_lost(rule: Banking, elements: Sequence[AccessedElements], accesses: int) -> Ints:
    """Returns the cycles that each access loses, compared with its rows spread evenly over the banks.

    Lanes that access the same row of one operand are served at once; reads and writes of an operand are separate.
    """
    spans = [_spanned(rule, e, accesses) for e in elements]
    if rule.counts_rows:
        return np.sum([np.bincount(access, minlength=accesses) for access, _ in spans], axis=0)
    access, row = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    group = row % rule.groups
    sides: list[slice | npt.NDArray[np.bool_]] = [slice(None)]
    if not rule.shared and len({e.written for e in elements}) == 2:
        written = np.concatenate([np.full(len(rows), e.written) for e, (_, rows) in zip(elements, spans, strict=True)])
        sides = [written, ~written]
    taken = ideal = np.zeros(accesses, np.int64)
    for side in sides:
        busiest, total = _busiest(access[side], group[side], accesses)
        taken = np.maximum(taken, -(-busiest // rule.ports))
        ideal = np.maximum(ideal, -(-total // (rule.ports * rule.groups)))
    # In one region a group is one bank, which the loop above has counted.
    if rule.region_bytes and not (len(sides) == rule.ports == 1 and _is_one_region(rule, row)):
        bank = row * rule.row_bytes // rule.region_bytes % rule.regions * rule.groups + group
        busiest, total = _busiest(access, bank, accesses)
        taken = np.maximum(taken, busiest)
        ideal = np.maximum(ideal, -(-total // (rule.groups * rule.regions)))
    return taken - ideal


def _is_one_region(rule: Banking, row: Ints) -> bool:
    if not len(row):
        return True
    first, last = (int(end) * rule.row_bytes // rule.region_bytes for end in (row.min(), row.max()))
    return first == last


def _spanned(rule: Banking, elements: AccessedElements, accesses: int) -> tuple[Ints, Ints]:
    """Returns the rows of accesses: one for each element, or several consecutive rows if it is wider or crosses a boundary."""
    first = elements.address // rule.row_bytes
    last = first if elements.element_bytes == 1 else (elements.address + elements.element_bytes - 1) // rule.row_bytes
    access, row = elements.access, first
    most = 1 if last is first else int((last - first).max(initial=0)) + 1
    if most > 1:
        rows = first[:, None] + np.arange(most)
        wanted = rows <= last[:, None]
        access, row = np.broadcast_to(access[:, None], rows.shape)[wanted], rows[wanted]
    if not rule.broadcast:
        return access, row
    return _each_once(access, row, accesses)


def _each_once(access: Ints, row: Ints, accesses: int) -> tuple[Ints, Ints]:
    """Returns the distinct pairs of an access and a row, unordered."""
    lowest = int(row.min(initial=0))
    reach = int(row.max(initial=0)) - lowest + 1
    # The rows of one access are usually close: each then has a table slot without collisions.
    places = 1 << min(PLACES * len(row) // max(accesses, 1), reach).bit_length()
    near = (row - lowest).astype(np.int32) if reach <= MAX_ROWS else row - lowest
    table = np.full(accesses * places, -1, near.dtype)
    place = access * places
    place += near & places - 1
    table[place] = near
    if (table[place] == near).all():
        kept = np.flatnonzero(table >= 0)
        return kept // places, table[kept] + np.int64(lowest)
    if accesses * reach < MAX_NUMBER:
        both = np.sort(access * reach + (row - lowest))
        both = both[np.append(True, both[1:] != both[:-1])[: len(both)]]
        access, row = np.divmod(both, reach)
        return access, row + lowest
    pairs = np.unique(np.stack([access, row], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _each_number(numbers: Ints, end: int) -> tuple[Ints, Ints]:
    """Returns the sorted distinct values of `numbers`, all in [0, end), and the index of each number among them."""
    if end > SPARSE * len(numbers):
        kept, places = np.unique(numbers, return_inverse=True)
        return kept, places.reshape(-1)
    met = np.zeros(end, np.int64)
    met[numbers] = 1
    return np.flatnonzero(met), (np.cumsum(met) - 1)[numbers]


def _busiest(access: Ints, bank: Ints, accesses: int) -> tuple[Ints, Ints]:
    """Returns for each access the rows that its busiest bank serves, and the rows of all banks."""
    banks = int(bank.max(initial=0)) + 1
    # One line for each bank, to process all accesses together.
    rows = np.bincount(bank * accesses + access, minlength=accesses * banks).reshape(banks, accesses)
    return rows.max(axis=0), np.bincount(access, minlength=accesses)
