"""Notebooks of posts: one program of a text with its schedule, and the prose around it as markdown cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...engine.adopt import (
    CarrierError,
    Content,
    Piece,
    PostProgram,
    Sliced,
    Snippet,
    has_fences,
    has_nested,
    has_prose,
    line_in_the_way,
    programs_in,
    programs_of,
    read_as_far_as_possible,
    read_nested_program,
    read_program,
    unread_lines,
    unwrapped,
    with_trace,
)
from ...engine.adopt.slices import MAX_CHARACTERS, asks
from ...engine.ir import Place, Refusal, TilewrightError
from ...engine.script import Note, ParseError
from ...engine.script.language import is_script, makes_schedule, tree_of
from ...engine.script.syntax import find_tree, python_tree
from ...engine.te import has_graph, is_te
from .cells import Cell
from .files.read_write import DocumentError

_HEADING = re.compile(r"[^\W\d_][^.?!:;,]{2,90}\??$")


class Post(msgspec.Struct, frozen=True):
    """A text with one or more programs: `labels` has one for each, `number` (from 1) is the one that is open. `words` names them to
    users; `has_graph`: a relax function in the text calls them, so that it can be opened as a model. `file` is that of the open program
    in an archive or a folder."""

    text: str
    labels: tuple[str, ...]
    number: int
    words: Literal["programs", "functions"] = "programs"
    has_graph: bool = False
    file: str = ""


class _Text(msgspec.Struct, frozen=True):
    """A text with its programs. `piece` is that of a carrier, whose lines have other numbers in the file."""

    sliced: Sliced
    piece: Piece | None = None

    def labels(self) -> Iterator[str]:
        """The label of each program, with its lines in the file."""
        for program in self.sliced.programs:
            first, last = program.lines
            if self.piece is None:
                yield f"{program.label}, lines {first}–{last}"
            else:
                name = f"{self.piece.name}: " if self.piece.name else ""
                yield f"{name}{program.label}, {self.piece.words(f'lines {first}–{last}')}"


class PostRead(msgspec.Struct, frozen=True, eq=False):
    """One program of a post with its schedule; `used` are the sizes that it was read with,
    of those `given`."""

    post: Post
    sliced: Sliced
    program: PostProgram
    found: Snippet
    notes: tuple[Note, ...]
    used: frozenset[str] = frozenset()
    given: Mapping[str, int | str] = {}


def read_post(
    text: str, filename: str, wanted: int | str, sizes: Mapping[str, int | str], home: Path | None = None
) -> PostRead | None:
    """Read the program of a post or carrier that `wanted` names, see `numbered`; None for a text that is a single program or module.
    `home` is the file, if other files of its project may be read.

    Raises the errors of `read_program` and `unwrapped`, CarrierError "no-program", and DocumentError "no-such-program".
    """
    content = unwrapped(text)
    texts = _texts(text, filename, content, home)
    if not texts:
        return None
    choices = [(one, program) for one in texts for program in one.sliced.programs]
    is_alone = len(choices) == 1  # `wanted` may name one of its functions
    number = 1 if is_alone else numbered(wanted, [program.name for _, program in choices])
    one, program = choices[number - 1]
    is_whole = one.sliced.is_python and content is None and is_alone  # comments with prose do not count
    try:
        found, used = _with_sizes(program, filename, sizes, assumes=not is_whole, home=_home_of(one.piece, home))
        if one.piece is not None and one.piece.trace:
            found = with_trace(found.program, one.piece.trace)
    except TilewrightError as error:
        raise error if one.piece is None else one.piece.error(error) from error
    post = Post(text, _labels(texts), number, file="" if one.piece is None else one.piece.name)
    notes = _notes(post, one.sliced, program, found, filename)
    if one.piece is not None and content is not None:
        notes = (*content.notes, *map(one.piece.note, notes))
        stopped = None if found.stopped is None else one.piece.error(found.stopped)
        found = replace(found, stopped=stopped)
    return PostRead(post, one.sliced, program, found, notes, used, sizes)


def labels_of(text: str, filename: str, home: Path | None = None) -> tuple[str, ...]:
    """The programs of a text with several parts, which are not read; empty for a text that is a single program or module."""
    return _labels(_texts(text, filename, unwrapped(text), home))


def code_of(text: str) -> str:
    """The code in a carrier, without the prose; other texts as they are. Of several texts in it, that which has a relax function."""
    content = unwrapped(text)
    if content is None:
        return text
    codes = [piece.code for piece in content.pieces]
    return next((code for code in codes if has_graph(code)), codes[0] if codes else "")


def _labels(texts: Sequence[_Text]) -> tuple[str, ...]:
    return tuple(label for one in texts for label in one.labels())


def _texts(text: str, filename: str, content: Content | None, home: Path | None) -> list[_Text]:
    """The texts with programs; none for a text that is a single program or module. Raises CarrierError "no-program", "text-too-long",
    and the error of the first code of a carrier that is not Python, if it has no program."""
    if content is None:
        sliced = _programs(text, filename, home)
        return [] if sliced is None else [_Text(sliced)]
    for piece in content.pieces:
        if len(piece.text) > MAX_CHARACTERS:
            raise CarrierError(
                Refusal(
                    "text-too-long",
                    f"the text in {content.what} has {len(piece.text)} characters",
                    piece.name,
                    f"at most {MAX_CHARACTERS}",
                )
            )
    pieces = {piece.parts: piece for piece in content.pieces}.values()
    same = {piece.parts: programs_of(piece.parts, filename, home=_home_of(piece, home)) for piece in pieces}
    found = [_Text(same[piece.parts], piece) for piece in content.pieces]
    if not any(one.sliced.programs for one in found):
        wrong = next(
            (one.piece.error(error) for one in found if one.piece is not None for error in one.sliced.errors), None
        )
        expected = "a function under @T.prim_func, a module under @I.ir_module, or TE code"
        raise wrong or CarrierError(Refusal("no-program", f"{content.what} without a program", filename, expected))
    return found


def _home_of(piece: Piece | None, home: Path | None) -> Path | None:
    """The file of a text: that of a folder, or the carrier; None for a file of an archive, beside which nothing is read."""
    if piece is None or home is None or not piece.name:
        return home
    return home / piece.name if home.is_dir() else None


def _programs(text: str, filename: str, home: Path | None) -> Sliced | None:
    """The programs of a text; None if it is a single program or module."""
    tree = find_tree(text)
    if tree is not None and not (
        is_te(text) or makes_schedule(tree) or sum(map(is_script, tree.body)) > 1 or has_nested(tree)
    ):
        return None
    sliced = programs_in(text, filename, home)
    is_prose = has_fences(text) or filename.endswith(_PROSE)
    if tree is None and not sliced.programs and is_prose and not any(_is_of_program(e, sliced) for e in sliced.errors):
        raise DocumentError(Refusal("not-a-program", "the code of this text makes no tensor program",
                                    expected="@T.prim_func, te.compute, or a schedule with its program"))  # fmt: skip
    is_in_parts = len(sliced.programs) > 1 or has_prose(sliced.parts) or (tree is None and has_fences(text))
    is_read = is_in_parts or sliced.is_python
    wrong = None if is_read else line_in_the_way(sliced.parts)
    is_other = not is_read and tree_of(text) is not None  # a text that lost its indentation
    if not sliced.programs or is_other or (wrong is not None and not _is_mended(text, sliced)):
        return None
    if wrong is not None:
        number, line = wrong
        place = Place(number, 1, number, len(line) + 1, filename)
        raise ParseError(Refusal("syntax", "this line is not Python", line[:80], place=place))
    return sliced


_PROSE = (".md", ".mdx", ".rst", ".txt")
"""Endings of files that are not Python, whatever they contain."""
_PROGRAM = re.compile(r"\b(prim_func|ir_module|create_prim_func|create_schedule|compute)\b")


def _is_of_program(error: TilewrightError, sliced: Sliced) -> bool:
    """Whether code that cannot be read names a program or its schedule."""
    place = error.refusal.place
    line = 0 if place is None else place.line
    parts = (part for part in sliced.parts if part.kind == "code" and part.first <= line < part.first + len(part.lines))
    return any(_PROGRAM.search("\n".join(part.lines)) for part in parts)


def _is_mended(text: str, sliced: Sliced) -> bool:
    """Whether the first line that Python does not read is code: it has a prompt, a line number or a typographic character."""
    try:
        python_tree(text)
    except SyntaxError as error:
        number = error.lineno or 0
        return any(p.kind == "code" and p.first <= number < p.first + len(p.lines) for p in sliced.parts)
    except (ValueError, RecursionError, MemoryError):
        pass
    return False


def numbered(wanted: int | str, names: Sequence[str], first: int = 1) -> int:
    """The number, from 1, of the program that `wanted` names; 0 is the program `first`. Raises DocumentError "no-such-program"."""
    if wanted == 0:
        return first
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted) + 1
    ends = [number for number, name in enumerate(names, 1) if isinstance(wanted, str) and name.endswith(f".{wanted}")]
    if len(ends) == 1:
        return ends[0]
    if isinstance(wanted, int) and wanted <= len(names):
        return wanted
    known = ", ".join(f"{name} ({number})" for number, name in enumerate(names, 1))
    raise DocumentError(Refusal("no-such-program", "the text has no such program", found=str(wanted), expected=known))


def _with_sizes(
    program: PostProgram, filename: str, given: Mapping[str, int | str], *, assumes: bool, home: Path | None
) -> tuple[Snippet, frozenset[str]]:
    """Read the program for all sizes, else for the given ones, else without the schedule lines that are refused. `assumes` is that of
    `read_te`: parts of a program may leave names undefined, a whole text may not."""
    if program.nested is not None:
        return read_nested_program(program, filename, given, home)
    asked = False
    for sizes in ({}, given) if given else ({},):
        try:
            found = read_as_far_as_possible(
                program.text, None, filename, sizes, assumes=assumes, home=home, chosen=program.chosen
            )
        except TilewrightError as error:
            asked = asked or asks(program, error, {})
            continue
        if not asks(program, found.stopped, {}):
            return found, frozenset(sizes)
        asked = True
    sizes = given if asked else {}
    return read_program(program, filename, sizes, assumes=assumes, home=home), frozenset(sizes)


def numbers(given: Mapping[str, int | str]) -> dict[str, int]:
    """The values that are sizes."""
    return {name: value for name, value in given.items() if isinstance(value, int)}


def _notes(post: Post, sliced: Sliced, program: PostProgram, found: Snippet, filename: str) -> tuple[Note, ...]:
    """What a reader of the notebook should know about the text: other programs, and lines that are left out."""
    start = Place(program.lines[0], 1, program.lines[0], 1, filename)
    count = len(post.labels)
    notes = [Note(f"the text has {count} programs, this is number {post.number}", start)] if count > 1 else []
    others = program.other_schedules(found)
    notes += [Note(others, start)] if others else []
    first, last = program.lines
    for number, line in unread_lines(sliced.parts):
        if first < number < last:
            notes.append(
                Note(f"this line is not Python and is left out: {line[:80]}", Place(number, 1, number, 1, filename))
            )
    unread = (
        Note(f"this code is left out: {e.refusal.message}", e.place) for e in sliced.errors if e.place is not None
    )
    return (*notes, *unread, *found.notes, *sliced.notes)


def with_prose_around(read: PostRead, notebook: str) -> str:
    """The notebook's text between markdown cells with the rest of the post. A text of code only has none."""
    if not any(part.kind == "prose" for part in read.sliced.parts):
        return notebook
    first = read.program.lines[0]
    before = "\n\n".join(_markdown(read, lambda line: line < first))
    after = "\n\n".join(_markdown(read, lambda line: line >= first))
    return _cell(before) + notebook + ("\n" + _cell(after) if after else "")


