"""Random inputs that respect what a program does with them: integers that it uses as indices or divisors have suitable values."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from ..arith import Analyzer
from ..cancellation import checkpoint
from ..data import assumed_facts, data_use
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Contents,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    LetStmt,
    Mod,
    Node,
    PrimFunc,
    Range,
    Var,
    build,
    children,
    free_vars,
    refusing_depth,
    rewrite,
    substitute,
    uses_var,
    walk,
)
from ..ir import dtype as dt
from .errors import ExecuteError, unsupported
from .frames import Array
from .values import numpy_dtype

INTEGERS = ((-8, 8), (1, 3), (0, 1))
"""Ranges of integer inputs, inclusive: uses that are not recognised may allow only the smaller ones."""

MOST_TRIPS = 64
"""Limit on generated trip counts: tiles have edges below it, and a test with them is short."""


class Needed(msgspec.Struct, frozen=True):
    """The values that the uses of an integer buffer allow, inclusive; None: any."""

    low: int | None = None
    high: int | None = None

    def within(self, integers: tuple[int, int]) -> tuple[int, int]:
        """The range to draw from: the needed one, narrowed by `integers` unless these are the widest, which indices may exceed."""
        low, high = integers
        if self.low is not None:
            low = max(low, self.low)
        if self.high is not None:
            high = self.high if integers == INTEGERS[0] else min(high, self.high)
        return (low, high) if low <= high else (high, high)

    def also(self, other: Needed) -> Needed:
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        return Needed(max(lows, default=None), min(highs, default=None))


@refusing_depth(ExecuteError)
def random_inputs(
    func: PrimFunc, seed: int = 0, integers: tuple[int, int] = INTEGERS[0], trips: int = MOST_TRIPS
) -> dict[str, Array]:
    """Small random values, by name, for every parameter buffer that is not written before it is read, and for scalar parameters;
    deterministic per seed.

    Integers that the program uses as indices stay within the indexed axes, and divisors and trip counts are positive, as far as their uses
    show. Integer parameters without such uses are positive, since most of them bound something. Offsets, whose differences are trip
    counts, are sorted; trip counts are about `trips` at most. Integers have the
    contents that are given for them (`func.data`), and the facts that the program assumes.

    Floats are multiples of 1/8 from -2 to 2 without 0, so that sums of their products are exact in float32 in any order, unless they are
    very long: a difference is then a fault, not rounding. Integers are from the first to the second of `integers`, unsigned ones at least
    0.
    """
    found: dict[str, Array] = {}
    generator = np.random.default_rng(seed)
    read = _read_first(func)
    scalars = scalar_parameters(func)
    has_integers = any(dt.is_int(given.dtype) for given in (*read, *scalars))
    needs = required_ranges(func) if has_integers else {}
    contents = _known_contents(func, needs, trips) if has_integers else {}
    for buffer in func.buffers:
        extents = [build.int_value(e) for e in buffer.shape]
        shape = tuple(e for e in extents if e is not None)
        if len(shape) != len(extents):
            raise unsupported(
                f"random inputs for {buffer.name}, whose shape is symbolic", "numbers for its extents", (buffer,)
            )
        if buffer in contents:
            found[buffer.name] = _integers(generator, buffer, shape, contents[buffer], needs, integers)
        elif buffer in read:
            found[buffer.name] = _values(generator, buffer.dtype, shape, needs.get(buffer, Needed()).within(integers))
    for param in scalars:
        found[param.name] = _values(generator, param.dtype, (), needs.get(param, Needed(1)).within(integers))
    return found


def _known_contents(func: PrimFunc, needs: dict[Buffer | Var, Needed], trips: int) -> dict[Buffer, Contents]:
    """What is known of integer parameters: what is given, else what the program assumes and what its trip counts need, which also limits
    them in `needs`."""
    given = {c.buffer: c for c in func.data}
    use, assumed = data_use(func), assumed_facts(func)
    for buffer in {b for loop in use.loops for b in loop.parameters}:
        rows = build.int_value(buffer.shape[-1]) if buffer.shape else 1
        most = trips * (rows or 1) if buffer in use.offsets else trips
        needs[buffer] = Needed(0 if buffer in use.offsets else 1, most).also(needs.get(buffer, Needed()))
        if buffer in use.offsets:
            needs[buffer] = msgspec.structs.replace(needs[buffer], low=0)
    found: dict[Buffer, Contents] = {}
    for buffer in use.integers:
        one = given.get(buffer.name) or assumed.get(buffer)
        if buffer in use.offsets and not (one is not None and one.is_known):
            one = one or Contents(buffer.name)
            one = msgspec.structs.replace(one, facts=tuple(dict.fromkeys((*one.facts, "sorted"))))
        if one is not None:
            found[buffer] = one
    return found


def _integers(
    generator: np.random.Generator,
    buffer: Buffer,
    shape: tuple[int, ...],
    contents: Contents,
    needs: dict[Buffer | Var, Needed],
    integers: tuple[int, int],
) -> Array:
    """The given elements of a parameter, or generated ones with its facts."""
    kind, count = numpy_dtype(buffer.dtype), int(np.prod(shape, dtype=np.int64))
    if contents.values:
        if len(contents.values) != count:
            raise unsupported(f"{len(contents.values)} values for {buffer.name}", f"{count} values", (buffer,))
        return np.array(contents.values).astype(kind).reshape(shape)
    if contents.line is not None:
        constant, numerator, denominator = contents.line
        last = np.arange(shape[-1]) if shape else np.zeros((), np.int64)
        return np.broadcast_to(constant + last * numerator // denominator, shape).astype(kind)
    low, high = Needed(contents.low, contents.high).also(needs.get(buffer, Needed())).within(integers)
    low, high = (low if contents.low is None else contents.low), (high if contents.high is None else contents.high)
    if "distinct" not in contents.facts:
        drawn = _values(generator, buffer.dtype, shape, (low, high))
    elif high - low + 1 >= count:
        offsets = generator.choice(high - low + 1, count, replace=False)
        drawn = (low + offsets).astype(kind).reshape(shape)
    else:
        raise unsupported(
            f"distinct values for {buffer.name}", f"{count} values, of which {low}..{high} has fewer", (buffer,)
        )
    return np.sort(drawn, axis=-1) if "sorted" in contents.facts and shape else drawn


def scalar_parameters(func: PrimFunc) -> list[Var]:
    """The numbers among the parameters, without the sizes of buffers."""
    sizes = {v for buffer in func.buffers for extent in buffer.shape for v in free_vars(extent)}
    return [p for p in func.params if p.dtype != "handle" and p not in sizes]


def required_ranges(func: PrimFunc) -> dict[Buffer | Var, Needed]:
    """The values that integer buffers and parameters must have: indices within the indexed axes, divisors and trip counts of at least 1.
    Values that pass through intermediate buffers count too."""
    uses = _Uses(func)
    for node in walk(func.body):
        match node:
            case BufferLoad() | BufferStore():
                checkpoint()
                for index, extent in zip(node.indices, node.buffer.shape, strict=False):
                    if (size := build.int_value(extent)) is not None:
                        uses.require(index, Needed(0, size - 1))
            case Div(b=b) | Mod(b=b) | FloorDiv(b=b) | FloorMod(b=b) if dt.is_int(b.dtype):
                uses.require(b, Needed(1))
            case For():
                uses.require(node.extent, Needed(1))
            case _:
                pass
    return uses.found


class _Uses:
    """The needed ranges of integer buffers and parameters, found from the expressions that use them."""

    def __init__(self, func: PrimFunc) -> None:
        self.found: dict[Buffer | Var, Needed] = {}
        self._params = {p for p in scalar_parameters(func) if dt.is_int(p.dtype)}
        self._open: set[Buffer | Var] = set()
        self._ranges: dict[Var, Range] = {}
        self._lets: dict[Var, Expr] = {}
        self._last: dict[Var, Expr] = {}  # the last iterations of loops whose trip counts are data
        self._stored: dict[Buffer | Var, list[Expr]] = {}
        for node in walk(func.body):
            if isinstance(node, For):
                self._ranges[node.loop_var] = Range(node.min, node.extent)
                if any(isinstance(n, BufferLoad) for n in walk(node.extent)):
                    self._last[node.loop_var] = build.sub(build.add(node.min, node.extent), 1)
            elif isinstance(node, LetStmt):
                self._lets[node.var] = substitute(node.value, self._lets)
            elif isinstance(node, Block):
                self._ranges.update({iv.var: iv.dom for iv in node.iter_vars})
            elif isinstance(node, BlockRealize):
                for iter_var, value in zip(node.block.iter_vars, node.iter_values, strict=True):
                    if isinstance(value, Var) and value in self._last:
                        self._last[iter_var.var] = self._last[value]
            elif isinstance(node, BufferStore) and dt.is_int(node.buffer.dtype):
                self._stored.setdefault(node.buffer, []).append(node.value)

    def require(self, expr: Expr, needed: Needed) -> None:
        """Narrow the loads and parameters in `expr` so that its value is in a range."""
        expr = substitute(expr, self._lets)
        if needed.high is not None and any(uses_var(expr, v) for v in self._last):
            expr = Analyzer(self._ranges).simplify(substitute(expr, self._last))
        givers = set(self._givers(expr))
        if not givers:
            return
        if needed.high is not None:
            needed = self._largest(expr, needed.high)
        for giver in givers:
            before = self.found.get(giver, Needed())
            after = before.also(needed)
            if after != before and giver not in self._open:
                self.found[giver] = after
                self._open.add(giver)  # a buffer whose values depend on itself
                for value in self._stored.get(giver, ()):
                    self.require(value, after)
                self._open.discard(giver)

    def _largest(self, expr: Expr, limit: int) -> Needed:
        """The widest range from 0 for loads and parameters such that the expression does not exceed the limit; up to the limit if none is
        known."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(expr, middle, limit) else (low, middle - 1)
        return Needed(0, low if self._fits(expr, low, limit) else limit)

    def _fits(self, expr: Expr, largest: int, limit: int) -> bool:
        loaded: dict[Var, Range] = {}

        def leave(node: Node) -> Node:
            if not isinstance(node, BufferLoad) and node not in self._params:
                return node
            assert isinstance(node, Expr)
            value = Var("loaded", node.dtype)
            loaded[value] = build.make_range(build.const(0, node.dtype), build.const(largest + 1, node.dtype))
            return value

        plain = rewrite(expr, leave)
        high = Analyzer({**self._ranges, **loaded}).bounds(plain).high
        return high is not None and high <= limit

    def _givers(self, expr: Expr) -> Iterator[Buffer | Var]:
        """The integer buffers and parameters whose values make up that of the expression: not those in indices of loads."""
        if isinstance(expr, BufferLoad):
            if dt.is_int(expr.dtype):
                yield expr.buffer
            return
        if isinstance(expr, Var) and expr in self._params:
            yield expr
        for child in children(expr):
            if isinstance(child, Expr):
                yield from self._givers(child)


