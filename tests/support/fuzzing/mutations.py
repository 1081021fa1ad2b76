"""Mutations of a text: tokens, lines and bytes."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

from tilewright.engine.script.reading.intrinsics import INTRINSICS

TOKEN = re.compile(r"\s+|\w+(?:\.\w+)*|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*|//|<<|>>|\*\*|[<>=!]=|.", re.DOTALL)

NUMBERS = (
    "0", "-1", "1", "2", "3", "7", "-8", "63", "64", "2147483647", "2147483648", "-2147483649", str(2**63), str(-(2**63)), str(2**64),
    str(-(2**64)), "1" + "0" * 30, "9" * 400, "0.0", "-0.5", "1e308", "1e999", "-1e999", "True", "None", '"x"', '""', "()", "[]", "{}",
    "1j", "b'x'", "...", "T.int64(99)", "T.float32(1)", "T.int8(-1)", "lambda i: i", "*x", "-x", "not 1",
    "1 << 62", "2**63", "1 // 0", "5 % 0", "0:8:0", "0:8:2", "8:0", ":", "::", "-8:", "i:i + 4", "0:2**40",
)  # fmt: skip
"""Replacements of a number: extremes, other types, and expressions without a value."""

WORDS = (
    "T", "I", "te", "tir", "sch", "A", "B", "C", "i", "j", "k", "vi", "vj", "vk", "x", "self", "int", "range", "len", "print", "n", "m",
    "T.reads", "T.writes", "T.where", "T.init", "T.sblock", "T.block", "T.grid", "T.serial", "T.vectorized", "T.thread_binding",
    "T.axis.remap",
    "T.axis.spatial", "T.axis.reduce", "T.axis.S", "T.axis.opaque", "T.match_buffer", "T.alloc_buffer", "T.sblock_alloc_buffer", "T.Buffer",
    "T.handle", "T.int32", "T.int64", "T.uint8", "T.float16", "T.bool", "T.float32x4", "T.Ramp", "T.Broadcast", "T.Let", "T.let",
    "T.Select",
    "T.if_then_else", "T.likely", "T.max", "T.min", "T.truncdiv", "T.truncmod", "T.floordiv", "T.ceildiv", "T.shift_left", "T.shift_right",
    "T.bitwise_not", "T.Cast", "T.cast", "T.abs", "T.exp", "T.pow", "T.infinity", "T.min_value", "T.max_value", "T.call_extern",
    "T.tvm_access_ptr", "T.address_of", "T.launch_thread", "T.allocate", "T.decl_buffer", "T.attr", "T.func_attr", "T.block_attr",
    "T.sblock_attr", "T.bind", "T.meta_var", "T.evaluate", "T.vscale", "T.type_annotation", "T.call_intrin", "T.isnan", "T.reinterpret",
    "te.compute", "te.placeholder", "te.reduce_axis", "te.sum", "te.max", "te.var", "te.thread_axis", "te.create_schedule", "te.scan",
    "te.comm_reducer", "te.AXIS_SEPARATOR", "tilewright.machine", "tilewright.Schedule", "choose", "sizes", "factors", "names", "decision",
    "if", "for", "with", "while", "return", "in", "as", "is", "and", "or", "else", "lambda", "yield", "await", "class", "def", "del",
    "assert",
)  # fmt: skip
"""Names that the readers know, and Python's own words."""

METHODS = (
    "get_block", "get_loops", "split", "fuse", "reorder", "tile", "merge", "loop_partition", "add_unit_loop", "parallel", "vectorize",
    "unroll",
    "bind", "annotate", "unannotate", "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline", "cache_read",
    "cache_write", "cache_inplace", "cache_index", "reindex", "reindex_cache_read", "reindex_cache_write", "read_at", "write_at",
    "set_scope",
    "storage_align", "transform_layout", "transform_block_layout", "set_axis_separator", "rfactor", "decompose_reduction", "blockize",
    "tensorize", "pad_einsum", "decompose_padding", "rolling_buffer", "double_buffer", "pipeline", "unsafe_set_dtype",
    "reorder_block_iter_var",
    "annotate_buffer_access", "set_layout", "get_producers", "get_consumers", "get_child_blocks", "get_output_blocks", "work_on",
    "sample_perfect_tile", "sample_categorical", "sample_compute_location",
)  # fmt: skip

PIECES = (
    ":", ",", "(", ")", "[", "]", "{", "}", ".", "=", "==", ":=", "*", "**", "-", "~", "@", "->", ";", "\n", "    ", "\t", "\f", "\r", "\\",
    '"', "'", '"""', "f'{x}'", "b''", "#", "\x00", "\ud800", "é", "\U0001d54f", "\u202e", "\ufeff", "// 0", "% 0", "** 9", "<< 64",
    "[0:8:0]",
    "[...]", "[()]", "[]", "()", "if x else", " for x in y", "*", "**k", "=1", ", names=[]", ", factors=[]", "\n# %% workload\n",
    "\n# %% schedule\n", "\n# %% machine\n", "\n# %% branch x\n", "# off: ", "# %%",
)  # fmt: skip

