"""Data types are TVM's strings ("float32", "int64", "bool", "handle"); this module reads facts off them."""

import re
from functools import cache

_PATTERN = re.compile(r"(float|bfloat|int|uint)(\d+)(_e\dm\d\w*)?$")
_NARROW = frozenset(
    {"int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"}
)
"""What matrix units take besides; programs of these are read, scheduled and priced, not run."""


@cache
def is_valid(dtype: str) -> bool:
    return (
        dtype in ("bool", "handle", "void")
        or dtype in _NARROW
        or bool(re.fullmatch(r"(int|uint|float|bfloat)(8|16|32|64)", dtype))
    )


def is_int(dtype: str) -> bool:
    """Signed or unsigned integers; bool is not one of them."""
    return dtype.startswith(("int", "uint"))


def is_index(dtype: str) -> bool:
    """Signed integers as wide as indices are: their arithmetic is taken never to overflow, as TVM takes it. The others wrap."""
    return dtype in ("int32", "int64")


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


@cache
def bits(dtype: str) -> int:
    """Width in bits; bool counts 8 as it is stored, a handle 64."""
    if dtype == "bool":
        return 8
    if dtype == "handle":
        return 64
    match = _PATTERN.match(dtype)
    if match is None or not match[2]:
        raise ValueError(f"unknown dtype {dtype!r}")
    return int(match[2])


def size_bytes(dtype: str) -> int:
    """Bytes of one element in memory."""
    return (bits(dtype) + 7) // 8