def _values(generator: np.random.Generator, dtype: str, shape: tuple[int, ...], integers: tuple[int, int]) -> Array:
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(kind)
    if dt.is_float(dtype):
        eighths = generator.integers(-16, 16, shape)
        return ((eighths + (eighths >= 0)) / 8).astype(kind)
    low, high = integers
    return generator.integers(max(low, 0) if dtype.startswith("uint") else low, high + 1, shape).astype(kind)


def _read_first(func: PrimFunc) -> set[Buffer]:
    """The parameter buffers that are not stored before they are loaded, in text order: the caller must initialize them."""
    known: dict[Buffer, bool] = {}
    _first_touch(func.body, known, {})
    return {buffer for buffer in func.buffers if known.get(buffer, True)}


def _first_touch(node: Node, known: dict[Buffer, bool], aliases: dict[Buffer, Buffer]) -> None:
    if isinstance(node, Buffer):
        return
    if isinstance(node, Block):
        aliases.update((m.buffer, m.source.buffer) for m in node.match_buffers)
        for part in (node.init, node.body):
            if part is not None:
                _first_touch(part, known, aliases)
        return
    for child in children(node):
        _first_touch(child, known, aliases)
    if isinstance(node, BufferLoad | BufferStore):
        buffer = node.buffer
        while buffer in aliases:
            buffer = aliases[buffer]
        known.setdefault(buffer, isinstance(node, BufferLoad))
