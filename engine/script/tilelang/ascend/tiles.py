"""The order in which the AI cores take the tiles of a matrix."""

from __future__ import annotations

import ast

from ....ir import EQ, IntImm, build
from ...reading.intrinsics import parameters
from ...reading.reader import Reader
from ...subset.scope import Value


def swizzled(reader: Reader, node: ast.Call) -> Value:
    """`T.use_swizzle(cid, M, N, K, block_M, block_N, off, dir)`: the number of the tile that a block takes, as Catlass's
    GemmIdentityBlockSwizzle orders them: `off` rows, or columns for `dir` 1, at a time, every other time from the end."""
    names = ("cid", "m", "n", "k", "block_m", "block_n", "off", "dir", "in_loop")
    given = dict(zip(names, parameters(reader, node, names, 6), strict=True))
    found = {name: reader.index(part) for name, part in given.items() if part is not None and name != "in_loop"}
    rows, columns = build.floordiv(found["m"], found["block_m"]), build.floordiv(found["n"], found["block_n"])
    off = found.get("off", IntImm(1))
    is_turned = build.is_const(found.get("dir", IntImm(0)), 1)
    lines, length = (columns, rows) if is_turned else (rows, columns)
    task = build.floormod(found["cid"], build.mul(rows, columns))
    group = build.floordiv(task, build.mul(off, length))
    inside = build.floormod(task, build.mul(off, length))
    here = build.minimum(off, build.sub(lines, build.mul(off, group)))
    line = build.add(build.mul(group, off), build.floormod(inside, here))
    along = build.floordiv(inside, here)
    odd = build.compare(EQ, build.floormod(group, IntImm(2)), IntImm(1))
    along = build.select(odd, build.sub(build.sub(length, along), IntImm(1)), along)
    row, column = (along, line) if is_turned else (line, along)
    return build.add(build.mul(row, columns), column)


__all__ = ["swizzled"]
