"""A space: a schedule with holes. A candidate is a point of the space: for each hole, the position of its value.

    sch = tilewright.Schedule(gemm)
    C = sch.get_block("C")
    tile = choose("tile", [32, 64, 128])            # a hole, 32 by default
    i, j, k = sch.get_loops(C)
    io, ii = sch.split(i, [None, tile])

The schedule's own calls build each candidate, so that it is legal or refused, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import msgspec

from ...adopt import Hole, KernelText, LineState, after_line, filled, hole_of, is_hole, require_registers
from ...ir import IRModule, PrimFunc, Refusal, TilewrightError
from ...schedule import Intrinsics, Schedule
from ...script import CallStep, CallValue, expr_text, parse, read_calls

Point = tuple[int, ...]
"""The position of the value of each hole of a space, in order."""

MOST_HOLES = 64


class SpaceError(TilewrightError):
    """A schedule that is no valid space, or a point outside of the space."""


class Space(msgspec.Struct, frozen=True, eq=False):
    """A program and the lines of its schedule, holes included, in the order of the text.

    `lines` follow `sch = tilewright.Schedule(program)`; `schedule_name` is that variable. `sizes` are values of the program's symbolic
    sizes, `intrinsics` those available to `tensorize`. `whole` is the space that this one is a part of (`pinned`), with pinned holes.
    With a `kernel`, the first holes are its values, and the program follows from them; `program` has the present ones.
    """

    program: IRModule | PrimFunc
    lines: tuple[CallStep, ...]
    holes: tuple[Hole, ...]
    schedule_name: str = "sch"
    sizes: Mapping[str, int] = {}
    intrinsics: Intrinsics | None = None
    whole: Space | None = None
    kernel: KernelText | None = None

    @property
    def own_lines(self) -> int:
        """The number of lines in front that are values of the kernel."""
        return 0 if self.kernel is None else len(self.kernel.values)

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(len(hole.values) for hole in self.holes)

    @property
    def default(self) -> Point:
        """The point with the default value of every hole."""
        return (0,) * len(self.holes)

    def values_at(self, point: Sequence[int]) -> dict[str, CallValue]:
        """The values at a point, by hole name."""
        return {h.name: h.values[at] for h, at in zip(self.holes, require_point(self, point), strict=True)}

    def texts_at(self, point: Sequence[int]) -> dict[str, str]:
        """The values as source text: for tables, tooltips and titles."""
        return {h.name: h.texts[at] for h, at in zip(self.holes, require_point(self, point), strict=True)}

    def point_of(self, values: Mapping[str, CallValue]) -> Point:
        """The point with these values; a hole without one keeps its first. Raises SpaceError "no-such-value"."""
        return tuple(position_of(hole, values[hole.name]) if hole.name in values else 0 for hole in self.holes)

    def point_at(self, number: int) -> Point:
        """The point with this number in the enumeration of all points; the last hole varies fastest."""
        digits: list[int] = []
        for hole in reversed(self.holes):
            number, digit = divmod(number, len(hole.values))
            digits.append(digit)
        return tuple(reversed(digits))

    def points(self) -> Iterator[Point]:
        """All points, the default first, the last hole varying fastest."""
        return map(self.point_at, range(self.size))

    def schedule_at(self, point: Sequence[int]) -> LineState:
        """The schedule at a point, and the variables of its lines. Raises the error of the first refused line."""
        chosen = self.chosen_at(point)
        state = start_of(self, point)
        for line in self.lines:
            state = after_line(state, line, self.schedule_name, chosen=chosen)
        return state

    def chosen_at(self, point: Sequence[int]) -> dict[str, int]:
        """Positions by hole name, as `after_line` expects them."""
        return {hole.name: at for hole, at in zip(self.holes, require_point(self, point), strict=True)}

    def filled_at(self, point: Sequence[int]) -> tuple[tuple[int, str], ...]:
        """The lines that fill the holes, each with the number (in `lines`) of the line that it replaces: (3, "tile = 64")."""
        chosen = self.chosen_at(point)
        return tuple(
            (n, filled(line, chosen[hole_of(line).name])) for n, line in enumerate(self.lines) if is_hole(line)
        )

    def kernel_at(self, point: Sequence[int]) -> str | None:
        """The text of the kernel with the values of a point; None without a kernel."""
        if self.kernel is None:
            return None
        texts = self.texts_at(point)
        return self.kernel.with_values([texts[hole.name] for hole in self.holes[: self.own_lines]])

    def original_at(self, point: Sequence[int]) -> PrimFunc | None:
        """The function that a candidate must agree with, if its kernel is another text than the one at hand."""
        if self.kernel is None or self.kernel_at(point) == self.kernel.text:
            return None
        return Schedule(self.program).func

    def text_at(self, point: Sequence[int]) -> str:
        """The lines of the schedule with their holes filled."""
        instead = dict(self.filled_at(point))
        return "".join(f"{instead.get(n, line.text)}\n" for n, line in enumerate(self.lines))


def space_of(
    program: IRModule | PrimFunc,
    lines: Sequence[CallStep],
    *,
    schedule_name: str = "sch",
    sizes: Mapping[str, int] | None = None,
    intrinsics: Intrinsics | None = None,
    kernel: KernelText | None = None,
) -> Space:
    """The space of the lines below `sch = tilewright.Schedule(program)`, with the holes of a kernel's values in front. Raises HoleError
    "bad-hole", SpaceError "two-holes", "too-many-holes"."""
    holes: dict[str, Hole] = {}
    for line in lines:
        if is_hole(line):
            hole = hole_of(line)
            if hole.name in holes:
                raise SpaceError(Refusal("two-holes", f"two holes are named {hole.name!r}", found=line.text[:80],
                                         expected="distinct names", place=line.place))  # fmt: skip
            holes[hole.name] = hole
    if len(holes) > MOST_HOLES:
        raise SpaceError(Refusal("too-many-holes", f"there are {len(holes)} holes", expected=f"at most {MOST_HOLES}"))
    return Space(program, tuple(lines), tuple(holes.values()), schedule_name, sizes or {}, intrinsics, kernel=kernel)


def with_kernel(space: Space, kernel: KernelText | None) -> Space:
    """The space with the values of the kernel that makes its program as holes in front."""
    if kernel is None or not kernel.values:
        return space
    lines = (*read_calls(kernel.choices), *space.lines)
    return space_of(space.program, lines, schedule_name=space.schedule_name, sizes=space.sizes, intrinsics=space.intrinsics,
                    kernel=kernel)  # fmt: skip


def position_of(hole: Hole, value: CallValue | Any) -> int:
    """The position of a value in its hole, also by its source text. Raises SpaceError "no-such-value"."""
    for position, known in enumerate(hole.values):
        if type(known) is type(value) and known == value:  # True is not 1 here
            return position
    if isinstance(value, str) and value in hole.texts:
        return hole.texts.index(value)  # source text, the only identity of an index map
    raise SpaceError(
        Refusal("no-such-value", f"{value!r} is not a value of {hole.name!r}", expected=", ".join(hole.texts))
    )


def start_of(space: Space, point: Sequence[int]) -> LineState:
    """The state before the first line. Raises SpaceError "other-parameters", and ParseError for a kernel that has not these values."""
    program, text = space.program, space.kernel_at(point)
    if space.kernel is not None and text != space.kernel.text:
        program = parse(text or "").program
        require_same_parameters(program, space.program)
        require_registers(program)
    return LineState(Schedule(program, intrinsics=space.intrinsics), {})


# The values of a kernel are no sizes: it has the same parameters with all of them.
def require_same_parameters(program: IRModule | PrimFunc, original: IRModule | PrimFunc) -> None:
    found, expected = (_parameters(one) for one in (program, original))
    if found != expected:
        raise SpaceError(
            Refusal("other-parameters", "the kernel has other parameters with this value", found, expected)
        )


def _parameters(program: IRModule | PrimFunc) -> str:
    functions = [program] if isinstance(program, PrimFunc) else program.functions
    return "; ".join(
        ", ".join(f"{b.dtype}[{', '.join(map(expr_text, b.shape))}]" for b in function.buffers)
        for function in functions
    )


# Raises SpaceError unless the point has a valid position for each hole.
def require_point(space: Space, point: Sequence[int]) -> Point:
    found = tuple(point)
    if len(found) != len(space.holes) or any(
        not 0 <= at < len(hole.values) for at, hole in zip(found, space.holes, strict=False)
    ):
        sizes = " × ".join(str(len(hole.values)) for hole in space.holes)
        raise SpaceError(Refusal("no-such-point", f"{found} is not a point of the space", expected=f"{sizes} values"))
    return found


__all__ = [
    "MOST_HOLES",
    "Point",
    "Space",
    "SpaceError",
    "position_of",
    "require_point",
    "space_of",
    "start_of",
    "with_kernel",
]
