"""Names of TileLang's language in Python text: its functions and data types."""

from __future__ import annotations

import re

from ...ir import dtype as dt

THREADS = "tl.launch_threads"
"""The annotation of a loop of the grid with the threads of a block along each axis."""
WARP_GROUP = "tl.warp_group"
"""The key of the statement of `T.ws` and of a branch of threads that wait for others, and the annotation of its blocks: "0 to 127"."""
ASYNC = "tl.async"
"""The annotation of a block that runs beside the threads that begin it: "copies" or "products"."""
GEMM = "tl.gemm"
"""The annotation of the block of `T.gemm`: rows, columns, depth, whether each operand is transposed, and the number of the policy."""
COPY = "tl.copy"
"""The annotation of the block of `T.copy` that may be a bulk copy: the extents of its target, or a string if an option of the text
decides."""
LAYOUTS = "tl.layouts"
"""The annotation of a loop of the grid with the layouts that the text gives: pairs of a buffer's name and a layout's."""
ATOMIC = "tl.atomic"
"""The annotation of a block that updates elements atomically."""
AWAITS, SIGNALS = "tl.awaits", "tl.signals"
"""The annotations of a block with the tokens of flags and barriers that it waits for, and those that it gives when it ends: pairs of a
name and a number."""
GRID_BARRIER = "tl.grid_barrier"
"""The annotation of the outer loop of a grid that begins when all blocks of the one before have reached a barrier (`T.sync_grid`)."""
NO_PRODUCERS = "tl.no_producers"
"""The annotation of a loop of the grid of a kernel whose text forbids producer warps."""
REUSE = "tl.reuse"
"""The annotation of a loop of the grid whose buffers share memory as far as their lives allow: at addresses of the text, or at those that
the compiler plans."""
SLOTS = "tl.slots"
"""The annotation of a loop of the grid with the buffers that the text divides into slots: pairs of a buffer's name and the axis of
the slots."""
WHOLE = "tl.whole"
"""The annotation of a loop of the grid with the names of the buffers around its threads: each has its whole shape, padding included."""
PANELS = "tl.panels"
"""The annotation of a loop of the grid with the order of its blocks (`T.use_swizzle`): "row" or "column", and the width of a panel."""
TYPE_PARTS = ("bits", "bytes", "lanes", "type_code")
_LANGUAGE = re.compile(r"^tilelang(?:\.\w+)*\.language\.")

_ALIASES = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "uint": "uint32", "short": "int16", "long": "int64",
            "ushort": "uint16", "ulong": "uint64", "char": "int8", "uchar": "uint8", "float8_e4m3": "float8_e4m3fn",
            "e4m3_float8": "float8_e4m3fn", "custom[tfloat32]": "tfloat32", "e5m2_float8": "float8_e5m2"}  # fmt: skip
"""Names of data types from C and torch."""
_HELPERS = (
    "tilelang.cdiv",
    "tilelang.next_power_of_2",
    "tilelang.math.next_power_of_2",
    "tilelang.math.cdiv",
    "tvm.DataType",
    "tilelang.DataType",
    "tvm.runtime.DataType",
)
_CODES = {"INT": 0, "UINT": 1, "FLOAT": 2, "HANDLE": 3, "BFLOAT": 4}
"""The kinds of TVM's data types, `DataTypeCode.UINT`."""


def is_of_language(name: str) -> bool:
    """Whether a dotted name belongs to TileLang's language, or is a helper for sizes and types."""
    return _LANGUAGE.match(name) is not None or name in _HELPERS


def type_named(name: str) -> str | None:
    """Return the data type that a name of TileLang's language is: "tilelang.language.float16"."""
    return type_alias(name.rpartition(".")[2]) if is_of_language(name) else None


def type_alias(name: str) -> str | None:
    """Return the data type of a name: "float32" for "float"."""
    name = _ALIASES.get(name, name)
    return name if dt.is_valid(name) else None


def type_code(name: str) -> int | None:
    """Return the number of a kind of data types by its dotted name in TVM."""
    module, _, code = name.rpartition(".")
    return _CODES.get(code) if module.startswith("tvm.") and module.endswith(".DataTypeCode") else None


def type_part(dtype: str, name: str) -> int | None:
    """Return the size of a data type in bits or bytes, its lanes, or the number of its kind."""
    if not dt.is_valid(dtype) or name not in TYPE_PARTS:
        return None
    match name:
        case "bits":
            return dt.bits(dtype)
        case "lanes":
            return dt.lanes(dtype)
        case "type_code":
            kinds = ("uint", "int", "bfloat", "float")
            kind = next((kind for kind in kinds if dtype.startswith(kind)), "")
            return None if dtype.startswith("float8") else _CODES.get(kind.upper())
        case _:
            return max(dt.bits(dtype) // 8, 1)


def own_name(name: str) -> str:
    """Return "copy" for "tilelang.language.copy"."""
    return _LANGUAGE.sub("", name)


__all__ = [
    "ASYNC",
    "ATOMIC",
    "AWAITS",
    "COPY",
    "GEMM",
    "GRID_BARRIER",
    "LAYOUTS",
    "NO_PRODUCERS",
    "PANELS",
    "REUSE",
    "SIGNALS",
    "SLOTS",
    "THREADS",
    "TYPE_PARTS",
    "WARP_GROUP",
    "WHOLE",
    "is_of_language",
    "own_name",
    "type_alias",
    "type_code",
    "type_named",
    "type_part",
]
