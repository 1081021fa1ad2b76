"""Properties of data types; a data type is TVM's string ("float32", "int64", "bool", "handle", "int8x4").

A vector's name is its element's name, an `x`, and its lanes: "float32x4", or "float32xvscalex4" for a multiple known only on the machine.
"""

import re
from functools import lru_cache

_PATTERN = re.compile(r"(float|bfloat|int|uint)(\d+)(_e\dm\d\w*)?$")
_VECTOR = re.compile(r"[a-z]+\d*(_e\dm\d\w*)?x(?:vscalex)?[1-9]\d{0,5}")
_NARROW = frozenset(
    {
        *("int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "tfloat32"),
    }
)
"""Further types of matrix units; programs with them are read, scheduled and simulated, but not run."""


@lru_cache(maxsize=1024)
def is_valid(dtype: str) -> bool:
    if is_vector(dtype):
        kind = element(dtype)
        return kind not in ("handle", "void") and bool(_VECTOR.fullmatch(dtype)) and is_valid(kind)
    return (
        dtype in ("bool", "handle", "void")
        or dtype in _NARROW
        or bool(re.fullmatch(r"(int|uint|float|bfloat)(8|16|32|64)", dtype))
    )


def is_vector(dtype: str) -> bool:
    return "x" in dtype


def element(dtype: str) -> str:
    """Return the type of one lane."""
    return dtype.partition("x")[0]


@lru_cache(maxsize=1024)
def lanes(dtype: str) -> int:
    """Return the number of lanes: 1 for a scalar. Raises ValueError for lanes that only the machine knows."""
    number = dtype.partition("x")[2]
    return int(number) if number else 1


def with_lanes_of(dtype: str, other: str) -> str:
    """Return the scalar type `dtype` with the lanes of `other`."""
    return f"{dtype}x{other.partition('x')[2]}" if "x" in other else dtype


def is_int(dtype: str) -> bool:
    """Whether the type is a signed or unsigned integer; bool is not."""
    return dtype.startswith(("int", "uint"))


def is_index(dtype: str) -> bool:
    """Whether the type is a signed integer of index width. Index arithmetic is assumed never to overflow, as in TVM; other integers
    wrap."""
    return dtype in ("int32", "int64")


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "tfloat"))


@lru_cache(maxsize=1024)
def bits(dtype: str) -> int:
    """Return the width in bits of one lane; bool counts 8, its storage size, and a handle 64."""
    if is_vector(dtype):
        return bits(element(dtype))
    if dtype == "bool":
        return 8
    if dtype == "handle":
        return 64
    if dtype == "tfloat32":
        return 32
    match = _PATTERN.match(dtype)
    if match is None or not match[2]:
        raise ValueError(f"unknown dtype {dtype!r}")
    return int(match[2])


def int_range(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type, or of bool."""
    if dtype == "bool":
        return 0, 1
    width = bits(dtype)
    return (0, 2**width - 1) if dtype.startswith("uint") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def size_bytes(dtype: str) -> int:
    """Return the bytes of one element in memory, including all its lanes."""
    return (bits(dtype) * lanes(dtype) + 7) // 8
