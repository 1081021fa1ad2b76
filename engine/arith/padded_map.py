"""Index maps that need padding: extents rounded up so that a map splits them evenly, and which places are then without an element.

`[i // 4, i % 4]` of 14 elements is a bijection of 16: the map is inverted over the rounded extents, and the condition under which the
inverse leaves the old ones is the padding. (TVM's NonSurjectiveInverse; the conditions come out in its form.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import lcm

import msgspec

from ..ir import (
    LE,
    NE,
    Expr,
    FloorDiv,
    FloorMod,
    IndexMap,
    Node,
    Var,
    build,
    children,
    free_vars,
    map_children,
    rewrite,
    substitute,
    walk,
)
from .analyzer import Analyzer
from .forms import Digit, Sum, structure_key
from .interval import Relaxer
from .iter_map import inverse

_EDGE = "an axis of the index map has no upper bound"


class PaddedMap(msgspec.Struct, frozen=True, eq=False):
    """`inverse` takes the axes of the new layout to the old ones. `lowest` and `shape` are the box of the places, axis by axis;
    `padding` holds, in the inverse's axes, where a place has no element (false where each has one)."""

    inverse: IndexMap
    lowest: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    padding: Expr


class _Need(msgspec.Struct):
    """What is asked of an iterator: `left` places before its first value, and rounding up to a multiple of `factor`."""

    factor: int = 1
    left: int = 0
    symbol: Expr | None = None
    reverse: bool = False


class _Padded(msgspec.Struct, frozen=True):
    """An iterator with room: `value` of the map's own (wider) iterators, `factor`, `edge` the first value behind the last element.
    `is_one`: it was fused of several."""

    value: Expr
    left: int
    factor: Expr
    edge: Expr
    is_one: bool = False


class _NotSplitError(Exception):
    """The map divides what is no iterator."""


def padded_inverse(index_map: IndexMap, shape: Sequence[Expr]) -> PaddedMap | None:
    """The inverse over the extents rounded up; None when the map is no sum of splits and fusions of its axes that can be turned round.

    A symbolic divisor (`i // n`) is taken to be positive. Raises ValueError when an axis has no bound.
    """
    domain = {p: build.cast(e, p.dtype) for p, e in zip(index_map.params, shape, strict=True)}
    try:
        fused = _Fused.of(index_map.indices, domain)
        needs = _needs(fused.indices, fused.domain)
    except _NotSplitError:
        return None
    widened = _Widened(fused.domain, fused.domain.keys() - domain.keys())
    for var, need in needs.items():
        if not widened.widen(var, need):
            return None
    wide = IndexMap(tuple(widened.domain), tuple(map(widened.index, fused.indices)))
    back = inverse(wide, [build.make_range(0, e) for e in widened.domain.values()])
    if back is None:
        return None
    names = (index.name if isinstance(index, Var) and index in domain else None for index in index_map.indices)
    axes = tuple(Var(name or axis.name, axis.dtype) for name, axis in zip(names, back.params, strict=True))
    back = IndexMap(axes, back.apply(axes))
    box = _box(wide, widened.domain)
    places = Analyzer({a: build.make_range(0, e) for a, e in zip(back.params, box[1], strict=True)})
    found = dict(zip(wide.params, back.indices, strict=True))
    padding: Expr = build.FALSE
    for iterator in widened.padded:
        padding = build.logical_or(padding, _outside(iterator, substitute(iterator.value, found)))
    old = (substitute(substitute(v, widened.values), found) for v in (fused.values.get(p, p) for p in index_map.params))
    plain = {i: axis for i, axis in zip(index_map.indices, back.params, strict=True) if isinstance(i, Var)}
    elements = (plain.get(p, places.simplify(e)) for p, e in zip(index_map.params, old, strict=True))
    return PaddedMap(IndexMap(back.params, tuple(elements)), *box, _tight(places.simplify(padding), places))


