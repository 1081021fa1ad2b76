"""C spellings: types, literals, valid identifiers, and helper functions for operations that C leaves undefined or defines differently.

Integers wrap here and overflow in C; `floordiv` rounds down here and toward zero in C; `max(a, b)` evaluates its operands once.
`execute.values` defines the meaning of each operation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ..ir import Node, Refusal, TilewrightError
from ..ir import dtype as dt

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "bool": "bool",
        **{f"{kind}{width}": f"{kind}{width}_t" for kind in ("int", "uint") for width in (8, 16, 32, 64)},
        "float16": "_Float16",
        "float32": "float",
        "float64": "double",
    }
)

_KEYWORDS = """
    auto bool break case char const continue default do double else enum extern false float for goto if inline int long register
    restrict return short signed sizeof static struct switch true typedef union unsigned void volatile while asm typeof _Bool _Float16
    NULL NAN INFINITY unix linux i386 status done malloc free isnan isinf isfinite"""
_FUNCTIONS = """
    abort abs acos acosh asin asinh atan atan2 atanh atexit bcmp bcopy bzero calloc cbrt ceil copysign cos cosh div erf erfc exit exp
    exp10 exp2 expm1 fabs fdim ffs floor fma fmax fmin fmod frexp gamma getenv hypot index isalpha j0 j1 jn labs ldexp ldiv lgamma log
    log10 log1p log2 logb lrint lround main memcmp memcpy memmove memset modf nan nearbyint nextafter pow printf putchar puts qsort rand
    random read realloc remainder remquo rindex rint round scalb scalbn scanf signbit significand sin sincos sinh snprintf sprintf sqrt
    srand stpcpy strcat strchr strcmp strcpy strdup strlen strncmp strstr system tan tanh tgamma trunc write y0 y1 yn"""
"""Functions of C's library, or builtins that compilers know without it."""
RESERVED, LIBRARY = frozenset(_KEYWORDS.split()), frozenset(_FUNCTIONS.split())

MATH = MappingProxyType(
    {
        **{
            name: name
            for name in (
                *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
                *("asin", "acos", "atan", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "erf", "atan2", "hypot"),
                *("fmod", "copysign", "nextafter", "pow"),
            )
        },
        "power": "pow",
        "round": "rint",
        "nearbyint": "rint",
    }
)
"""Intrinsics that are functions of <math.h>, on floats; `round` rounds to even, as in `execute`."""


def refuse(what: str, *nodes: Node, expected: str = "") -> TilewrightError:
    """Return the error for a construct that this export does not support."""
    return TilewrightError(Refusal("no-c", f"there is no C for {what}", what, expected, (), nodes))


def c_type(dtype: str, *nodes: Node) -> str:
    found = _TYPES.get(dtype)
    if found is None:
        raise refuse(f"values of dtype {dtype}", *nodes, expected="one of " + ", ".join(_TYPES))
    return found


def suffix(dtype: str) -> str:
    """Return the suffix of helper names for a type: add_i32, max_f64."""
    return dtype if dtype == "bool" else f"{dtype[0]}{dt.bits(dtype)}"


