"""Line-based three-way merge (diff3): a change on one side is accepted, a change on both sides is a conflict (`MergeConflict`)."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from ..cells import lines_of

MOST_PAIRS = 250_000
"""The maximum number of line pairs compared between anchors (lines unique in each text); lines beyond the limit count as different. The
server waits for a merge; with this limit the largest texts need 0.1 s."""


class MergeConflict(msgspec.Struct, frozen=True):
    """Lines that both sides changed. `line` is their first line in our text, from 1."""

    line: int
    base: str
    ours: str
    theirs: str


Part = str | MergeConflict


def merge(base: str, ours: str, theirs: str) -> tuple[Part, ...]:
    """The merged text and the conflicts, in order."""
    before, a, b = lines_of(base), lines_of(ours), lines_of(theirs)
    found: list[Part] = []
    at = line = start_b = 0
    for start, end, from_a, from_b in _in_all(before, a, b):
        found += _part("".join(before[at:start]), "".join(a[line:from_a]), "".join(b[start_b:from_b]), line + 1)
        found += ["".join(before[start:end])] if start < end else []
        at, line, start_b = end, from_a + end - start, from_b + end - start
    return tuple(found)


def merged(parts: Sequence[Part]) -> str | None:
    """The merged text; None if there is a conflict."""
    return None if any(isinstance(part, MergeConflict) for part in parts) else resolved(parts, ())


def resolved(parts: Sequence[Part], choices: Sequence[str]) -> str:
    """The text with the choice "ours", "theirs" or "both" for each conflict, in order; missing choices default to "ours"."""
    waiting = iter(choices)
    found: list[str] = []
    for part in parts:
        if isinstance(part, str):
            found.append(part)
            continue
        choice = next(waiting, "ours")
        if choice != "theirs":
            found.append(part.ours)
        if choice == "both" and part.ours and not part.ours.endswith(("\n", "\r")):
            found.append("\n")
        if choice in ("theirs", "both"):
            found.append(part.theirs)
    return "".join(found)


def _part(base: str, ours: str, theirs: str, line: int) -> list[Part]:
    if ours in (base, theirs):
        return [theirs] if theirs else []
    if theirs == base:
        return [ours] if ours else []
    return [MergeConflict(line, base, ours, theirs)]


def _in_all(base: list[str], a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines common to all three texts: start and end in `base`, start in `a`, start in `b`. The last run is empty, at the end."""
    in_a, in_b = alike(base, a), alike(base, b)
    n = m = 0
    while n < len(in_a) and m < len(in_b):
        (base_a, at_a, length_a), (base_b, at_b, length_b) = in_a[n], in_b[m]
        start, end = max(base_a, base_b), min(base_a + length_a, base_b + length_b)
        if start < end:
            yield start, end, at_a + start - base_a, at_b + start - base_b
        if base_a + length_a < base_b + length_b:
            n += 1
        else:
            m += 1
    yield len(base), len(base), len(a), len(b)


def alike(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Runs of lines that two texts share, in order: start in each, and length."""
    runs: list[tuple[int, int, int]] = []
    from_old = from_new = 0
    left = MOST_PAIRS
    for anchor_old, anchor_new in [*_anchors(old, new), (len(old), len(new))]:
        a, b = old[from_old:anchor_old], new[from_new:anchor_new]
        found, taken = _alike_between(a, b, left)
        left -= taken
        runs += [(from_old + x, from_new + y, length) for x, y, length in found]
        if anchor_old < len(old):
            runs.append((anchor_old, anchor_new, 1))
        from_old, from_new = anchor_old + 1, anchor_new + 1
    return _joined(runs)


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The longest common sequence of lines that are unique in each text (patience diff)."""
    once_old, once_new = _standing_once(old), _standing_once(new)
    pairs = [(n, once_new[line]) for line, n in once_old.items() if line in once_new]
    ends: list[int] = []  # the smallest last position in the new text of an increasing run of each length
    before: list[int] = []  # for each pair, the length of the longest increasing run that it extends
    for _, at in pairs:
        length = bisect.bisect_left(ends, at)
        ends[length : length + 1] = [at]
        before.append(length)
    chosen: list[tuple[int, int]] = []
    wanted = len(ends) - 1
    for pair, length in zip(reversed(pairs), reversed(before), strict=True):
        if length == wanted and (not chosen or pair[1] < chosen[-1][1]):
            chosen.append(pair)
            wanted -= 1
    return chosen[::-1]


def _standing_once(lines: list[str]) -> dict[str, int]:
    counts = Counter(lines)
    return {line: n for n, line in enumerate(lines) if counts[line] == 1}


def _alike_between(old: list[str], new: list[str], left: int) -> tuple[list[tuple[int, int, int]], int]:
    """The shared runs of lines between two anchors, and the number of compared line pairs."""
    head = next((n for n, (x, y) in enumerate(zip(old, new, strict=False)) if x != y), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    runs = [(0, 0, head)]
    pairs = len(inner_old) * len(inner_new)
    if pairs <= left:
        matcher = difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        runs += [(head + x, head + y, n) for x, y, n in matcher.get_matching_blocks()]
    runs.append((len(old) - tail, len(new) - tail, tail))
    return runs, min(pairs, left)


def _joined(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for x, y, length in runs:
        if found and found[-1][0] + found[-1][2] == x and found[-1][1] + found[-1][2] == y:
            found[-1] = (found[-1][0], found[-1][1], found[-1][2] + length)
        elif length:
            found.append((x, y, length))
    return found


__all__ = ["MergeConflict", "Part", "alike", "merge", "merged", "resolved"]
