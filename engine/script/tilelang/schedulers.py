"""TileLang's scheduler of persistent blocks, as `tilelang/language/tile_schedule.py` of 0.1.15 defines it: the order of tiles."""

from __future__ import annotations

from ...ir import Buffer, BufferLoad, Expr, IntImm, build
from ..subset.scope import Foreign, Value

STATE = ("m_idx", "n_idx", "linear_idx", "current_iter")


class Scheduler(Foreign):
    """A scheduler of a kernel: the number of tiles along both axes, how many blocks take turns, and its variables. In a loop over all tiles
    of a block, which begins at the tile `first`, the variables have the values `now`."""

    __slots__ = ("column_major", "first", "now", "primary", "secondary", "state", "swizzle", "total", "workers")

    def __init__(
        self, grid: tuple[Expr, Expr], workers: Expr, swizzle: Expr, state: dict[str, Buffer], *, column_major: bool
    ) -> None:
        self.primary, self.secondary = grid if column_major else grid[::-1]
        self.total = build.mul(*grid)
        self.workers, self.swizzle, self.state, self.column_major = workers, swizzle, state, column_major
        self.first: Expr | None = None
        self.now: dict[str, Expr] = {}

    def part(self, name: str) -> Value:
        """Return a variable's value; None for other names."""
        return self.now.get(name, BufferLoad(self.state[name], (IntImm(0),))) if name in self.state else None

    def at(self, iteration: Expr) -> dict[str, Expr]:
        """Return the values of the variables in an iteration of the loop over all tiles of a block."""
        assert self.first is not None
        tile = build.add(self.first, build.mul(iteration, self.workers))
        row, column = self.coordinates(tile)
        return {"m_idx": row, "n_idx": column, "linear_idx": tile, "current_iter": iteration}

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
