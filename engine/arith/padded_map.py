"""Index maps that need padding: extents are rounded up so that the map splits them evenly, and some places then have no element.

`[i // 4, i % 4]` of 14 elements is a bijection of 16: the map is inverted over the rounded extents, and the padding is the condition that
the inverse exceeds the original extents. (TVM's NonSurjectiveInverse; the conditions have its form.)
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
    """The result of `padded_inverse`. `inverse` maps the axes of the new layout to the old ones. `lowest` and `shape` are the box of
    places; `padding` is the condition, in the inverse's axes, that a place has no element (false if every place has one)."""

    inverse: IndexMap
    lowest: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    padding: Expr


class _Need(msgspec.Struct):
    """Padding requirements of an iterator: `left` places before its first value, and rounding up to a multiple of `factor`."""

    factor: int = 1
    left: int = 0
    symbol: Expr | None = None
    reverse: bool = False


class _Padded(msgspec.Struct, frozen=True):
    """A padded iterator: `value` in the map's wider iterators, `factor`, and `edge`, the first value after the last element. `is_one`: it
    was fused from several."""

    value: Expr
    left: int
    factor: Expr
    edge: Expr
    is_one: bool = False


class _NotSplitError(Exception):
    """The map divides an expression that is not an iterator."""


def padded_inverse(index_map: IndexMap, shape: Sequence[Expr]) -> PaddedMap | None:
    """Return the inverse over the rounded extents; None if the map is not an invertible combination of splits and fusions of its axes.

    A symbolic divisor (`i // n`) is assumed to be positive. Raises ValueError when an axis has no bound.
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
    """Whether the map preserves row-major order between elements and places of the box `shape`. False if unknown."""
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
    """Return the condition that the iterator is outside of its values; a split iterator is compared by quotient and remainder of its
    factor."""
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
    """Rewrite `3 <= i` to `i == 3` if 3 is the highest value of i, which is TVM's form for the last place of an axis."""

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


# -- padding requirements of a map's divisions


def _divisions(node: Node) -> Iterator[FloorDiv | FloorMod]:
    """Yield the divisions, inner ones first."""
    for child in children(node):
        yield from _divisions(child)
    if isinstance(node, FloorDiv | FloorMod):
        yield node


def _dividend(expr: Expr, domain: Mapping[Var, Expr]) -> Sum:
    """Return the canonical sum of a dividend. Iterators of one trip are omitted, unless there are no others: `i // 4` is a split even if i
    has one trip."""
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
    """Add a symbolic division `i // n` or `i % n`: the dividend must be an iterator, with a single divisor."""
    var, divisor = division.a, division.b
    if not isinstance(var, Var) or var not in domain or free_vars(divisor) & domain.keys():
        raise _NotSplitError
    need = needs.setdefault(var, _Need())
    if need.symbol is not None and structure_key(need.symbol) != structure_key(divisor):
        raise _NotSplitError
    need.symbol = divisor


# -- fusion: iterators that are divided together, `(i * 10 + j) // 8`, become one iterator


class _Fused(msgspec.Struct, frozen=True):
    """The map over iterators that are divided separately; `values` expresses the original iterators by the fused ones."""

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
    """Return the fused iterator of `group` with its extent; add the value of each of its parts to `values`."""
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
    """Return `i * n + j`, j below the symbolic n, as one iterator; any other index unchanged."""
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


# -- widened iterators


class _Widened:
    """The domain with wider iterators: `values` expresses the old ones by them, `padded` lists those with padding."""

    def __init__(self, domain: Mapping[Var, Expr], fused: Collection[Var]) -> None:
        self.domain: dict[Var, Expr] = dict(domain)
        self._fused = fused
        self.values: dict[Var, Expr] = {}
        self.padded: list[_Padded] = []
        self._symbols: dict[Var, tuple[Expr, Var, Var]] = {}

    def widen(self, var: Var, need: _Need) -> bool:
        """Widen `var` if necessary. False if that is impossible."""
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
        """Split `var` into `high * n + low`; its divisions by n become these digits."""
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
        """Rewrite an index of the map to the wider iterators."""

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