def _cell(prose: str) -> str:
    return "\n".join(["# %% [markdown]", *Cell.comments_of(prose), "", ""]) if prose else ""


def _markdown(read: PostRead, here: Callable[[int], bool]) -> Iterator[str]:
    """The parts at some lines as Markdown: prose as it is, other code and output in fences."""
    parts = read.sliced.parts
    blank = any(not line.strip() for part in parts if part.kind == "prose" for line in part.lines)
    apart = not blank and not read.sliced.is_python
    for part in parts:
        lines = [line for n, line in enumerate(part.lines, part.first) if here(n) and n not in read.program.used]
        text = "\n".join(lines).strip("\n")
        if not text.strip() or (part.kind == "code" and not _statements(lines)):
            continue
        if part.kind == "prose":
            yield _prose(lines, title=part.first == 1, apart=apart)
        else:
            mark = "````" if "```" in text else "```"
            yield f"{mark}{'python' if part.kind == 'code' else ''}\n{text}\n{mark}"


def _statements(lines: list[str]) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _prose(lines: list[str], *, title: bool, apart: bool) -> str:
    """Lines of prose; a title becomes a heading. Lines are paragraphs (`apart`) in a text without blank lines."""
    text = [line.rstrip() for line in lines]
    if title and text and _HEADING.match(text[0].strip()) and (len(text) == 1 or not text[1]):
        text[0] = f"# {text[0].strip()}"
    if not apart:
        return "\n".join(text).strip("\n")
    spread = (line if line.startswith("- ") else f"\n{line}" for line in text)
    return "\n".join(spread).strip("\n")


__all__ = ["Post", "PostRead", "code_of", "labels_of", "numbered", "numbers", "read_post", "with_prose_around"]
