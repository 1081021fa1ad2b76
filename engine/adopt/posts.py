"""Parts of a post, an issue, a README or a chat answer: prose, code and printed output, each with its lines.

Fences decide where there are any. In other texts a run of lines is code if each of its statements parses as one that programs have: an
import, an assignment, a call, a definition, a loop. In code only, typographic quotes and HTML entities are mended, and prompts, line
numbers and the `>` of quoted mail are removed. In a text that is Python, the sentences are in its comments.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Literal, cast

import msgspec

from ..cancellation import checkpoint
from ..script.syntax import find_tree

PartKind = Literal["prose", "code", "output"]
_Kind = Literal["prose", "code", "output", "blank", "comment"]

MAX_STATEMENT_LINES = 400
"""Maximum number of lines of one statement outside of fences."""

_CELL = re.compile(r"# ?%%")
"""The first line of a notebook's cell, such as `# %% [markdown]`."""

WORDS_OF_A_SENTENCE = 4
MOST_QUOTED = 4
"""Maximum number of times that a mail is quoted in others."""

_MENDED = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2018\u2019", "'"),
        "\u00a0": " ",  # no-break space
        "\u2212": "-",  # minus sign
        "\u2026": "...",  # ellipsis
        "\u200b": None,  # zero width space
    }
)
"""Typographic characters that stand for those of a program."""
_FENCE = re.compile(r"[ \t]*(?:[-*+>]|\d+[.)])?[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)")
_PYTHON = frozenset(("", "python", "py", "python3", "ipython", "pycon", "tvm", "tir", "tvmscript", "te"))
_MAKING = (
    "placeholder",
    "reduce_axis",
    "compute",
    "create_schedule",
    "Schedule",
    "split",
    "tile",
    "get_block",
    "get_loops",
    "cache_write",
)
"""Functions and methods of TVM whose results texts name."""
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.:?|(?:In )?\[\d+\]:)(?: |$)")
_QUOTED = re.compile(r"[ \t]*>(?!>>) ?")
_NUMBER = re.compile(r"[ \t]*(\d{1,9})(?: ?[:.|│](?= |$)|(?=[ \t]|$))[ \t]?")
_MARGIN = re.compile(r"[ \t\u00a0]+")
_ENTITY = re.compile(r"&(?:quot|apos|lt|gt|amp|nbsp|#\d+|#x[0-9a-fA-F]+);")
_STRING = re.compile(r"\\[\\\"']|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'|#.*")
"""Strings and comments. An escaped quote begins no string, so that at most one search for the end of each kind of string fails."""
_PRINTED = re.compile(
    r"[ \t]*(?://|Out ?\[\d+\]:|[%!]{1,2}[a-z]|\[\d\d:\d\d:\d\d\]|\S+@[\w.-]+:\S*[$#] |\$ |[\w.]+(?:Error|Exception)\b.*: "
    r"|allocate |produce |realize |attr \[|={8,}$|-{8,}$)"
)
_TRACEBACK = re.compile(r"[ \t]*Traceback \(most recent call last\)")
_PRINTED_IR = re.compile(r"(?:@\w+ = )?\w+\(.*\) -> \(\)\s*$")
_CLAUSE = re.compile(r"(?:else|try|finally|except\b.*|elif\b.*):$")
_WORD = re.compile(r"[A-Za-z][\w\u2019'-]*(?P<gap>[,:;]? +)?")
_ENDS_AS_SENTENCE = re.compile(r"[^\W\d_][^=()\[\]]*[.?!:]$")
_TRIPLE = re.compile(r"\"\"\"|'''")


class PostPart(msgspec.Struct, frozen=True):
    """Consecutive lines of a post; `first` counts from 1. Code is mended and without prompts and the margin of its fence."""

    kind: PartKind
    lines: tuple[str, ...]
    first: int


