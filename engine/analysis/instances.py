"""Exact decisions about the instances of a block, the iterations that run under its predicate, by Presburger sets.

The structural tests of `repeats` and `cover` recognise common forms; questions that they cannot answer are decided here. Sizes and loops
further out are parameters. A negative answer has a witness: concrete values of loops and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import msgspec

from ..arith import Names, NotAffine, affine_text, condition_text, isl_context, simplify
from ..cancellation import checkpoint
from ..ir import BlockRealize, BufferRegion, Expr, IntImm, Mul, Range, Var, build, free_vars, substitute, walk
from ..processes import OverBudgetError, isolated

if TYPE_CHECKING:
    import islpy as isl

Ranges = Mapping[Var, Range]

OPERATIONS = 300_000
"""Maximum isl operations of one decision: a few hundredths of a second, for some questions many seconds."""

OPERATIONS_HERE = 10_000
"""Maximum isl operations of a decision in this process: at most a few hundredths of a second."""

SECONDS = 2.0
"""Maximum processor time of one decision."""

MOST_CASES = 16
"""Maximum number of values of loops that are distinguished because the loops multiply a size."""

TRIAL_SIZES = (5, 12, 37)
"""Values for the sizes if these are multiplied, which Presburger sets cannot express: they may give a witness, but no proof."""

Question = Callable[["isl.Context", int | None], "Decision"]


class Decision(msgspec.Struct, frozen=True):
    """The answer to a question, true if it is proved. `holds` is None if it is out of reach; `detail` is a witness of a negative answer, or
    the reason."""

    holds: bool | None
    detail: str = ""

    def __bool__(self) -> bool:
        return self.holds is True


HOLDS = Decision(True)

UNKNOWN = Decision(None)

TOO_MANY_STEPS = Decision(None, "undecided: the decision needs too many steps")


class Instances(msgspec.Struct, frozen=True, eq=False):
    """The iterations of `loops` (outermost first) at which all `conditions` hold. `block`: the name of the block, for witnesses."""

    block: str
    loops: Ranges
    conditions: tuple[Expr, ...]

    @staticmethod
    def of(realize: BlockRealize, loops: Ranges, outer: Ranges | None = None) -> Instances:
        """The instances in one iteration of the loops `outer`."""
        return Instances(realize.block.name, loops, (*build.conjuncts(realize.predicate), *in_range(outer or {})))


def in_range(loops: Ranges) -> tuple[Expr, ...]:
    """The conditions that the loops' variables have values in their ranges."""
    return tuple(c for v, r in loops.items() for c in (build.ge(v, r.min), build.lt(v, build.add(r.min, r.extent))))


class Elements(msgspec.Struct, frozen=True, eq=False):
    """The boxes of elements that the instances access, together."""

    instances: Instances
    regions: tuple[BufferRegion, ...]


def runs_once(realize: BlockRealize, loops: Ranges) -> Decision:
    """Whether no two iterations of the loops give the iterators of the block the same values."""
    if not all(_drives(realize, v) or build.is_const(r.extent, 1) for v, r in loops.items()):
        return Decision(False, "a loop that drives no iterator repeats the block")

    return _decided(partial(_runs_once, realize, loops))


def _runs_once(realize: BlockRealize, loops: Ranges, context: isl.Context, size: int | None) -> Decision:
    instances = Instances.of(realize, loops)
    space = _Space(context, size, (instances,), realize.iter_values)
    values = space.map(instances, [(v, None) for v in realize.iter_values])
    pairs = values.apply_range(values.reverse())
    pairs = pairs.intersect(_earlier(pairs))
    if pairs.is_empty():
        return HOLDS
    point = pairs.wrap().lexmin().sample_point()
    half = len(loops)
    first, second = (space.loops_text(loops, point, at) for at in (0, half))
    return Decision(
        False,
        f"iterations {first} and {second} run the same instance of {realize.block.name!r}{space.sizes_text(point)}",
    )


def begins_with_init(realize: BlockRealize, loops: Ranges, *, partly: bool = False) -> Decision:
    """Whether the first of the iterations that update an element is the one that runs the init.

    `partly`: only for the elements whose init runs in these loops.
    """
    return _decided(partial(_begins_with_init, realize, loops, partly))


