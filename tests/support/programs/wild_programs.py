"""Random programs as text that TVM's front ends would not generate: manual code, and results of many rewrites.

Gathers and scatters by data, scans declared spatial, in-place updates, several writers and readers, imperfect nests with loops that
drive nothing, reversed, strided and overlapping accesses, iterators bound to constants, sums and quotients, domains that loops fill
only partly, predicates, branches, nested and opaque blocks, views, regions written as a whole, reductions without init, with several
stores or with an order, triangular loops, loops that start elsewhere or never run. Extents are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st


class Bounded(NamedTuple):
    """A value in an index: its text and its bounds, both inclusive."""

    text: str
    low: int
    high: int


class Array(NamedTuple):
    name: str
    shape: tuple[int, ...]


@st.composite
def wild_programs(draw: st.DrawFn) -> str:
    """TVMScript of a function over one to three parameters and up to three intermediate buffers."""
    return _Author(draw).program()


class _Author:
    """Writes one program, line by line. `wildness`: how likely, in percent, a choice is an odd one."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.depth = 1
        self.names = 0
        self.blocks = 0
        self.wildness = draw(st.sampled_from((5, 12, 25, 40)))
        self.dtype = draw(st.sampled_from(("int32", "int32", "float32", "int64", "uint8", "int8")))
        self.index_dtype = "int64" if self.odd(0.4) else "int32"
        self.ready: list[Array] = []

    # Choices.

    def odd(self, factor: float = 1.0) -> bool:
        return self.draw(st.integers(0, 999)) >= 1000 - 10 * self.wildness * factor

    def pick(self, options: Sequence[str]) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def name(self, base: str) -> str:
        self.names += 1
        return f"{base}{self.names}"

    # Text.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def integer(self, value: int) -> str:
        return f"T.int64({value})" if self.index_dtype == "int64" else str(value)

    def shape(self, array: Array) -> str:
        return "(" + "".join(f"{self.integer(e)}, " for e in array.shape) + ")"

    # The function.

    def program(self) -> str:
        rows, columns = self.number(1, 6), self.number(1, 5)
        shapes = [(rows,), (rows, columns), (columns, rows)] if self.odd(2) else [(rows,), (rows, columns)]
        arrays = [Array(name, self.draw(st.sampled_from(shapes))) for name in "APQ"[: self.number(2, 3)]]
        places = Array("places", (rows,))
        inner = [Array(name, self.draw(st.sampled_from(shapes))) for name in "XYZ"[: self.number(1, 3)]]
        self.ready = list(arrays)
        params = [f'{a.name}: T.Buffer({self.shape(a)}, "{self.dtype}")' for a in arrays]
        params.append(f'places: T.Buffer({self.shape(places)}, "int32")')
        self.places = places
        for array in inner:
            self.line(f'{array.name} = T.sblock_alloc_buffer({self.shape(array)}, "{self.dtype}")')
        for array in inner:
            self.nest([array], [])
            self.ready.append(array)
        for _ in range(self.number(1, 2)):
            self.nest(arrays + inner if self.odd() else arrays, [])
        head = ["@T.prim_func(s_tir=True)", f"def main({', '.join(params)}):"]
        return "\n".join([*head, *self.lines]) + "\n"

    def nest(self, targets: Sequence[Array], around: list[Bounded]) -> None:
        """A stage for one of the targets; or several below one loop."""
        if len(around) < 1 and self.odd(1.5):
            with_loop = self.open_loop(self.number(1, 4), around)
            for _ in range(self.number(1, 3)):
                self.nest(targets, [*around, with_loop])
            self.depth -= 1
            return
        self.stage(self.draw(st.sampled_from(list(targets))), around)

    def open_loop(self, extent: int, around: Sequence[Bounded]) -> Bounded:
        """A loop's header; following lines are in its body."""
        var = self.name("i")
        low, high, end = 0, extent - 1, self.integer(extent)
        if self.odd(0.3):
            low = self.number(1, 2)
            high, end = low + extent - 1, self.integer(low + extent)
        elif self.odd(0.2) and around and around[-1].low >= 0:
            end, high = f"{around[-1].text} + 1", around[-1].high
        elif self.odd(0.08):
            end, high = self.integer(0), 0
        start = f"{self.integer(low)}, " if low or self.index_dtype == "int64" else ""
        self.line(f"for {var} in {self.pick(KINDS) if self.odd(0.3) else 'range'}({start}{end}):")
        self.depth += 1
        return Bounded(var, low, high)

    def stage(self, target: Array, around: list[Bounded]) -> None:
        """Loops and a block that writes `target`."""
        depth = self.depth
        loops = list(around) if self.draw(st.booleans()) else []
        extents = [self.number(1, 5) if self.odd(0.4) else e for e in target.shape]
        fits = loops and loops[0].low >= 0 and loops[0].high < target.shape[0]
        if fits and self.draw(st.booleans()):
            extents = extents[1:]  # the loop around runs the first axis
        if self.odd() or (self.draw(st.integers(0, 3)) == 3):
            extents.insert(self.number(0, len(extents)), self.number(1, 4))
        if self.odd(0.5):
            extents = list(reversed(extents))
        for extent in extents:
            loops.append(self.open_loop(extent, loops))
        if self.odd(0.25) and loops:
            by_data = f"{self.load(loops)} > {self.constant()}"
            by_loop = f"{loops[-1].text} {self.pick(('<', '>=', '!='))} {self.number(0, 3)}"
            self.line(f"if {by_data if self.odd(2) else by_loop}:")
            self.depth += 1
        self.block(target, loops)
        self.depth = depth

    # Blocks.

    def block(self, target: Array, loops: list[Bounded], *, nested: bool = False) -> None:
        depth = self.depth
        self.blocks += 1
        self.line(f'with T.sblock("b{self.blocks}_{target.name}"):')
        self.depth += 1
        if self.odd(0.15):
            spatial, reduced = loops, []  # opaque: the loops are used directly
        else:
            spatial, reduced = self.iterators(target, loops)
        if self.odd(0.4) and loops:
            by_data = f"{self.load(loops)} > {self.constant()}"
            self.line(f"T.where({by_data if self.odd() else self.condition(loops)})")
        if not nested and self.odd(0.3) and (spatial or reduced):
            inner = self.open_loop(self.number(1, 4), [])
            self.block(target, [*spatial, *reduced, inner], nested=True)
        else:
            self.body(target, spatial, reduced)
        self.depth = depth

    def iterators(self, target: Array, loops: list[Bounded]) -> tuple[list[Bounded], list[Bounded]]:
        spatial: list[Bounded] = []
        reduced: list[Bounded] = []
        todo = list(loops)
        while todo:
            loop = todo.pop(0)
            if self.odd(0.3):
                continue
            value = self.binding(loop, todo)
            var = self.name("v")
            enough = len(spatial) >= len(target.shape)
            kind = "reduce" if (enough and not self.odd()) or self.odd(0.3) else "spatial"
            first, end = value.low, value.high + 1
            if self.odd(0.3):
                first, end = first - self.number(0, 1), end + self.number(0, 2)
            elif first > 0 and not self.odd():
                first = 0
            dom = self.integer(end) if first == 0 else f"({self.integer(first)}, {self.integer(end)})"
            self.line(f"{var} = T.axis.{kind}({dom}, {value.text})")
            (spatial if kind == "spatial" else reduced).append(Bounded(var, value.low, value.high))
        if self.odd(0.3):
            var = self.name("v")
            self.line(f"{var} = T.axis.spatial({self.integer(1)}, {self.integer(0)})")
            spatial.append(Bounded(var, 0, 0))
        return spatial, reduced

    def binding(self, loop: Bounded, others: list[Bounded]) -> Bounded:
        text, low, high = loop
        if not self.odd(0.6):
            return loop
        match self.pick(("shift", "turn", "halve", "double", "join", "digits", "wrap")):
            case "shift":
                return Bounded(f"{text} + 1", low + 1, high + 1)
            case "turn":
                return Bounded(f"{low + high} - {text}", low, high)
            case "halve":
                return Bounded(f"{text} // 2", low // 2, high // 2)
            case "double":
                return Bounded(f"{text} * 2", low * 2, high * 2)
            case "join" if others:
                other = others.pop(0) if self.draw(st.booleans()) else others[0]
                return Bounded(f"{text} + {other.text}", low + other.low, high + other.high)
            case "digits" if others:
                other = others.pop(0)
                width = other.high + 1
                return Bounded(f"{text} * {width} + {other.text}", low * width + other.low, high * width + other.high)
            case "wrap":
                return Bounded(f"{text} % 2", 0, min(high, 1))
            case _:
                return loop

    def condition(self, loops: Sequence[Bounded]) -> str:
        loop = self.draw(st.sampled_from(list(loops)))
        tests = [f"{loop.text} < {loop.high}", f"{loop.text} >= 1", f"{loop.text} != 1"]
        if len(loops) > 1:
            tests.append(f"{loops[0].text} <= {loops[-1].text}")
        return self.pick(tests)

    def body(self, target: Array, spatial: list[Bounded], reduced: list[Bounded]) -> None:
        known = [*spatial, *reduced]
        if self.odd(0.3) and len(target.shape) > 1:
            at = [self.index(target.shape[0], spatial)]
            if self.odd(0.7):
                self.view(target, at[0], known)
                return
            extent = target.shape[1]
            self.line(f"for r in range({extent}):")
            self.depth += 1
            at.append("r")
            known = [*known, Bounded("r", 0, extent - 1)]
            reduced = []
        else:
            at = self.indices(target, spatial, reduced)
        store = f"{target.name}[{', '.join(at)}]"
        in_loop = at[-1] == "r"
        if (reduced and not self.odd()) or self.odd(0.2):
            if not (in_loop or self.odd(0.5)):
                self.line("with T.init():")
                self.line(f"    {store} = {self.load(spatial) if self.odd(0.5) and spatial else self.constant()}")
            self.line(f"{store} = {self.updated(store, known)}")
        elif self.odd(0.3):
            self.line(f"{store} = {self.updated(store, known)}")
        else:
            if self.odd(0.3):
                self.line(f"if {self.load(known)} > {self.constant()}:")
                self.depth += 1
            self.line(f"{store} = {self.value(known)}")
        if self.odd(0.1):
            self.line(f'T.call_extern("int32", "note", {known[0].text if known else 0})')
        if self.odd(0.3):
            other = self.draw(st.sampled_from(self.ready))
            self.line(f"{other.name}[{', '.join(self.indices(other, spatial, reduced))}] = {self.value(known)}")

    def view(self, target: Array, row: str, known: Sequence[Bounded]) -> None:
        """A row of the target, written as a separate buffer."""
        extent = target.shape[1]
        sizes = f"({self.integer(extent)},)"
        self.line(f"T.reads({', '.join(f'{a.name}[{_whole(a)}]' for a in (*self.ready, self.places))})")
        self.line(f"T.writes({target.name}[{row}, 0:{extent}])")
        self.line(f'row = T.match_buffer({target.name}[{row}, 0:{extent}], {sizes}, "{self.dtype}", offset_factor=1)')
        self.line(f"for r in range({extent}):")
        value = self.value([*known, Bounded("r", 0, extent - 1)])
        self.line(f"    row[r] = {value}" + (" + row[r]" if self.odd() and target in self.ready else ""))

    def updated(self, store: str, known: Sequence[Bounded]) -> str:
        value = self.load(known)
        if self.odd(0.5):
            return self.pick((f"{store} * {self.constant()} + {value}", f"{value} - {store}", f"{store} - {value}"))
        return self.pick(
            (f"{store} + {value}", f"T.max({store}, {value})", f"{value} + {store}", f"T.min({value}, {store})")
        )

    def value(self, known: Sequence[Bounded]) -> str:
        value = self.load(known)
        for _ in range(self.number(0, 1)):
            other = self.load(known) if self.draw(st.booleans()) else self.constant()
            value = self.pick((f"{value} + {other}", f"{value} - {other}", f"T.max({value}, {other})"))
        if self.odd(0.4) and known:
            return f"T.if_then_else({self.condition(known)}, {value}, {self.constant()})"
        return value

    def constant(self) -> str:
        return f"T.{self.dtype}({self.number(0, 3)})"

    # Accesses.

    def load(self, known: Sequence[Bounded]) -> str:
        source = self.draw(st.sampled_from(self.ready[-2:] if self.draw(st.booleans()) else self.ready))
        return f"{source.name}[{', '.join(self.indices(source, known, ()))}]"

    def indices(self, array: Array, first: Sequence[Bounded], then: Sequence[Bounded]) -> list[str]:
        """An index for each axis; each value is used once as long as other ones fit."""
        left = [*first, *(then if self.odd(0.3) else ())]
        result: list[str] = []
        for extent in array.shape:
            fitting = [v for v in left if v.low >= 0 and v.high < extent]
            if fitting and not self.odd(0.6):
                result.append(fitting[0].text)
                left.remove(fitting[0])
            else:
                result.append(self.index(extent, left or list(first)))
        return result

    def index(self, extent: int, known: Sequence[Bounded]) -> str:
        if not known:
            return str(self.number(0, extent - 1))
        text, low, high = self.draw(st.sampled_from(list(known)))
        options = [
            (text, low, high),
            (f"{extent - 1} - {text}", extent - 1 - high, extent - 1 - low),
            (f"{text} + 1", low + 1, high + 1),
            (f"{text} - 1", low - 1, high - 1),
            (f"{text} * 2", low * 2, high * 2),
            (f"{text} // 2", low // 2, high // 2),
            (f"{text} % 2", 0, min(1, high)),
        ]
        options = [o for o in options if o[1] >= 0 and o[2] < extent]
        if self.odd() and self.index_dtype == "int32":
            return f"places[({text}) % {self.places.shape[0]}] % {extent}"
        if not options or self.odd(0.3):
            return self.pick((f"({text}) % {extent}", f"T.max(T.min({text} - 1, {extent - 1}), 0)"))
        return self.pick([o[0] for o in options])


KINDS = ("T.serial", "T.unroll")


def _whole(array: Array) -> str:
    return ", ".join(f"0:{e}" for e in array.shape)