def split_post(text: str, tree: ast.Module | None = None) -> tuple[PostPart, ...]:
    """Return the parts of a text in order; `tree` is that of a text that is Python. Fence lines belong to no part."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if tree is not None:
        return tuple(_commented(lines, tree))
    parts = tuple(_fenced(lines)) if has_fences(text) else ()
    if not any(part.kind == "code" for part in parts):
        parts = tuple(_by_lines(lines, 1))
    return parts


def is_sentence(line: str) -> bool:
    """Whether a line contains a sentence, as far as its form tells: four words, or the end of a sentence."""
    count, after_gap = 0, -1
    for word in _WORD.finditer(line):
        count = count + 1 if word.start() == after_gap else 1
        if count == WORDS_OF_A_SENTENCE:
            return True
        after_gap = word.end() if word["gap"] else -1
    return _ENDS_AS_SENTENCE.match(line) is not None


def _commented(lines: Sequence[str], tree: ast.Module) -> Iterator[PostPart]:
    """The parts of Python: code, and prose in comments and strings between its statements."""
    prose: dict[int, str] = {}
    code: set[int] = set()
    for node in tree.body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        numbers = range(first, (node.end_lineno or first) + 1)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts = [_TRIPLE.sub("", lines[n - 1]) for n in numbers]
            prose |= dict(zip(numbers, texts, strict=True)) if any(map(is_sentence, texts)) else {}
        code |= {*numbers} - prose.keys()
    numbers = range(1, len(lines) + 1)
    for is_comment, group in groupby(numbers, lambda n: n not in code and lines[n - 1].startswith("#")):
        run = list(group)
        below = lines[run[-1]] if is_comment and run[-1] < len(lines) else ""
        texts = ["" if _CELL.match(lines[n - 1]) else lines[n - 1].lstrip("#").removeprefix(" ") for n in run]
        if is_comment and (len(run) > 1 or not below.strip()) and any(map(is_sentence, texts)):
            prose |= dict(zip(run, texts, strict=True))
    for is_prose, group in groupby(numbers, lambda n: n in prose):
        run = list(group)
        yield PostPart(
            "prose" if is_prose else "code", tuple(prose[n] if is_prose else lines[n - 1] for n in run), run[0]
        )


def has_fences(text: str) -> bool:
    """Whether a line of the text opens a fence."""
    return any(_FENCE.match(line) for line in text.splitlines() if "```" in line or "~~~" in line)


def _fenced(lines: Sequence[str]) -> Iterator[PostPart]:
    """The parts of a text with fences: prose between them, and the content of each."""
    start = number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            number += 1
            continue
        yield from _prose(lines[start:number], start + 1)
        end = next((n for n in range(number + 1, len(lines)) if fence["fence"] in lines[n]), len(lines))
        yield from fence_parts(lines[number + 1 : end], number + 2, fence["language"].lower())
        start = number = end + 1
    yield from _prose(lines[start:], start + 1)


def _prose(lines: Sequence[str], first: int) -> Iterator[PostPart]:
    if any(line.strip() for line in lines):
        yield PostPart("prose", tuple(lines), first)


def fence_parts(lines: Sequence[str], first: int, language: str) -> Iterator[PostPart]:
    """Return the parts of a fence's content: Python as a whole, or code and printed output by lines. Python of TVM counts under the name of
    another language, too."""
    if language not in _PYTHON and not _is_of_tvm(lines):
        yield PostPart("output", tuple(lines), first)
        return
    prompts = any(_PROMPT.match(line) for line in lines)
    for candidate in (*_mended(_unindented(lines)), *_mended(_unindented(_bare(lines)))):
        tree = None if prompts else find_tree("\n".join(candidate))
        if tree is not None and any(_is_statement(node) for node in tree.body):
            yield PostPart("code", tuple(candidate), first)
            return
    for part in _by_lines(lines, first):
        yield msgspec.structs.replace(part, kind="output") if part.kind == "prose" else part


def _is_of_tvm(lines: Sequence[str]) -> bool:
    """Whether lines are Python that makes a part of a program or schedule of TVM."""
    if not any(word in line for line in lines for word in _MAKING):
        return False
    tree = find_tree("\n".join(_unindented(lines)))
    values = [node.value for node in tree.body if isinstance(node, ast.Assign)] if tree is not None else []
    return any(isinstance(v, ast.Call) and isinstance(v.func, ast.Attribute) and v.func.attr in _MAKING for v in values)


def _by_lines(lines: Sequence[str], first: int) -> Iterator[PostPart]:
    """The parts of lines without fences."""
    kinds, code = _kinds(lines)
    _absorb(kinds, "code", ("blank", "comment"))
    _absorb(kinds, "output", ("blank",))
    _headings(kinds)

    def kind_of(number: int) -> PartKind:
        kind = kinds[number]
        return kind if kind == "code" or kind == "output" else "prose"

    for kind, group in groupby(range(len(lines)), kind_of):
        numbers = list(group)
        if kind == "code":
            yield PostPart("code", tuple(_unindented([code[n] for n in numbers])), first + numbers[0])
        elif any(lines[n].strip() for n in numbers):
            yield PostPart(kind, tuple(lines[n] for n in numbers), first + numbers[0])


def _kinds(lines: Sequence[str]) -> tuple[list[_Kind], list[str]]:
    """Return the kind of each line, and the lines as code."""
    code, closings = _bare(lines), _closings(lines)
    depths = list(accumulate((_opened(line) for line in code), initial=0))
    kinds: list[_Kind] = []
    while len(kinds) < len(lines):
        checkpoint()
        number = len(kinds)
        line = code[number].strip()
        if not line or line.startswith("#"):
            kinds.append("comment" if line else "blank")
            continue
        end = _end_of_statement(code, depths, number)
        found = _as_code(code[number:end], _PROMPT.match(lines[number]) is not None)
        if found is not None:
            code[number:end] = found
            kinds += cast("list[_Kind]", ["code"] * (end - number))
            continue
        end = _end_of_output(lines, closings, number)
        kinds += cast("list[_Kind]", ["output"] * (end - number) if end > number else ["prose"])
    return kinds, code


def _bare(lines: Sequence[str]) -> list[str]:
    """Return the lines without prompts, without the mark of quoted mail, and without the numbers of a listing."""
    found = [_plain_margin(line) for line in lines]
    for pattern, least in (*((_QUOTED, 2),) * MOST_QUOTED, (_NUMBER, 3)):
        for run in _runs(found, pattern):
            if len(run) >= least:
                for number in run:
                    found[number] = pattern.sub("", found[number], count=1)
    return [_PROMPT.sub("", line, count=1) if _PROMPT.match(line) else line for line in found]


def _plain_margin(line: str) -> str:
    """The line with spaces for the no-break spaces before its first word."""
    margin = _MARGIN.match(line)
    return line if margin is None else margin[0].replace("\u00a0", " ") + line[margin.end() :]


def _runs(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[list[int]]:
    """Consecutive lines that match, without blank ones between; numbers of a listing increase by one."""
    run: list[int] = []
    before = ""
    for number, line in enumerate(lines):
        found = pattern.match(line)
        if found is None and not line.strip():
            continue
        counts = found is not None and bool(pattern.groups)
        follows = found is not None and (not run or not counts or int(found[1]) - int(before) in (1, 2))
        if not follows:
            yield run
            run = []
        if found is not None:
            run.append(number)
            before = found[1][:9] if counts else ""
    yield run


def _mended(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines as they are, then with typographic characters replaced, then with HTML entities resolved."""
    yield list(lines)
    plain = [line.translate(_MENDED) for line in lines]
    yield plain
    if any(_ENTITY.search(line) for line in plain):
        yield [html.unescape(line).translate(_MENDED) for line in plain]


