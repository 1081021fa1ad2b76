"""TileLang's scheduler of persistent blocks, as `tilelang/language/tile_schedule.py` of 0.1.15 defines it: the order of tiles."""

from __future__ import annotations

from ...ir import Buffer, BufferLoad, Expr, IntImm, build
from ..subset.scope import Foreign, Value

STATE = ("m_idx", "n_idx", "linear_idx", "current_iter")


class Scheduler(Foreign):
    """A scheduler of a kernel: the number of tiles along both axes, how many blocks take turns, and its variables."""

    __slots__ = ("column_major", "primary", "secondary", "state", "swizzle", "total", "workers")

    def __init__(
        self, grid: tuple[Expr, Expr], workers: Expr, swizzle: Expr, state: dict[str, Buffer], *, column_major: bool
    ) -> None:
        self.primary, self.secondary = grid if column_major else grid[::-1]
        self.total = build.mul(*grid)
        self.workers, self.swizzle, self.state, self.column_major = workers, swizzle, state, column_major

    def part(self, name: str) -> Value:
        """Return a variable's value; None for other names."""
        return BufferLoad(self.state[name], (IntImm(0),)) if name in self.state else None

    def coordinates(self, tile: Expr) -> tuple[Expr, Expr]:
        """Return the row and column of a tile by its number."""
        panel = build.mul(self.primary, self.swizzle)
        group = build.floordiv(tile, panel)
        base = build.mul(group, self.swizzle)
        width = build.maximum(IntImm(1), build.minimum(self.swizzle, build.sub(self.secondary, base)))
        inside = build.sub(tile, build.mul(group, panel))
        fast, slow = build.floordiv(inside, width), build.add(base, build.floormod(inside, width))
        return (fast, slow) if self.column_major else (slow, fast)

    def valid(self) -> Expr:
        """Return whether there is a tile left."""
        return build.lt(BufferLoad(self.state["linear_idx"], (IntImm(0),)), self.total)


__all__ = ["STATE", "Scheduler"]
