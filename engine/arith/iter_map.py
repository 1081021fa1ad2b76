"""Iterator maps: whether index expressions split and fuse iterators so that each combination occurs exactly once (TVM's DetectIterMap).

Each value is read as a mixed-radix sum of parts of iterators (`i // 4 % 8`). If the parts in all values cover every iterator, each piece
once, the map is a bijection and has an inverse.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

import msgspec

from ..ir import Expr, IndexMap, Range, Var, build, substitute, uses_var
from .analyzer import Analyzer
from .forms import Digit, Sum, structure_key


class IterPart(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A part `iterator // lower % extent * scale`. The iterator is a variable, or a sum of parts when `fused`. `extent` None: symbolic.

    `reverse`: the digit counts down, `extent - 1 - iterator // lower % extent`.
    """

    key: Hashable
    total: int | None
    lower: int
    extent: int | None
    scale: int
    fused: IterSum | None = None
    reverse: bool = False

    @property
    def depth(self) -> int:
        return 0 if self.fused is None else 1 + max((p.depth for p in self.fused.parts), default=0)


class IterSum(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A sum of `base` and non-overlapping parts of increasing scale; `compact`: the parts leave no gap, so the sum has `extent` values."""

    parts: tuple[IterPart, ...]
    base: int
    extent: int | None
    compact: bool


class IterMap(msgspec.Struct, frozen=True, eq=False):
    """One sum per value, over `variables` with these extents."""

    sums: tuple[IterSum, ...]
    variables: Mapping[Var, int | None]

    @property
    def injective(self) -> bool:
        """Whether different iterations give different values."""
        return _partition(self.sums, self.variables)

    @property
    def bijective(self) -> bool:
        """Whether different iterations give different values, and every value of the box occurs."""
        return all(s.compact for s in self.sums) and self.injective

    @property
    def separate(self) -> bool:
        """Whether no part of an iterator occurs twice, so that the values are independent."""
        return _separate(self.sums)


class _NotIteratorsError(Exception):
    """The values are not mixed-radix sums of iterators."""


def detect_iter_map(values: Sequence[Expr], iters: Mapping[Var, Range]) -> IterMap | None:
    """Return the values as sums of iterator parts; None if they are not."""
    reader = _Reader(iters)
    try:
        sums = tuple(map(reader.read, values))
    except _NotIteratorsError:
        return None
    return IterMap(sums, reader.variables)


def inverse(index_map: IndexMap, domain: Sequence[Range]) -> IndexMap | None:
    """Return the inverse of a map that is a bijection of the box `domain` onto a box; None for other maps."""
    found = detect_iter_map(index_map.indices, dict(zip(index_map.params, domain, strict=True)))
    if found is None or not found.bijective:
        return _fused_inverse(index_map, domain)
    axes = tuple(Var(f"axis{i}", index.dtype) for i, index in enumerate(index_map.indices))
    known: dict[Hashable, Expr] = {}
    for axis, total in zip(axes, found.sums, strict=True):
        _take_apart(total, build.sub(axis, total.base), known)
    for key, group in _fused_groups(found.sums):
        fused = group[0].fused
        assert fused is not None
        _take_apart(fused, known[key], known)
    analyzer = Analyzer(
        {a: build.make_range(s.base, s.extent) for a, s in zip(axes, found.sums, strict=True) if s.extent is not None}
    )
    values = (build.add(r.min, known.get(p, 0)) for p, r in zip(index_map.params, domain, strict=True))
    return IndexMap(axes, tuple(map(analyzer.simplify, values)))


def _fused_inverse(index_map: IndexMap, domain: Sequence[Range]) -> IndexMap | None:
    """Return the inverse of a map that fuses iterators of symbolic extents in order: `(i * n + j, k)`; None for other maps."""
    axes = tuple(Var(f"axis{i}", index.dtype) for i, index in enumerate(index_map.indices))
    known: dict[Var, Expr] = {}
    for axis, index in zip(axes, index_map.indices, strict=True):
        parts = [(p, r.extent) for p, r in zip(index_map.params, domain, strict=True) if uses_var(index, p)]
        whole: Expr = build.const(0, index.dtype)
        for param, extent in parts:
            whole = build.add(build.mul(whole, extent), param)
        gap = Analyzer().form(build.sub(whole, index))
        if gap.digits or gap.constant or any(p in known for p, _ in parts):
            return None
        rest: Expr = axis
        for param, extent in reversed(parts[1:]):
            known[param] = build.floormod(rest, extent)
            rest = build.floordiv(rest, extent)
        known |= {param: rest for param, _ in parts[:1]}
    plain = all(build.is_const(r.min, 0) for r in domain)
    single = {p: r.min for p, r in zip(index_map.params, domain, strict=True) if build.is_const(r.extent, 1)}
    if not plain or any(p not in known and p not in single for p in index_map.params):
        return None
    return IndexMap(axes, tuple((single | known)[p] for p in index_map.params))


def _take_apart(total: IterSum, value: Expr, known: dict[Hashable, Expr]) -> None:
    """Add to `known` the contributions of `value`, the sum without its base, to each of its iterators."""
    for part in total.parts:
        digit = build.floordiv(value, part.scale)
        if part is not total.parts[-1] and part.extent is not None:
            digit = build.floormod(digit, part.extent)
        if part.reverse and part.extent is not None:
            digit = build.sub(part.extent - 1, digit)
        known[part.key] = build.add(known.get(part.key, 0), build.mul(digit, part.lower))


def _fused_groups(sums: Sequence[IterSum]) -> Iterator[tuple[Hashable, list[IterPart]]]:
    """Yield the parts of each fused iterator, outer ones before those inside them."""
    open_parts = [p for s in sums for p in s.parts]
    while True:
        deepest = max((p for p in open_parts if p.fused is not None), key=lambda p: p.depth, default=None)
        if deepest is None or deepest.fused is None:
            return
        group = [p for p in open_parts if p.key == deepest.key]
        yield deepest.key, group
        open_parts = [p for p in open_parts if p.key != deepest.key]
        open_parts.extend(deepest.fused.parts)


def _partition(sums: Sequence[IterSum], variables: Mapping[Var, int | None]) -> bool:
    """Whether the parts cover every variable and every fused iterator, each piece once."""
    open_parts = [p for s in sums for p in s.parts]
    for key, group in _fused_groups(sums):
        if not _makes_whole(group):
            return False
        fused = group[0].fused
        open_parts = [p for p in open_parts if p.key != key]
        open_parts.extend(fused.parts if fused is not None else ())
    return all(_makes_whole([p for p in open_parts if p.key is var]) for var in variables)


def _separate(sums: Sequence[IterSum]) -> bool:
    """Whether no part of a variable or of a fused iterator occurs twice."""
    open_parts = [p for s in sums for p in s.parts]
    for key, group in _fused_groups(sums):
        fused = group[0].fused
        open_parts = [p for p in open_parts if p.key != key]
        open_parts.extend(fused.parts if fused is not None else ())
        if not _apart(group):
            return False
    return all(_apart([p for p in open_parts if p.key == key]) for key in {p.key for p in open_parts})


def _apart(parts: Sequence[IterPart]) -> bool:
    ordered = sorted(parts, key=lambda p: p.lower)
    return all(p.extent is not None and q.lower >= p.lower * p.extent for p, q in pairwise(ordered))


def _makes_whole(parts: Sequence[IterPart]) -> bool:
    if not parts:
        return False
    ordered = sorted(parts, key=lambda p: p.lower)
    if ordered[0].total is None:
        return len(ordered) == 1
    reach = 1
    for part in ordered:
        if part.lower != reach:
            return False
        reach *= part.extent or 1
    return reach == ordered[0].total


class _Reader:
    """Reads values over iterators that start at 0 (others are shifted first). Iterators of one trip are constants."""

    def __init__(self, iters: Mapping[Var, Range]) -> None:
        self.shift: dict[Var, Expr] = {}
        self.variables: dict[Var, int | None] = {}
        self.origin: dict[Var, Var] = {}
        ranges: dict[Var, Range] = {}
        for var, known in iters.items():
            new = var if build.is_const(known.min, 0) else Var(var.name, var.dtype)
            if new is not var:
                self.shift[var] = build.add(new, known.min)
            same = new is var and known.extent.dtype == var.dtype
            ranges[new] = known if same else build.make_range(0, build.cast(known.extent, var.dtype))
            if not build.is_const(known.extent, 1):
                self.variables[var] = build.int_value(known.extent)
            self.origin[new] = var
        self.analyzer = Analyzer(ranges)

    def read(self, value: Expr) -> IterSum:
        return self._sum(self.analyzer.form(substitute(value, self.shift)))

    def _sum(self, form: Sum) -> IterSum:
        parts = sorted(map(self._part, form.digits), key=lambda p: p.scale)
        reach, compact = 1, True
        for i, part in enumerate(parts):
            if part.scale < reach or (part.extent is None and i != len(parts) - 1):
                raise _NotIteratorsError
            compact = compact and part.scale == reach
            reach = part.scale * (part.extent or 1)
        symbolic = bool(parts) and parts[-1].extent is None
        below = sum(p.scale * ((p.extent or 1) - 1) for p in parts if p.reverse)
        return IterSum(tuple(parts), form.constant - below, None if symbolic else reach, compact)

    def _part(self, digit: Digit) -> IterPart:
        scale, reverse = abs(digit.scale), digit.scale < 0
        key, total, fused = self._iterator(digit)
        if total is None:
            if not digit.is_whole or reverse:
                raise _NotIteratorsError
            return IterPart(key, None, 1, None, scale, fused)
        upper = total if digit.upper is None else digit.upper
        if not upper or total % upper or upper % digit.lower:
            raise _NotIteratorsError
        return IterPart(key, total, digit.lower, upper // digit.lower, scale, fused, reverse)

    def _iterator(self, digit: Digit) -> tuple[Hashable, int | None, IterSum | None]:
        """Return (key, extent, fused sum) of a digit's source."""
        if isinstance(digit.source, Var):
            origin = self.origin.get(digit.source)
            if origin is None or origin not in self.variables:
                raise _NotIteratorsError
            return origin, self.variables[origin], None
        form = self.analyzer.form(digit.source)
        if len(form.digits) == 1 and form.digits[0].key == digit.key:
            raise _NotIteratorsError  # an opaque expression
        fused = self._sum(form)
        if fused.base or not fused.compact or fused.extent is None:
            raise _NotIteratorsError
        return structure_key(digit.source), prod(p.extent or 1 for p in fused.parts), fused