def _opened(line: str) -> int:
    """The brackets that a line opens and leaves open, or closes (negative)."""
    bare = _STRING.sub("", line)
    return sum(bare.count(c) for c in "([{") - sum(bare.count(c) for c in ")]}")


def _end_of_statement(code: Sequence[str], depths: Sequence[int], number: int) -> int:
    """The line after a statement that begins at line `number`, by its brackets, triple quotes and backslashes."""
    last = min(number + MAX_STATEMENT_LINES, len(code))
    quote = _TRIPLE.search(code[number])
    if quote is not None and code[number].count(quote[0]) % 2:
        return next((n + 1 for n in range(number + 1, last) if quote[0] in code[n]), number + 1)
    for end in range(number + 1, last + 1):
        if depths[end] <= depths[number] and not code[end - 1].rstrip().endswith("\\"):
            return end
    return number + 1


def _as_code(lines: Sequence[str], prompted: bool = False) -> list[str] | None:
    """Return the lines, with their quotes mended if needed, if they are a statement of a program; else None. After a prompt any Python
    is."""
    for candidate in _mended(lines):
        text = "\n".join(candidate).strip()
        if _CLAUSE.match(text):
            return candidate
        if text[0] in "\"'" and not _TRIPLE.match(text):
            continue  # a quotation
        bare = re.sub(r"(?<!\s)\s+#.*$", "", text) if text.rpartition("\n")[2].find("#") > 0 else text
        if text.startswith("@"):
            text += "\ndef f(): pass"
        elif bare.endswith(":"):
            text = bare + " pass"
        tree = find_tree(text)
        if tree is not None and tree.body and (prompted or all(map(_is_statement, tree.body))):
            return candidate
    return None


