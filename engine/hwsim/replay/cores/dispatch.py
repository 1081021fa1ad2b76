"""The order in which the blocks of a grid are handed out: along x, then y and z, or in panels of rows or columns (rasterisation)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

import msgspec
import numpy as np

from ....ir import For, IntImm, PrimFunc, StringImm, walk_stmts
from ....script.tilelang.names import PANELS
from ...tasks.grid import Values
from ...tasks.nest import Loop


class BlockOrder(msgspec.Struct, frozen=True):
    """Blocks along x, then y and z; with a `panel`, those of so many rows (or columns) of blocks after each other, each panel column by
    column (or row by row), back and forth. The panels are those of TileLang's `T.use_swizzle`.
    """

    panel: int = 0
    along: Literal["row", "column"] = "row"

    @property
    def text(self) -> str:
        """The order in words."""
        if not self.panel:
            return "row by row"
        return f"panels of {self.panel} {self.along}{'s' if self.panel > 1 else ''}"

    @property
    def call(self) -> str:
        """The statement of a TileLang kernel with this order; none for the order without panels."""
        if not self.panel:
            return "no T.use_swizzle"
        along = ', order="column"' if self.along == "column" else ""
        return f"T.use_swizzle({self.panel}{along})"


def order_of(func: PrimFunc) -> BlockOrder:
    """Returns the order of blocks that a program asks for."""
    for stmt in walk_stmts(func.body):
        match dict(stmt.annotations).get(PANELS) if isinstance(stmt, For) else None:
            case (StringImm(value="row" | "column" as along), IntImm(value=panel)) if panel > 0:
                return BlockOrder(panel, along)
            case _:
                pass
    return BlockOrder()


def block_indices(loops: Sequence[Loop], order: BlockOrder) -> Values:
    """Returns the iterations of loops over blocks, a row for each block in the order in which they are handed out."""
    axes = [loop.axis for loop in loops]
    by_axis = sorted(range(len(loops)), key=lambda n: axes[n]) if sorted(set(axes)) == sorted(axes) else []
    if not by_axis or axes == [""]:
        by_axis = list(reversed(range(len(loops))))
    extents = [loops[n].extent for n in by_axis]
    number = np.arange(prod(extents), dtype=np.int64)
    found = np.empty((len(number), len(loops)), np.int64)
    if order.panel and len(loops) > 1:
        width, height = extents[:2]
        plane, number = np.divmod(number, width * height)
        found[:, by_axis[0]], found[:, by_axis[1]] = _in_panels(number, width, height, order)
        number, by_axis, extents = plane, by_axis[2:], extents[2:]
    for n, extent in zip(by_axis, extents, strict=True):
        number, found[:, n] = np.divmod(number, extent)
    return found


def _in_panels(number: Values, width: int, height: int, order: BlockOrder) -> tuple[Values, Values]:
    """Returns x and y of blocks by number, as tl_templates/cuda/threadblock_swizzle.h does."""
    across, along = (width, height) if order.along == "row" else (height, width)
    panel, offset = np.divmod(number, order.panel * across)
    lines = np.minimum(order.panel, along - panel * order.panel)
    step, line = np.divmod(offset, lines)
    step = np.where(panel % 2 == 1, across - 1 - step, step)
    line = line + panel * order.panel
    return (step, line) if order.along == "row" else (line, step)


__all__ = ["BlockOrder", "block_indices", "order_of"]