def keeps_order(index_map: IndexMap, extents: Sequence[Expr], shape: Sequence[Expr]) -> bool:
    """Whether elements in row-major order have places in row-major order, of the box `shape`. False where that is not known."""
    dtype = index_map.params[0].dtype if index_map.params else "int32"
    known = Analyzer(
        {p: build.make_range(0, e) for p, e in zip(index_map.params, extents, strict=True) if build.is_const(e, 1)}
    )
    flat: Expr = build.const(0, dtype)
    for index, extent in zip(index_map.indices, shape, strict=True):
        flat = build.add(build.mul(flat, extent), index)
    rest, reach = known.simplify(flat), build.const(1, dtype)
    for param, extent in reversed(list(zip(index_map.params, extents, strict=True))):
        if build.is_const(extent, 1):
            continue
        key = structure_key(param)
        step: Expr = next(
            (build.const(d.scale, dtype) for d in known.form(rest).digits if d.is_whole and d.key == key), reach
        )
        left = known.simplify(build.sub(rest, build.mul(param, step)))
        if param in free_vars(left) or not known.decided(build.ge(step, reach)):
            return False
        rest, reach = left, known.simplify(build.mul(step, extent))
    return not free_vars(rest)


def _outside(iterator: _Padded, value: Expr) -> Expr:
    """When the iterator is before its first value or behind its last one, said in multiples of its factor where it comes in parts."""
    whole, rest = build.floordiv(value, iterator.factor), build.floormod(value, iterator.factor)
    before: Expr = build.FALSE
    if iterator.left:
        before = build.logical_and(build.eq(whole, 0), build.lt(rest, iterator.left))
    if iterator.is_one or isinstance(value, Var):
        return build.logical_or(before, build.le(iterator.edge, value))
    missing = build.floormod(build.sub(0, iterator.edge), iterator.factor)
    behind = build.logical_and(
        build.compare(NE, missing, build.const(0, missing.dtype)),
        build.eq(whole, build.floordiv(iterator.edge, iterator.factor)),
        build.le(build.floormod(iterator.edge, iterator.factor), rest),
    )
    return build.logical_or(before, behind)


def _tight(condition: Expr, known: Analyzer) -> Expr:
    """`3 <= i` as `i == 3` where i ends at 3: so TVM writes the last place of an axis."""

    def leave(node: Node) -> Node:
        if isinstance(node, LE) and known.bounds(build.sub(node.b, node.a)).high == 0:
            return build.eq(node.b, node.a)
        return node

    return rewrite(condition, leave)