Mutation = Callable[[Random, str, Sequence[str]], str]


def _token(change: Callable[[Random, list[str], int, Sequence[str]], None]) -> Mutation:
    """A mutation at one non-blank token."""

    def mutate(random: Random, text: str, seeds: Sequence[str]) -> str:
        tokens = TOKEN.findall(text)
        if not tokens:
            return random.choice(PIECES)
        for _ in range(4):
            at = random.randrange(len(tokens))
            if not tokens[at].isspace():
                break
        change(random, tokens, at, seeds)
        return "".join(tokens)

    return mutate


def _drop(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    del tokens[at : at + random.choice((1, 1, 1, 2, 5))]


def _twice(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    tokens[at:at] = tokens[at : at + random.choice((1, 1, 2, 4, 9))]


def _swap(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    other = random.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]


def _number(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    numbers = [n for n, token in enumerate(tokens) if token[0].isdigit()]
    tokens[random.choice(numbers) if numbers else at] = random.choice(NUMBERS)


def _name(random: Random, tokens: list[str], at: int, seeds: Sequence[str]) -> None:
    names = [n for n, token in enumerate(tokens) if token[0].isalpha() or token[0] == "_"]
    place = random.choice(names) if names else at
    others = (tokens[random.choice(names)] if names else "x", random.choice(WORDS), _from_seed(random, seeds))
    old = tokens[place]
    new = random.choice(others)
    if "." in old and random.random() < 0.4:
        new = f"{old.rpartition('.')[0]}.{random.choice((*METHODS, new.rpartition('.')[2]))}"
    tokens[place] = new


def _from_seed(random: Random, seeds: Sequence[str]) -> str:
    seed = random.choice(seeds)
    start = random.randrange(len(seed) + 1)
    found = TOKEN.findall(seed[start : start + 60])
    return found[len(found) // 2] if found else "x"


def _string(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    quoted = [n for n, token in enumerate(tokens) if token[0] in "\"'"]
    given = random.choice(
        ("float32", "int8x4", "int0", "float32x0", "float33", "global", "local[9]", "", "\\ud800", "\\0", "n * 2", "n +", "SSR",
        "blockIdx.x", "threadIdx.x", "Q")
    )  # fmt: skip
    tokens[random.choice(quoted) if quoted else at] = f'"{given}"'


def _insert(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    tokens.insert(at, random.choice((*PIECES, *NUMBERS)))


def _nest(random: Random, tokens: list[str], at: int, _: Sequence[str]) -> None:
    depth = random.choice((1, 2, 20, 60, 119, 130, 400))
    before, after = random.choice(
        (("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("(1 + ", ")"), ("T.exp(", ")"), ("A[", "]"), ("{", "}"))
    )
    tokens[at] = before * depth + tokens[at] + after * depth


def _lines(change: Callable[[Random, list[str], int, Sequence[str]], None]) -> Mutation:
    def mutate(random: Random, text: str, seeds: Sequence[str]) -> str:
        lines = text.split("\n")
        change(random, lines, random.randrange(len(lines)), seeds)
        return "\n".join(lines)

    return mutate


def _drop_lines(random: Random, lines: list[str], at: int, _: Sequence[str]) -> None:
    del lines[at : at + random.choice((1, 1, 2, 5))]


def _twice_lines(random: Random, lines: list[str], at: int, _: Sequence[str]) -> None:
    lines[at:at] = lines[at : at + random.choice((1, 1, 2, 6))]


def _move_lines(random: Random, lines: list[str], at: int, _: Sequence[str]) -> None:
    count = random.choice((1, 1, 3))
    moved = lines[at : at + count]
    del lines[at : at + count]
    other = random.randrange(len(lines) + 1)
    lines[other:other] = moved


def _indent(random: Random, lines: list[str], at: int, _: Sequence[str]) -> None:
    for number in range(at, min(len(lines), at + random.choice((1, 1, 3, 99)))):
        lines[number] = lines[number].lstrip() if random.random() < 0.5 else "    " + lines[number]


def _foreign_lines(random: Random, lines: list[str], at: int, seeds: Sequence[str]) -> None:
    other = random.choice(seeds).split("\n")
    start = random.randrange(len(other))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at:at] = [indent + line.strip() for line in other[start : start + random.choice((1, 1, 3))]]


def _cut(random: Random, text: str, _: Sequence[str]) -> str:
    return text[: random.randrange(len(text) + 1)] if random.random() < 0.5 else text[random.randrange(len(text) + 1) :]


def _characters(random: Random, text: str, _: Sequence[str]) -> str:
    for _n in range(random.choice((1, 1, 3))):
        at = random.randrange(len(text) + 1)
        removed = random.choice((0, 1, 1, 3))
        given = random.choice(
            ("", chr(random.randrange(128)), chr(random.choice((0, 0xA0, 0xFF, 0x2028, 0xD800, 0x1F600))))
        )
        text = text[:at] + given + text[at + removed :]
    return text


@lru_cache(maxsize=1024)
def _pieces(text: str) -> tuple[str, ...]:
    """The expressions of a text, as text; none of a text that is not Python."""
    tree = _parsed(text)
    nodes = (
        []
        if tree is None
        else [n for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(n, ast.Starred | ast.Slice)]
    )
    try:
        return tuple(sorted({piece for n in nodes[:400] if len(piece := ast.unparse(n)) < 80}))
    except RecursionError:
        return ()


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _expression(random: Random, text: str, seeds: Sequence[str]) -> str:
    """An expression in place of another, from a seed or the table of numbers, so that the text stays Python."""
    tree = _parsed(text)
    if tree is None:
        return random.choice(MUTATIONS)(random, text, seeds)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.expr)]
    if not nodes:
        return text
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    for _ in range(random.choice((1, 1, 2))):
        node = random.choice(nodes)
        new = _written(random, seeds)
        if node.lineno == node.end_lineno and node.lineno <= len(lines) and "\n" not in new:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = (
                line[: node.col_offset] + new.encode("utf-8", "surrogatepass") + line[node.end_col_offset or 0 :]
            )
    return b"\n".join(lines).decode("utf-8", "replace")


FUNCTIONS = (
    *(f"T.{name}" for name in INTRINSICS),
    *(word for word in WORDS if "." in word and word[0] == "t"),
    "T.Buffer", "T.match_buffer", "T.alloc_buffer", "T.sblock_alloc_buffer", "T.axis.remap", "T.axis.spatial", "T.axis.reduce",
    "T.reads", "T.writes", "T.where", "T.serial", "T.grid", "T.thread_binding", "T.launch_thread", "T.func_attr", "T.block_attr", "T.attr",
    "T.ptx_legacy.mma", "T.int8x4", "T.float32xvscalex4", "A.vload", "A.access_ptr", "x.astype", "A.shape", "choose",
)  # fmt: skip
KEYWORDS = (
    "dtype",
    "shape",
    "scope",
    "axis",
    "name",
    "lanes",
    "where",
    "thread",
    "annotations",
    "strides",
    "elem_offset",
    "align",
    "tag",
    "factors",
)


def _written(random: Random, seeds: Sequence[str], depth: int = 0) -> str:
    """An expression: from a seed, from the table of numbers, or a call of a function that the readers know, with arguments of the same
    kinds."""
    roll = random.random()
    if roll < 0.35 or depth > 2:
        return (
            random.choice(NUMBERS)
            if random.random() < 0.6
            else random.choice(("i", "j", "k", "A", "B", "C", "vi", "n", "x", "T", "te"))
        )
    if roll < 0.65:
        return random.choice(_pieces(random.choice(seeds)) or NUMBERS)
    given = [_written(random, seeds, depth + 1) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4)))]
    if roll < 0.75:
        return f"({' + '.join(given) or '0'})" if random.random() < 0.5 else f"[{', '.join(given)}]"
    if roll < 0.82:
        return f"A[{', '.join(given) or '()'}]"
    if random.random() < 0.15:
        given.append(f"{random.choice(KEYWORDS)}={_written(random, seeds, depth + 1)}")
    return f"{random.choice(FUNCTIONS)}({', '.join(given)})"


MUTATIONS: tuple[Mutation, ...] = (
    *(_expression,) * 25,
    *map(_token, (_drop, _twice, _swap, _number, _number, _name, _name, _name, _string, _insert, _insert, _nest)),
    *map(_lines, (_drop_lines, _twice_lines, _move_lines, _indent, _foreign_lines)),
    _cut,
    _characters,
)


def mutated_text(random: Random, text: str, seeds: Sequence[str]) -> str:
    """The text after one to four mutations."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        text = random.choice(MUTATIONS)(random, text, seeds)
    return text


def mutated_bytes(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """The bytes with some flipped, removed, doubled, or replaced by those of another seed."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(found) + 1)
        match random.randrange(5):
            case 0 if found:
                found[at % len(found)] ^= 1 << random.randrange(8)
            case 1:
                del found[at : at + random.choice((1, 2, 8, 64))]
            case 2:
                found[at:at] = random.randbytes(random.choice((1, 2, 8)))
            case 3:
                other = random.choice(seeds)
                start = random.randrange(len(other) + 1)
                found[at:at] = other[start : start + 40]
            case _:
                found[at:at] = found[at : at + 20] * random.choice((1, 2, 30))
    return bytes(found)