def literal(value: int | float, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    return _float(float(value), dtype) if dt.is_float(dtype) else _integer(int(value), dtype)


def _integer(value: int, dtype: str) -> str:
    bits = dt.bits(dtype)
    if dtype.startswith("uint"):
        value &= (1 << bits) - 1
        return f"UINT64_C({value})" if bits == 64 else f"{value}u"
    if value == -(1 << (bits - 1)):
        return f"INT{bits}_MIN"
    return str(value) if abs(value) < 1 << 31 else f"INT64_C({value})"


def _float(value: float, dtype: str) -> str:
    kind = np.dtype(dtype).type
    end = "" if dtype == "float64" else "f"
    number = float(kind(value)) if dtype != "float64" else value
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    # The shortest decimal of this type: C's conversion restores the same bits.
    text = str(kind(value)) if dtype == "float32" else repr(number)
    return f"{text}{end}" if "." in text or "e" in text else f"{text}.0{end}"


def identifier(name: str) -> str:
    """Return the nearest valid C identifier."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if text in RESERVED or text.startswith("__") else text


def function_name(name: str) -> str:
    text = identifier(name)
    return f"{text}_" if text in LIBRARY else text


class CNames:
    """C names of nodes. A name is valid until the end of its C block; inner names never shadow outer ones."""

    def __init__(self) -> None:
        self.frames: list[set[str]] = [set()]
        self.called: dict[Node, str] = {}

    def enter(self) -> None:
        self.frames.append(set())

    def leave(self) -> None:
        self.frames.pop()

    def declare(self, node: Node, wanted: str) -> str:
        base = identifier(wanted)
        name, number = base, 0
        while any(name in frame for frame in self.frames) or name in HELPER_NAMES:
            number += 1
            name = f"{base}_{number}"
        self.frames[-1].add(name)
        self.called[node] = name
        return name


_WRAPPING = "static inline {T} {name}_{s}({T} a, {T} b) {{ return ({T})(({U})a {op} ({U})b); }}"
_HELPERS: Mapping[str, str] = MappingProxyType(
    {
        "add": _WRAPPING.replace("{op}", "+").replace("{name}", "add"),
        "sub": _WRAPPING.replace("{op}", "-").replace("{name}", "sub"),
        "mul": _WRAPPING.replace("{op}", "*").replace("{name}", "mul"),
        "div": "static inline {T} div_{s}({T} a, {T} b) {{ return b == -1 ? ({T})(0 - ({U})a) : ({T})(a / b); }}",
        "mod": "static inline {T} mod_{s}({T} a, {T} b) {{ return b == -1 ? 0 : ({T})(a % b); }}",
        "floordiv": "static inline {T} floordiv_{s}({T} a, {T} b) {{\n"
        "    if (b == -1)\n        return ({T})(0 - ({U})a);\n"
        "    return ({T})(a / b - (a % b != 0 && (a < 0) != (b < 0)));\n}}",
        "floormod": "static inline {T} floormod_{s}({T} a, {T} b) {{\n"
        "    {T} rest = b == -1 ? 0 : ({T})(a % b);\n"
        "    return rest != 0 && (rest < 0) != (b < 0) ? ({T})(rest + b) : rest;\n}}",
        "min": "static inline {T} min_{s}({T} a, {T} b) {{ return a < b ? a : b; }}",
        "max": "static inline {T} max_{s}({T} a, {T} b) {{ return a > b ? a : b; }}",
        "abs": "static inline {T} abs_{s}({T} a) {{ return a < 0 ? ({T})(0 - ({U})a) : a; }}",
        "floormod_float": "static inline {T} floormod_float_{s}({T} a, {T} b) {{ return ({T})(a - ({T})(floor{f}(a / b) * b)); }}",
        "sigmoid": "static inline {T} sigmoid_{s}({T} a) {{ return ({T})(1 / ({T})(1 + ({T})exp{f}(-a))); }}",
        "popcount": "static inline {T} popcount_{s}({T} a) {{\n"
        "    {V} rest = ({V})a;\n    int count = 0;\n"
        "    for (; rest != 0; rest = ({V})(rest & (rest - 1)))\n        ++count;\n    return ({T})count;\n}}",
        "shift_left": "static inline {T} shift_left_{s}({T} a, {T} b) {{\n"
        "    return b < 0 || b >= {bits} ? 0 : ({T})(({U})a << b);\n}}",
        "shift_right": "static inline {T} shift_right_{s}({T} a, {T} b) {{\n"
        "    return b < 0 || b >= {bits} ? ({T})(a < 0 ? -1 : 0) : ({T})(a >> b);\n}}",
        "ipow": "static inline {T} ipow_{s}({T} a, {T} b) {{\n"
        "    {U} result = 1, factor = ({U})a;\n"
        "    for (; b > 0; b = ({T})(b / 2), factor *= factor)\n        if (b % 2)\n            result *= factor;\n"
        "    return ({T})result;\n}}",
    }
)
HELPER_NAMES = frozenset(
    f"{name}_{suffix(dtype)}" for name in _HELPERS for dtype in _TYPES
) | {f"{name}{end}" for name in MATH.values() for end in ("", "f")}  # fmt: skip


def helper_text(name: str, dtype: str) -> str:
    """Return the helper's definition. Unsigned types get simpler versions, because compilers warn about sign tests on them."""
    text = _HELPERS[name]
    unsigned = dtype.startswith("uint")
    if unsigned and name == "shift_left":
        text = text.replace("b < 0 || b >= {bits}", "b >= {bits}")
    if unsigned and name == "shift_right":
        text = text.replace("b < 0 || b >= {bits} ? ({T})(a < 0 ? -1 : 0)", "b >= {bits} ? 0")
    bits = dt.bits(dtype)
    return text.format(
        T=c_type(dtype),
        U="uint64_t" if bits == 64 else "uint32_t",
        V=f"uint{bits}_t",
        s=suffix(dtype),
        f="f" if bits < 64 else "",
        bits=bits,
    )