def _box(wide: IndexMap, domain: Mapping[Var, Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    relaxer = Relaxer({v: build.make_range(0, e) for v, e in domain.items()}, Analyzer())
    spans = [relaxer.interval(index) for index in wide.indices]
    if any(span is None for span in spans):
        raise ValueError(_EDGE)
    simplify = Analyzer().simplify
    lowest = tuple(s.min for s in spans if s is not None)
    return lowest, tuple(simplify(build.sub(build.add(s.max, 1), s.min)) for s in spans if s is not None)


# What the divisions of a map ask of its iterators.


def _divisions(node: Node) -> Iterator[FloorDiv | FloorMod]:
    """Inner ones first."""
    for child in children(node):
        yield from _divisions(child)
    if isinstance(node, FloorDiv | FloorMod):
        yield node


def _dividend(expr: Expr, domain: Mapping[Var, Expr]) -> Sum:
    """The canonical sum of what is divided. Iterators of one trip are left out of it, unless there are no others: `i // 4` is a split
    however short i is."""
    form = Analyzer().form(expr)
    if len(form.digits) < 2:
        return form
    return Analyzer({v: build.make_range(0, e) for v, e in domain.items() if build.is_const(e, 1)}).form(expr)


def _needs(indices: Sequence[Expr], domain: Mapping[Var, Expr]) -> dict[Var, _Need]:
    plain = Analyzer()
    needs: dict[Var, _Need] = {}
    for index in indices:
        for division in _divisions(index):
            divisor = build.int_value(plain.simplify(division.b))
            if divisor is None:
                _add_symbolic(needs, division, domain)
            elif divisor > 0:
                _add(needs, _dividend(division.a, domain), divisor, domain)
            else:
                raise _NotSplitError
    return needs


def _add(needs: dict[Var, _Need], form: Sum, divisor: int, domain: Mapping[Var, Expr]) -> None:
    rest = [d for d in form.digits if d.scale % divisor]
    if not rest:
        return
    if len(rest) != 1:
        raise _NotSplitError
    (digit,) = rest
    inner = Analyzer().form(digit.source)
    scale, step = abs(digit.scale), divisor // abs(digit.scale) * digit.lower
    if divisor % scale or form.constant % scale or len(inner.digits) != 1:
        raise _NotSplitError
    (part,) = inner.digits
    if not isinstance(part.source, Var) or part.source not in domain or not part.is_whole or abs(part.scale) != 1:
        raise _NotSplitError
    need = needs.setdefault(part.source, _Need())
    need.factor = lcm(need.factor, step)
    need.left = max(need.left, (form.constant // scale * digit.lower + inner.constant) % step)
    need.reverse = need.reverse or digit.scale < 0 or part.scale < 0


def _add_symbolic(needs: dict[Var, _Need], division: FloorDiv | FloorMod, domain: Mapping[Var, Expr]) -> None:
    """`i // n`, `i % n`: only of an iterator itself, and only by one divisor."""
    var, divisor = division.a, division.b
    if not isinstance(var, Var) or var not in domain or free_vars(divisor) & domain.keys():
        raise _NotSplitError
    need = needs.setdefault(var, _Need())
    if need.symbol is not None and structure_key(need.symbol) != structure_key(divisor):
        raise _NotSplitError
    need.symbol = divisor


# Iterators that are divided together, `(i * 10 + j) // 8`, are one iterator.


class _Fused(msgspec.Struct, frozen=True):
    """The map over iterators of which each is divided alone; `values` says what the fused ones are of them."""

    indices: tuple[Expr, ...]
    domain: dict[Var, Expr]
    values: dict[Var, Expr]

    @staticmethod
    def of(indices: Sequence[Expr], domain: Mapping[Var, Expr]) -> _Fused:
        plain = Analyzer()
        values: dict[Var, Expr] = {}
        total: dict[Var, Expr] = {}
        indices = [_whole_sum(index, domain, values, total) for index in indices]
        for division in (d for index in indices for d in _divisions(index)):
            divisor = build.int_value(division.b) or 0
            group = [d for d in _dividend(division.a, domain).digits if divisor < 1 or d.scale % divisor]
            if len(group) < 2 or all(d.source in values for d in group):
                continue
            if any(d.source in values for d in group):
                raise _NotSplitError
            whole, extent = _whole_of(group, domain, values)
            total[whole] = extent
        if not values:
            return _Fused(tuple(indices), dict(domain), {})
        kept = {p: e for p, e in domain.items() if p not in values}
        return _Fused(tuple(plain.simplify(substitute(i, values)) for i in indices), total | kept, values)


def _whole_of(group: Sequence[Digit], domain: Mapping[Var, Expr], values: dict[Var, Expr]) -> tuple[Var, Expr]:
    """The iterator that `group` makes up, with its extent; adds to `values` what each of its parts is of it."""
    ordered = sorted(group, key=lambda d: d.scale)
    whole = Var("fused", ordered[0].source.dtype)
    reach = 1
    for position, digit in enumerate(ordered):
        if not isinstance(digit.source, Var) or digit.source not in domain:
            raise _NotSplitError
        extent = build.int_value(domain[digit.source])
        if not digit.is_whole or digit.scale != reach or extent is None:
            raise _NotSplitError
        value = build.floordiv(whole, reach)
        values[digit.source] = value if position == len(ordered) - 1 else build.floormod(value, extent)
        reach *= extent
    return whole, build.const(reach, whole.dtype)


def _whole_sum(index: Expr, domain: Mapping[Var, Expr], values: dict[Var, Expr], total: dict[Var, Expr]) -> Expr:
    """`i * n + j`, j below the symbolic n, as one iterator; any other index as it is."""
    ones = {v: build.make_range(0, e) for v, e in domain.items() if build.is_const(e, 1)}
    known = Analyzer(ones)
    rest = known.simplify(index)
    used = [v for v in domain if v in free_vars(rest) and v not in values]
    if not free_vars(rest) - domain.keys() or any(isinstance(node, FloorDiv | FloorMod) for node in walk(rest)):
        return index
    order: list[tuple[Var, Expr]] = []
    reach: Expr = build.const(1, index.dtype)
    while len(order) < len(used):
        for var in used:
            left = known.simplify(build.sub(rest, build.mul(var, reach)))
            if not any(var is v for v, _ in order) and var not in free_vars(left):
                order.append((var, reach))
                rest, reach = left, known.simplify(build.mul(reach, domain[var]))
                break
        else:
            return index
    if not build.is_const(rest, 0) or len(order) < 2:
        return index
    whole = Var("fused", index.dtype)
    total[whole] = reach
    for var, step in order[:-1]:
        values[var] = build.floormod(build.floordiv(whole, step), domain[var])
    values[order[-1][0]] = build.floordiv(whole, order[-1][1])
    return whole


# The iterators with room.


class _Widened:
    """The domain with iterators replaced by wider ones: `values` gives the old ones of them, `padded` those that got padding."""

    def __init__(self, domain: Mapping[Var, Expr], fused: Collection[Var]) -> None:
        self.domain: dict[Var, Expr] = dict(domain)
        self._fused = fused
        self.values: dict[Var, Expr] = {}
        self.padded: list[_Padded] = []
        self._symbols: dict[Var, tuple[Expr, Var, Var]] = {}

    def widen(self, var: Var, need: _Need) -> bool:
        """Make room for `var` where it has to have some. False when it cannot be."""
        extent = self.domain[var]
        if need.symbol is not None:
            return need.factor == 1 and self._parted(var, extent, need.symbol)
        known = build.int_value(extent)
        edge = build.add(extent, need.left)
        if not need.left and (need.factor == 1 or Analyzer().decided(build.eq(build.floormod(edge, need.factor), 0))):
            return True
        if need.reverse:
            return False
        factor = build.const(need.factor, var.dtype)
        if known is None:
            high, low = self._digits(var, build.floordiv(build.add(edge, need.factor - 1), factor), factor)
            wide: Expr = build.add(build.mul(high, factor), low)
        else:
            wide = Var(var.name, var.dtype)
            assert isinstance(wide, Var)
            self._replace(var, {wide: build.const(-(-(known + need.left) // need.factor) * need.factor, var.dtype)})
        self.values[var] = build.sub(wide, need.left)
        self.padded.append(_Padded(wide, need.left, factor, edge, is_one=var in self._fused))
        return True

    def _parted(self, var: Var, extent: Expr, divisor: Expr) -> bool:
        """`var` as `high * n + low`; the divisions by n are then these digits."""
        rounded = build.add(build.floormod(build.sub(0, extent), divisor), extent)
        high, low = self._digits(var, build.floordiv(rounded, divisor), divisor)
        wide = build.add(low, build.mul(high, divisor))
        self.values[var] = wide
        self._symbols[var] = (divisor, high, low)
        self.padded.append(_Padded(wide, 0, divisor, extent))
        return True

    def _digits(self, var: Var, high_extent: Expr, low_extent: Expr) -> tuple[Var, Var]:
        high, low = Var(f"{var.name}_0", var.dtype), Var(f"{var.name}_1", var.dtype)
        self._replace(var, {high: high_extent, low: low_extent})
        return high, low

    def _replace(self, var: Var, new: Mapping[Var, Expr]) -> None:
        parts = [new if v is var else {v: e} for v, e in self.domain.items()]
        self.domain = {v: e for part in parts for v, e in part.items()}

    def index(self, expr: Expr) -> Expr:
        """An index of the map over the wider iterators."""

        def visit(node: Node) -> Node:
            if isinstance(node, FloorDiv | FloorMod) and isinstance(node.a, Var) and node.a in self._symbols:
                divisor, high, low = self._symbols[node.a]
                if structure_key(divisor) == structure_key(node.b):
                    return high if isinstance(node, FloorDiv) else low
            return map_children(node, visit)

        parted = visit(expr)
        assert isinstance(parted, Expr)
        ranges = {v: build.make_range(0, e) for v, e in self.domain.items() if not build.is_const(e, 1)}
        return Analyzer(ranges).simplify(substitute(parted, self.values))
