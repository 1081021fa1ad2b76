"""Source text and its Python syntax tree, within limits; hostile text raises ParseError and no other exception."""

from __future__ import annotations

import ast
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...cancellation import checkpoint
from ...ir import Node, Place, build, internal_error
from ..errors import ParseError, parse_error
from ..syntax import child_nodes, find_tree, python_tree
from .indent import is_flat, restored, shifted, without_margin

MAX_CHARACTERS = 2_000_000
MAX_CARRIER_BYTES = 10_000_000
"""Maximum size of a file that contains programs beside other data, such as pictures: a carrier of `adopt`."""
MAX_DEPTH = 120  # levels of the syntax tree; rewrites recurse over programs, and Python allows 1000 frames
FOUND_CHARACTERS = 80

Positions = Mapping[Node, tuple[Place, ...]]


class Source:
    """A text with its syntax tree: places and source texts of tree nodes."""

    def __init__(self, text: str, filename: str = "", first_line: int = 1, home: Path | None = None) -> None:
        """Parse the text. Raises ParseError if it is too large, too deeply nested or not Python. `first_line` is the number of the first
        line. `home` is the file of the text, if other files of its project may be read."""
        self.home = home
        self.files: dict[Path, Any] = {}  # the names of the other files that were read
        self._owners: dict[ast.AST, Source] = {}
        self.filename = filename
        self.first_line = first_line
        if len(text) > MAX_CHARACTERS:
            raise parse_error(
                "too-large",
                "the text is too large to read",
                Place(first_line, 1, first_line, 1, filename),
                found=f"{len(text)} characters",
                expected=f"at most {MAX_CHARACTERS} characters",
            )
        self.lines = _split_lines(text)
        self.shifts: list[int] | None = None  # columns that each line is moved to the right
        self._is_ascii = text.isascii()
        self._character_ends: dict[int, Sequence[int]] = {}
        self.tree = self._parse(text)
        self.nodes = self._nodes()
        if "\\" in text:
            self._require_characters()

    def owner(self, node: ast.AST) -> Source:
        """Return the text that has a node: this one, or another file."""
        return self._owners.get(node, self) if self._owners else self

    @property
    def trees(self) -> list[ast.Module]:
        """The trees of the text and of the files that are read together with it."""
        return [source.tree for source in dict.fromkeys((self, *self._owners.values()))]

    def add(self, other: Source) -> None:
        """Add a file whose nodes are read together with those of this text."""
        self._owners.update(dict.fromkeys(self.nodes if not self._owners else (), self))
        self._owners.update(dict.fromkeys(other.nodes, other))
        other._owners, other.files = self._owners, self.files

    def place(self, node: ast.AST, end: ast.AST | None = None) -> Place:
        """Return the place of `node`; with `end`, from the start of `node` to the start of `end`."""
        owner = self.owner(node)
        if owner is not self:
            return owner.place(node, end)
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if end is None:
            end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
        else:
            end_line, end_column = getattr(end, "lineno", line), getattr(end, "col_offset", column)
        return Place(
            line + self.first_line - 1,
            self._column(line, column),
            end_line + self.first_line - 1,
            self._column(end_line, end_column),
            self.filename,
        )

    def header(self, node: ast.For | ast.While | ast.With | ast.If | ast.FunctionDef | ast.ClassDef) -> Place:
        """Return the place of a compound statement's first line, without its body."""
        owner = self.owner(node)
        if owner is not self:
            return owner.header(node)
        place = self.place(node)
        line = self.lines[place.line - self.first_line]
        return Place(place.line, place.column, place.line, len(line.rstrip()) + 1, self.filename)

    def text(self, node: ast.AST) -> str:
        """Return the text of `node`, with whitespace folded to single spaces, truncated if long."""
        text = " ".join(self.segment(node).split())
        return text if len(text) <= FOUND_CHARACTERS else text[: FOUND_CHARACTERS - 1] + "…"

    def segment(self, node: ast.AST) -> str:
        """Return the text of `node` as written."""
        owner = self.owner(node)
        if owner is not self:
            return owner.segment(node)
        p = self.place(node)
        lines = self.lines[p.line - self.first_line : p.end_line - self.first_line + 1]
        if not lines:
            return ""
        lines[-1] = lines[-1][: p.end_column - 1]
        lines[0] = lines[0][p.column - 1 :]
        return "\n".join(lines)

    def error(
        self, node: ast.AST, code: str, message: str, *, expected: str = "", fix: tuple[str, ...] = ()
    ) -> ParseError:
        """Create the error that points at `node`; the caller raises it."""
        return parse_error(code, message, self.place(node), found=self.text(node), expected=expected, fix=fix)

    def line_error(
        self, node: ast.stmt, code: str, message: str, *, expected: str = "", fix: tuple[str, ...] = ()
    ) -> ParseError:
        """Create the error that points at a statement, at the first line of a compound one."""
        compound = isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.FunctionDef | ast.ClassDef)
        place = self.header(node) if compound else self.place(node)
        return parse_error(code, message, place, found=self.text(node), expected=expected, fix=fix)

    def refused(self, node: ast.AST, error: Exception) -> ParseError:
        """Convert a Python exception to an error that points at `node`: operands without a common dtype, a division by zero, or else a
        missing check, "internal-error"."""
        if isinstance(error, build.DTypeError):
            return self.error(node, "wrong-type", str(error), expected="operands of compatible types")
        if isinstance(error, ZeroDivisionError):
            return self.error(node, "out-of-range", "division by zero", expected="a divisor that is not zero")
        return ParseError(internal_error(error, "reading this", place=self.place(node), found=self.text(node)))

    def _column(self, line: int, offset: int) -> int:
        """Convert ast's UTF-8 byte offset to a column in characters, from 1."""
        if self._is_ascii and self.shifts is None:
            return offset + 1
        if self.shifts is not None and 0 < line <= len(self.shifts):
            offset = max(offset - self.shifts[line - 1], 0)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return offset + 1 if text.isascii() else bisect_right(self._ends(line), offset) + 1

    def _ends(self, line: int) -> Sequence[int]:
        """Return the UTF-8 byte offset after each character of a line; cached, because a long line has many nodes."""
        if line not in self._character_ends:
            self._character_ends[line] = array("I", accumulate(len(c.encode()) for c in self.lines[line - 1]))
        return self._character_ends[line]

    def _parse(self, text: str) -> ast.Module:
        try:
            return python_tree(text)
        except SyntaxError as error:
            indented = self._indented() if isinstance(error, IndentationError) else None
            if indented is None:
                raise self._syntax_error(error) from None
            return indented
        except (RecursionError, MemoryError):
            raise self.too_deep(Place(self.first_line, 1, self.first_line, 1, self.filename)) from None
        except ValueError as error:  # null bytes, lone surrogates, integers with thousands of digits
            place = Place(self.first_line, 1, self.first_line, 1, self.filename)
            raise parse_error(
                "syntax", "the text is not Python", place, found=str(error), expected="Python text in UTF-8"
            ) from None

    def _indented(self) -> ast.Module | None:
        """Return the tree of a text that lost its indentation, if it can be restored, or that has a margin."""
        shifts = restored(self.lines) if is_flat(self.lines) else without_margin(self.lines)
        if shifts is None:
            return None
        tree = find_tree("\n".join(map(shifted, self.lines, shifts)))
        if tree is not None:
            self.shifts = shifts
        return tree

    def _syntax_error(self, error: SyntaxError) -> ParseError:
        line = min(max(error.lineno or 1, 1), max(len(self.lines), 1))
        text = self.lines[line - 1] if self.lines else ""
        column = min(max(error.offset or 1, 1), len(text) + 1)
        place = Place(line + self.first_line - 1, column, line + self.first_line - 1, len(text) + 1, self.filename)
        lost_indent = isinstance(error, IndentationError) and "expected an indented block" in str(error.msg)
        return parse_error(
            "syntax",
            f"the text is not Python: {error.msg}",
            place,
            found=text.strip()[:FOUND_CHARACTERS],
            expected="indented lines under this one" if lost_indent else "",
            fix=("indent the body of each def, for and with by four spaces (copying from a web page often loses it)",)
            if lost_indent
            else (),
        )

    def _nodes(self) -> list[ast.AST]:
        """Return the nodes of the tree, the outer ones first. Raises ParseError if it is too deep."""
        found: list[ast.AST] = []
        level: list[ast.AST] = [self.tree]
        for _ in range(MAX_DEPTH):
            checkpoint()
            found += level
            level = [child for node in level for child in child_nodes(node)]
            if not level:
                return found
        deepest = next((node for node in level if hasattr(node, "lineno")), None)
        if deepest is not None:
            raise self.too_deep(self.place(deepest))
        return found

    def _require_characters(self) -> None:
        """Reject strings with lone surrogates or null characters: they become names, and cannot be displayed or written to a file."""
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and not is_text(node.value):
                raise parse_error(
                    "not-text",
                    "the string is not valid text",
                    self.place(node),
                    found=self.text(node),
                    expected="no lone surrogates and no null characters",
                )

    def too_deep(self, place: Place) -> ParseError:
        return parse_error(
            "too-deep",
            "the text is too deeply nested",
            place,
            expected=f"at most {MAX_DEPTH} levels of statements and operators",
            fix=("split a long expression into several named ones",),
        )


def is_text(text: str) -> bool:
    """Whether a UTF-8 file can contain the text and Python can read it there."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


class PositionTable:
    """Collects the places of nodes while text is read or written."""

    def __init__(self) -> None:
        self._places: dict[Node, dict[Place, None]] = {}

    def add(self, node: Node, place: Place) -> None:
        known = self._places.get(node)
        if known is None:
            self._places[node] = {place: None}
        else:
            known[place] = None

    def first(self, node: Node) -> Place | None:
        """Return the first place of `node`."""
        return next(iter(self._places.get(node, ())), None)

    def places(self, node: Node) -> tuple[Place, ...]:
        return tuple(self._places.get(node, ()))

    def freeze(self) -> Positions:
        return {node: tuple(places) for node, places in self._places.items()}


def _split_lines(text: str) -> list[str]:
    """Split at the line ends that Python's tokenizer counts: not at form feeds and Unicode separators."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