def _is_statement(node: ast.stmt) -> bool:
    """Whether a statement occurs in programs and not in prose, such as `Example: text` or a single word."""
    match node:
        case ast.Expr(value=value):
            return isinstance(value, ast.Call) or (isinstance(value, ast.Constant) and isinstance(value.value, str))
        case ast.AnnAssign(annotation=ast.Name(id=name)):
            return name in ("int", "float", "bool", "str")
        case ast.With(items=items):
            return any(isinstance(item.context_expr, ast.Call) for item in items)
        case ast.If(test=test) | ast.While(test=test):
            return not isinstance(test, ast.Name)
        case ast.For(iter=iterated):
            return not isinstance(iterated, ast.Constant)
        case _:
            return True


def _closings(lines: Sequence[str]) -> list[int]:
    """Return for each line the line after which no more braces are open than before it, a line after the last one if there is none."""
    depths = list(accumulate((line.count("{") - line.count("}") for line in lines), initial=0))
    found = [len(lines) + 1] * len(lines)
    open_lines: list[int] = []
    for end, depth in enumerate(depths):
        while open_lines and depth <= depths[open_lines[-1]]:
            found[open_lines.pop()] = end
        if end < len(lines):
            open_lines.append(end)
    return found


def _end_of_output(lines: Sequence[str], closings: Sequence[int], number: int) -> int:
    """The line after the printed output that begins at line `number`; `number` if none does."""
    line = lines[number]
    last = min(number + 10 * MAX_STATEMENT_LINES, len(lines))
    if _TRACEBACK.match(line):
        after = (n for n in range(number + 1, last) if lines[n].strip() and not lines[n][0].isspace())
        return next(after, last - 1) + 1
    if _PRINTED_IR.match(line):
        return next((n for n in range(number + 1, last) if not lines[n].strip()), last)
    if line.partition("//")[0].rstrip().endswith("{") and closings[number] <= last:
        return closings[number]
    return number + 1 if _PRINTED.match(line) else number


def _absorb(kinds: list[_Kind], kind: _Kind, between: Sequence[_Kind]) -> None:
    """Give the lines between two lines of one kind that kind, if nothing else is between them."""
    before = -1
    for number, found in enumerate(kinds):
        if found == kind:
            if 0 <= before < number - 1:
                for inside in range(before + 1, number):
                    kinds[inside] = kind
            before = number
        elif found not in between:
            before = -1


def _headings(kinds: list[_Kind]) -> None:
    """Give comments directly above code to it."""
    for number in range(len(kinds) - 2, -1, -1):
        if kinds[number] == "comment" and kinds[number + 1] == "code":
            kinds[number] = "code"


def _unindented(lines: Sequence[str]) -> list[str]:
    """Return the lines without their common margin; lines that are blank have none."""
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return [line[margin:] if line.strip() else "" for line in lines]


__all__ = ["PostPart", "fence_parts", "has_fences", "is_sentence", "split_post"]