def _begins_with_init(
    realize: BlockRealize, loops: Ranges, partly: bool, context: isl.Context, size: int | None
) -> Decision:
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    instances = Instances.of(realize, loops)
    space = _Space(context, size, (instances,), (*realize.iter_values, *(iv.dom.min for iv, _ in pairs)))
    groups = space.map(instances, [(v, None) for iv, v in pairs if iv.iter_type != "reduce"])
    starting = (build.eq(v, iv.dom.min) for iv, v in pairs if iv.iter_type == "reduce")
    inits = space.map(msgspec.structs.replace(instances, conditions=(*instances.conditions, *starting)), []).domain()
    first = groups.reverse().lexmin()
    if partly:
        first = first.intersect_domain(inits.apply(groups))
    late = first.range().subtract(inits)
    if late.is_empty():
        return HOLDS
    point = late.lexmin().sample_point()
    where = space.loops_text(loops, point, 0)
    return Decision(
        False, f"the first term of a sum is added at {where}, where the init does not run{space.sizes_text(point)}"
    )


def contains(written: Elements, read: Elements, limits: Sequence[Expr] | None = None) -> Decision:
    """Whether every element of `read` is one of `written`, in each iteration of the loops further out. With `limits`, only elements from
    0 to below the limits count."""
    return _decided(partial(_contains, written, read, limits))


def _contains(
    written: Elements, read: Elements, limits: Sequence[Expr] | None, context: isl.Context, size: int | None
) -> Decision:
    space = _Space(context, size, (written.instances, read.instances), (*_bounds(written, read), *(limits or ())))
    missing = space.elements(read).subtract(space.elements(written))
    if limits is not None:
        missing = missing.intersect(space.box(limits))
    if missing.is_empty():
        return HOLDS
    point = missing.lexmin().sample_point()
    element = ", ".join(str(v) for v in space.coordinates(point))
    buffer = written.regions[0].buffer.name
    return Decision(
        False, f"{buffer}[{element}] is not written by {written.instances.block!r}{space.sizes_text(point)}"
    )


def reads_written(written: Elements, reads: Sequence[Elements]) -> Decision:
    """Whether an earlier instance of the same block wrote each element that an instance reads. All parts have the same loops, which run in
    order, and regions of one element."""
    return _decided(partial(_reads_written, written, reads))


def _reads_written(written: Elements, reads: Sequence[Elements], context: isl.Context, size: int | None) -> Decision:
    parts = (written, *reads)
    space = _Space(context, size, [part.instances for part in parts], _bounds(*parts))
    (region,) = written.regions
    writers = space.region(written.instances, region).reverse()
    for part in reads:
        read = space.region(part.instances, part.regions[0])
        sources = read.apply_range(writers)
        late = read.domain().subtract(sources.intersect(_earlier(sources).reverse()).domain())
        if not late.is_empty():
            point = late.lexmin().sample_point()
            where = space.loops_text(part.instances.loops, point, 0)
            return Decision(
                False, f"iteration {where} reads an element that no earlier one wrote{space.sizes_text(point)}"
            )
    return HOLDS


def never_meet(first: Elements, second: Elements, same: int, moving: Sequence[int]) -> Decision:
    """Whether no element is accessed in two iterations that have the same values of the first `same` loops and other values of a loop
    at the positions `moving`. The regions are in terms of the loops; the loops at all these positions are common to both. Axes with an
    index that is not affine count as equal: elements that differ in another axis differ."""
    return _decided(partial(_never_meet, first, second, same, moving))


def _never_meet(
    first: Elements, second: Elements, same: int, moving: Sequence[int], context: isl.Context, size: int | None
) -> Decision:
    space = _Space(context, size, (first.instances, second.instances), _bounds(first, second))
    axes: set[int] | None = None
    try:
        mine, others = ([space.region(part.instances, b) for b in part.regions] for part in (first, second))
    except NotAffine:
        axes = space.affine_axes(first) & space.affine_axes(second)
        if not axes:
            raise
        mine, others = ([space.region(part.instances, b, axes) for b in part.regions] for part in (first, second))
    import islpy as isl

    inner, outer = isl.dim_type.in_, isl.dim_type.out
    for a, b in product(mine, others):
        pairs = a.apply_range(b.reverse())
        for position in range(same):
            pairs = pairs.equate(inner, position, outer, position)
        for position in moving:
            meeting = pairs.subtract(pairs.equate(inner, position, outer, position))
            if not meeting.is_empty():
                if axes is not None:
                    raise NotAffine
                return _meeting(first, second, space, meeting)
    return HOLDS


