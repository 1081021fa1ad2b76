"""Workloads: a program as the key of a database, with the parts that its names, sizes and types decide taken apart.

The key comes from the tokens of the program's TVMScript. Names are numbered in the order in which they are defined, numbers and types are
taken out, so that two programs have one structure if they differ in names, sizes and types only. With equal numbers and types they are
equal, up to names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from keyword import iskeyword
from math import inf, log2
from tokenize import COMMENT, NAME, NEWLINE, NL, NUMBER, STRING, TokenInfo, generate_tokens, tok_name

import msgspec

from ...ir import IRModule, PrimFunc, Var, build
from ...script import to_script

Number = int | float

_DTYPE = re.compile(r"bool|bfloat16|u?int\d{1,4}|float\d{1,3}(_\w{1,20})?")
_MODULES = frozenset({"T", "I", "tirx", "tvm", "script"})
FAR = 64.0
"""The distance of a number from zero or from a number of another sign, in factors of two."""


class Workload(msgspec.Struct, frozen=True):
    """A program up to names. `structure` is a digest of everything but `numbers` (sizes and constants, in the order of the text) and
    `dtypes`; `names` are those of variables and buffers, by number, `blocks` those of blocks. `title` is for people: `gemm(A: 512×512
    int8, …)`.
    """

    structure: str
    numbers: tuple[Number, ...]
    dtypes: tuple[str, ...]
    names: tuple[str, ...]
    blocks: tuple[str, ...] = ()
    title: str = ""

    def is_equal(self, other: Workload) -> bool:
        """Whether the programs are equal up to names."""
        return (self.structure, self.numbers, self.dtypes) == (other.structure, other.numbers, other.dtypes)

    def distance(self, other: Workload) -> float:
        """The sum of the ratios of their sizes, in factors of two; infinite for another structure."""
        if self.structure != other.structure:
            return inf
        types = sum(a != b for a, b in zip(self.dtypes, other.dtypes, strict=True))
        return numbers_apart(self.numbers, other.numbers) + types


def workload_of(program: IRModule | PrimFunc, sizes: Mapping[str, int] | None = None) -> Workload:
    """The workload of a program; `sizes` are numbers of its symbolic sizes."""
    reader = _Reader()
    line: list[TokenInfo] = []
    for token in generate_tokens(StringIO(to_script(program)).readline):
        if token.type not in (COMMENT, NL):
            line.append(token)
        if token.type == NEWLINE:
            reader.read(line)
            line = []
    for name, size in sorted((sizes or {}).items(), key=lambda one: reader.number_of(one[0])):
        reader.parts.append(f"size {reader.number_of(name)}")
        reader.numbers.append(size)
    structure = hashlib.sha256(" ".join(reader.parts).encode()).hexdigest()
    return Workload(
        structure, tuple(reader.numbers), tuple(reader.dtypes), tuple(reader.names), tuple(reader.blocks),
        _title(program, sizes or {}),
    )  # fmt: skip


def numbers_apart(some: Sequence[Number], others: Sequence[Number]) -> float:
    """The sum of |log2| of the ratios of two lists of numbers of equal length."""
    return sum(number_apart(a, b) for a, b in zip(some, others, strict=True))


def number_apart(a: Number, b: Number) -> float:
    """|log2| of the ratio of two numbers."""
    if a == b:
        return 0.0
    return abs(log2(a) - log2(b)) if min(a, b) > 0 else FAR


class _Reader:
    """Takes the tokens of a program apart. A name gets a new number where a loop or an assignment defines it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.numbers: list[Number] = []
        self.dtypes: list[str] = []
        self.names: list[str] = []
        self.blocks: list[str] = []
        self._known: dict[str, int] = {}

    def read(self, line: Sequence[TokenInfo]) -> None:
        """Reads the tokens of a statement or of a header."""
        for name in _defined([token.string for token in line]):
            self._known.pop(name, None)
        before: list[str] = ["", ""]
        for token in line:
            self._add(token, before)
            before = [before[-1], token.string]

    def number_of(self, name: str) -> int:
        """The number of a name, a new one for a new name."""
        if name not in self._known:
            self._known[name] = len(self.names)
            self.names.append(name)
        return self._known[name]

    def _add(self, token: TokenInfo, before: Sequence[str]) -> None:
        text = token.string
        match token.type:
            case t if t == NUMBER:
                self.numbers.append(_number(text))
                self.parts.append("#")
            case t if t == STRING:
                self.parts.append(self._string(text, before))
            case t if t == NAME and not iskeyword(text):
                self.parts.append(self._name(text, before))
            case _:
                if text == ")" and self.parts[-1:] == [","]:  # of a signature that fills several lines
                    self.parts.pop()
                self.parts.append(tok_name[token.type] if not text.strip() else text)

    def _name(self, name: str, before: Sequence[str]) -> str:
        if before[-1] == "." or name in _MODULES:
            return self._type(name) if _DTYPE.fullmatch(name) else name
        return f"${self.number_of(name)}"

    def _string(self, text: str, before: Sequence[str]) -> str:
        content = text[1:-1]
        if _DTYPE.fullmatch(content):
            return self._type(content)
        if before[0] in ("sblock", "block") and before[1] == "(":
            self.blocks.append(content)
            return f"block {len(self.blocks)}"
        return f"${self._known[content]}" if content in self._known else text

    def _type(self, dtype: str) -> str:
        self.dtypes.append(dtype)
        return "@"


def _defined(line: Sequence[str]) -> Sequence[str]:
    """The names that a line defines: those of a loop, or the targets of an assignment."""
    words = [word for word in line if word.strip()]
    if words[:1] == ["for"]:
        return [word for word in words[1 : words.index("in")] if word.isidentifier()]
    targets = words[: words.index("=")] if "=" in words else []
    return [w for w in targets if w != ","] if all(w == "," or w.isidentifier() for w in targets) else []


def _number(text: str) -> Number:
    try:
        found = int(text, 0)
    except ValueError:
        return float(text)
    return found if abs(found) < 1 << 53 else float(found)


def _title(program: IRModule | PrimFunc, sizes: Mapping[str, int]) -> str:
    """The names of the functions, with the shapes and types of their parameters."""
    functions = (program,) if isinstance(program, PrimFunc) else program.functions
    return "; ".join(_signature(func, sizes) for func in functions)[:200]


def _signature(func: PrimFunc, sizes: Mapping[str, int]) -> str:
    shown: list[str] = []
    for buffer in func.buffers:
        extents = (
            str(sizes.get(extent.name, extent.name) if isinstance(extent, Var) else build.int_value(extent) or "?")
            for extent in buffer.shape
        )
        shown.append(f"{buffer.name}: {'×'.join(extents)} {buffer.dtype}")
    return f"{func.name}({', '.join(shown)})"


__all__ = ["FAR", "Number", "Workload", "number_apart", "numbers_apart", "workload_of"]