def _meeting(first: Elements, second: Elements, space: _Space, pairs: isl.Map) -> Decision:
    point = pairs.wrap().lexmin().sample_point()
    half = len(first.instances.loops)
    left = space.loops_text(first.instances.loops, point, 0)
    right = space.loops_text(second.instances.loops, point, half)
    mine, other = first.instances.block, second.instances.block
    who = f"{left} and {right} of {mine!r}" if mine == other else f"{left} of {mine!r} and {right} of {other!r}"
    buffer = first.regions[0].buffer.name
    return Decision(False, f"iterations {who} access the same element of {buffer!r}{space.sizes_text(point)}")


def _bounds(*parts: Elements) -> list[Expr]:
    """The bounds of all regions."""
    return [e for part in parts for b in part.regions for r in b.region for e in (r.min, r.extent)]


def _is_short(loop: Range) -> bool:
    trips = build.int_value(loop.extent)
    return trips is not None and 1 < trips <= MOST_CASES and not free_vars(loop.min)


def _drives(realize: BlockRealize, loop: Var) -> bool:
    return any(loop in free_vars(value) for value in realize.iter_values)


def _decided(question: Question) -> Decision:
    """The answer of isl. A question that needs more than a few steps goes to another process, since isl holds the interpreter's lock, and
    needs up to 50 µs for a step."""
    checkpoint()
    try:
        import islpy as isl  # an extra, which takes long to import
    except ModuleNotFoundError as missing:
        if missing.name != "islpy":
            raise
        return Decision(None, "undecided: the decision needs islpy: pip install 'tilewright[prove]'")
    try:
        return _answer(question, OPERATIONS_HERE)
    except isl.Error:
        pass
    try:
        return isolated(_answer_there, question, seconds=SECONDS, what="the decision")
    except OverBudgetError:
        return TOO_MANY_STEPS


def _answer_there(question: Question) -> Decision:
    import islpy as isl

    try:
        return _answer(question, OPERATIONS)
    except isl.Error:
        return TOO_MANY_STEPS


def _answer(question: Question, operations: int) -> Decision:
    """The answer within a number of isl's operations. Raises isl.Error beyond it."""
    reason = TOO_MANY_STEPS.detail
    for size in (None, *TRIAL_SIZES):
        try:
            with isl_context(operations) as context:
                found = question(context, size)
        except NotAffine:
            reason = "undecided: the bindings or indices are not affine"
        else:
            if size is None or found.holds is False:
                return found
            reason = f"undecided: sizes are multiplied; correct for {' and '.join(map(str, TRIAL_SIZES))}"
    return Decision(None, reason)


def _earlier(pairs: isl.Map) -> isl.Map:
    """All pairs of iterations of which the first is earlier."""
    import islpy as isl

    return isl.Map.lex_lt(pairs.get_space().domain())


class _Space:
    """Names for the loops and parameters of a question, and its sets."""

    def __init__(
        self, context: isl.Context, size: int | None, instances: Sequence[Instances], used: Sequence[Expr]
    ) -> None:
        self._context = context
        own = {v for i in instances for v in i.loops}
        ranges = (x for i in instances for r in i.loops.values() for x in (r.min, r.extent))
        exprs = (*used, *ranges, *(c for i in instances for c in i.conditions))
        free = dict.fromkeys(v for e in exprs for v in sorted(free_vars(e), key=lambda v: v.name) if v not in own)
        self._sizes = {} if size is None else {v: build.const(size, v.dtype) for v in free}
        self._parameters = {} if size is not None else {v: f"p{n}" for n, v in enumerate(free)}

    def _affine(self, expr: Expr, names: Names) -> str:
        return affine_text(simplify(substitute(expr, self._sizes)) if self._sizes else expr, names)

    def _condition(self, expr: Expr, names: Names) -> str:
        return condition_text(simplify(substitute(expr, self._sizes)) if self._sizes else expr, names)

    def map(self, instances: Instances, axes: Sequence[tuple[Expr, Expr | None]]) -> isl.Map:
        """Maps each instance to its values; an axis with an extent takes all values from the first."""
        import islpy as isl

        names = {**self._parameters, **{v: f"i{n}" for n, v in enumerate(instances.loops)}}
        inner = ", ".join(names[v] for v in instances.loops)
        outer = ", ".join(f"e{n}" for n in range(len(axes)))
        cases = (" and ".join(self._terms(instances, axes, names, fixed)) for fixed in self._cases(instances, axes))
        pieces = (f"[{inner}] -> [{outer}] : {terms or '0 = 0'}" for terms in cases)
        return isl.Map.read_from_str(self._context, f"{self._head} {{ {'; '.join(pieces)} }}")

    def _cases(self, instances: Instances, axes: Sequence[tuple[Expr, Expr | None]]) -> Iterator[dict[Var, Expr]]:
        """The values of short loops that multiply a size, one case after the other: `i * n + j` is affine for each `i`."""
        exprs = [e for pair in axes for e in pair if e is not None] + [*instances.conditions]
        products = [node for e in exprs for node in walk(e) if isinstance(node, Mul)]
        factors = {v for p in products if free_vars(p) & self._parameters.keys() for v in free_vars(p)}
        short = {v: build.int_value(r.extent) or 0 for v, r in instances.loops.items() if v in factors and _is_short(r)}
        if prod(short.values()) > MOST_CASES:
            short = {}
        for values in product(*(range(trips) for trips in short.values())):
            yield {
                v: build.add(instances.loops[v].min, build.const(i, v.dtype))
                for v, i in zip(short, values, strict=True)
            }

    def _terms(
        self,
        instances: Instances,
        axes: Sequence[tuple[Expr, Expr | None]],
        names: Names,
        fixed: Mapping[Var, Expr],
    ) -> Iterator[str]:
        """The constraints of the instances and their values where the loops of `fixed` have one value each."""

        def known_at(expr: Expr) -> Expr:
            return simplify(substitute(expr, fixed)) if fixed else expr

        yield from (f"{names[v]} = {self._affine(value, names)}" for v, value in fixed.items())
        yield from (self._condition(known_at(c), names) for c in instances.conditions)
        for var, known in instances.loops.items():
            low = self._affine(known_at(known.min), names)
            yield f"{low} <= {names[var]} < {low} + {self._affine(known_at(known.extent), names)}"
        for n, (value, extent) in enumerate(axes):
            low = self._affine(known_at(value), names)
            high = None if extent is None else self._affine(known_at(extent), names)
            yield f"e{n} = {low}" if high is None else f"{low} <= e{n} < {low} + {high}"

    def region(self, instances: Instances, region: BufferRegion, axes: Container[int] | None = None) -> isl.Map:
        """Maps each instance to the elements of the region, by their indices in some of the axes."""
        indices = ((r.min, r.extent) for n, r in enumerate(region.region) if axes is None or n in axes)
        return self.map(instances, [*indices])

    def affine_axes(self, part: Elements) -> set[int]:
        """The axes whose indices are affine in all regions."""
        names = {**self._parameters, **{v: v.name for v in part.instances.loops}}
        return {
            n
            for n in range(len(part.regions[0].region))
            if all(self._is_affine(e, names) for b in part.regions for e in (b.region[n].min, b.region[n].extent))
        }

    def _is_affine(self, expr: Expr, names: Names) -> bool:
        try:
            self._affine(expr, names)
        except NotAffine:
            return False
        return True

    def elements(self, part: Elements) -> isl.Set:
        found: isl.Set | None = None
        for region in part.regions:
            axes = self.region(part.instances, region).range()
            found = axes if found is None else found.union(axes)
        assert found is not None
        return found

    def box(self, limits: Sequence[Expr]) -> isl.Set:
        import islpy as isl

        axes = [f"e{n}" for n in range(len(limits))]
        terms = [f"0 <= {e} < {self._affine(x, self._parameters)}" for e, x in zip(axes, limits, strict=True)]
        return isl.Set.read_from_str(
            self._context, f"{self._head} {{ [{', '.join(axes)}] : {' and '.join(terms) or '0 = 0'} }}"
        )

    @property
    def _head(self) -> str:
        return f"[{', '.join(self._parameters.values())}] ->"

    def coordinates(self, point: isl.Point) -> list[int]:
        import islpy as isl

        count = point.get_space().dim(isl.dim_type.set)
        values: list[str | None] = [point.get_coordinate_val(isl.dim_type.set, n).to_str() for n in range(count)]
        if None in values:
            raise isl.Error("isl's operations are used up")
        return [int(value) for value in values if value is not None]

    def loops_text(self, loops: Ranges, point: isl.Point, at: int) -> str:
        values = self.coordinates(point)[at : at + len(loops)]
        return f"({', '.join(f'{v.name} = {x}' for v, x in zip(loops, values, strict=True))})"

    def sizes_text(self, point: isl.Point) -> str:
        import islpy as isl

        values = [point.get_coordinate_val(isl.dim_type.param, n).to_python() for n in range(len(self._parameters))]
        known = {**self._sizes, **dict(zip(self._parameters, values, strict=True))}
        text = ", ".join(f"{v.name} = {x.value if isinstance(x, IntImm) else x}" for v, x in known.items())
        return f" for {text}" if text else ""
