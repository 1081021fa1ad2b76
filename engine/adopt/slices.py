"""Programs in code that has more: each schedule with the statements that it depends on, or each program that has no schedule.

A statement belongs to a program if the program's schedule, its calls, or a definition that they use needs it. Prints, measurements and
other Python are left out; they are never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace as replace_fields

from ..cancellation import checkpoint
from ..ir import Place, TilewrightError
from ..script import Note, ParseError
from ..script.errors import UnknownValueError
from ..script.reading.indent import shifted
from ..script.reading.source import Source
from ..script.subset.beside import find_module
from ..script.subset.bindings import changed_roots, free_names, root_name
from ..script.syntax import find_tree
from .functions.calling import read_nested
from .functions.dependencies import own_parts
from .functions.needs import MissingValuesError, missing_values, named_need
from .functions.nested import NestedProgram, makes_program, nested_programs, schedules_given
from .functions.proposals import proposed
from .pasted import Snippet, read_as_far_as_possible
from .posts import PostPart, is_sentence, split_post
from .schedule_counts import MANY, schedules_in
from .value_flow import Unit, ValueFlow

MAX_CHARACTERS = 400_000
"""Maximum length of a text that is split into programs."""
MAX_PROGRAMS = 64
"""Maximum number of programs that are offered."""

MAX_SCHEDULES = 16
"""Maximum number of schedules of one loop that are offered."""
MAX_LEFT_OUT = 16
"""Maximum number of schedule lines that are left out of a program."""

_LIKE_CODE = re.compile(r"[ \t]*[A-Za-z_]\w*(?:[.\[(][^ ]|(?:, *\w+)* *=[^=])")
_HEADING = re.compile(r"\s*$|[^\W\d_][^\W_]*(?: [^\W_]+){0,8}\s*$|[=~#-]{3,}\s*$")
_SCRIPT_MAKER = "Schedule"
_TE_MAKER = "create_schedule"
_BUILDERS = ("build", "lower")
_MAIN_GUARD = ["'__main__'", "__name__"]


class PostProgram(msgspec.Struct, frozen=True):
    """One program with its schedule; one that functions make is `nested`. `text` has the lines of the post, those of other contents are
    empty. `name` is that of the program, `lines` are its first and last line, `used` all of its lines, `calls` the first and last line of
    each of its schedule's calls. If its statements make several schedules, `schedule` is the number of this one, from 1, and that of
    all."""

    text: str
    name: str
    lines: tuple[int, int]
    used: frozenset[int]
    calls: tuple[tuple[int, int], ...] = ()
    nested: NestedProgram | None = None
    schedule: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """What the program is, for lists."""
        shown = self.name if self.nested is None else self.nested.shown
        number, count = self.schedule or (1, 1)
        return shown if count == 1 else f"{shown}, schedule {number} of {count}"

    @property
    def chosen(self) -> int | None:
        """The number, from 0, of the schedule that is read; None if the statements make one."""
        return None if self.schedule is None else self.schedule[0] - 1

    def other_schedules(self, found: Snippet) -> str:
        """Return a sentence about schedules that are not offered; "" if there are none."""
        is_first = self.schedule is not None and found.schedules > self.schedule[1]
        return f"the text makes {found.schedules} schedules here: this is the first" if is_first else ""

    def each_schedule(self, count: int) -> Iterator[PostProgram]:
        """Yield the program with each of its schedules."""
        for number in range(1, count + 1):
            yield self if count == 1 else replace_fields(self, schedule=(number, count))


class Sliced(msgspec.Struct, frozen=True):
    """The parts of a text and the programs in it, with notes on schedules without a program. `errors` are those of code that is not
    Python; `is_python` says that the whole text is."""

    parts: tuple[PostPart, ...]
    programs: tuple[PostProgram, ...]
    notes: tuple[Note, ...] = ()
    errors: tuple[ParseError, ...] = ()
    is_python: bool = False


def programs_in(text: str, filename: str = "", home: Path | None = None) -> Sliced:
    """Return the programs of a text that contains other code, prose or printed output; `home` is its file, beside which its imports are
    read."""
    if len(text) > MAX_CHARACTERS:
        return Sliced((), ())
    tree = find_tree(text)
    return programs_of(split_post(text, tree), filename, text, tree, home)


def programs_of(
    parts: Sequence[PostPart],
    filename: str = "",
    text: str = "",
    tree: ast.Module | None = None,
    home: Path | None = None,
) -> Sliced:
    """Return the programs of parts that are split already; `tree` is that of a `text` that is Python as a whole."""
    slicer = _Slicer(filename, home)
    errors: list[ParseError] = []
    for part in parts:
        if part.kind == "code":
            try:
                slicer.add(part)
            except ParseError as found:
                errors.append(found)
    programs = tuple(p for found in slicer.programs() for p in _schedules_of(found, filename, home))[:MAX_PROGRAMS]
    code = text if tree is not None else slicer.text
    made = tree if tree is not None else find_tree(code)
    if made is not None:
        nested = (p for p in _nested(code, made) if not any(p.used <= other.used for other in programs))
        programs = tuple(sorted((*programs, *nested), key=lambda program: program.lines))
    return Sliced(tuple(parts), programs, tuple(slicer.notes), tuple(errors), tree is not None)


def _nested(text: str, tree: ast.Module) -> Iterator[PostProgram]:
    """Yield the programs that functions of a text make."""
    for found in nested_programs(tree)[:MAX_PROGRAMS]:
        lines = found.lines
        made = PostProgram(text, found.name, lines, frozenset(range(lines[0], lines[1] + 1)), (), found)
        yield from made.each_schedule(max(found.schedules, 1))


def _schedules_of(program: PostProgram, filename: str, home: Path | None) -> Iterator[PostProgram]:
    """Yield a program with each of the schedules that its statements make. Those of a loop are counted by reading it; of a text that
    cannot be read without values, the first is offered."""
    if schedules_in(ast.parse(program.text)) < MANY:
        yield program
        return
    first, count = replace_fields(program, schedule=(1, 1)), 1
    with suppress(TilewrightError):
        count = read_program(first, filename, home=home).schedules
    yield from first.each_schedule(min(max(count, 1), MAX_SCHEDULES))


def read_program(
    program: PostProgram,
    filename: str = "",
    sizes: Mapping[str, int | str] | None = None,
    *,
    assumes: bool = True,
    home: Path | None = None,
) -> Snippet:
    """Return a program of a post with its schedule. A line of a TE schedule that cannot be read or applied is left out, with a note.
    `sizes`, `assumes` and `home` are those of `read_te`.

    Raises ParseError for an unreadable definition, "missing-values" if it needs a variable that the text leaves unknown, and the errors
    of `read_te` if too many lines are refused.
    """
    if program.nested is not None:
        return read_nested_program(program, filename, sizes or {}, home)[0]
    lines = program.text.split("\n")
    notes: list[Note] = []
    while True:
        try:
            found = read_as_far_as_possible(
                "\n".join(lines), None, filename, sizes, assumes=assumes, home=home, chosen=program.chosen
            )
            if isinstance(found.stopped, UnknownValueError) and asks(program, found.stopped, sizes or {}):
                raise found.stopped
            return replace_fields(found, notes=(*found.notes, *notes))
        except TilewrightError as error:
            place = error.refusal.place
            if isinstance(error, UnknownValueError) and asks(program, error, sizes or {}):
                needed = named_need(error.name, [ast.parse(program.text)])
                raise missing_values(program.name, place, [needed], error.refusal.message) from error
            call = next((c for c in program.calls if place is not None and c[0] <= place.line <= c[1]), None)
            if call is None or len(notes) >= MAX_LEFT_OUT or not any(lines[call[0] - 1 : call[1]]):
                raise
            assert place is not None
            notes.append(Note(f"this line of the schedule is left out: {error.refusal.message}", place))
            lines[call[0] - 1 : call[1]] = [""] * (call[1] - call[0] + 1)


def asks(program: PostProgram, error: TilewrightError | None, given: Mapping[str, int | str]) -> bool:
    """Whether an error is that of a variable without a known value, which can be given: one that is used as a number, flag or list."""
    if not isinstance(error, UnknownValueError) or not error.name or error.name in given:
        return False
    parts = [*ast.walk(ast.parse(program.text))]
    if error.is_undefined and any(
        isinstance(part, ast.Name) and part.id == error.name and isinstance(part.ctx, ast.Store) for part in parts
    ):
        return False  # the line that gives it a value is left out
    owners = (part.value for part in parts if isinstance(part, ast.Attribute))
    return not any(isinstance(owner, ast.Name) and owner.id == error.name for owner in owners)


def read_nested_program(
    program: PostProgram, filename: str, given: Mapping[str, int | str], home: Path | None = None
) -> tuple[Snippet, frozenset[str]]:
    """Return a program that functions of the text make, with values for their parameters, and the names of the values that were used.

    Raises "missing-values" with examples with which it opens, if a few tries find them."""
    nested = program.nested
    assert nested is not None

    def read(values: Mapping[str, int | str]) -> tuple[Snippet, frozenset[str]]:
        source = Source(program.text, filename, home=home)
        (wanted,) = nested_programs(source.tree, nested.place)
        return read_nested(source, wanted, values, program.chosen)

    try:
        return read(given)
    except MissingValuesError as error:
        raise proposed(error, given, read) from error


def unread_lines(parts: Sequence[PostPart]) -> Iterator[tuple[int, str]]:
    """The lines among the prose that look like code, but are not Python, with their numbers."""
    for part in parts:
        for number, line in enumerate(part.lines, part.first):
            if part.kind == "prose" and _LIKE_CODE.match(line) and not is_sentence(line):
                yield number, line.strip()


def has_prose(parts: Sequence[PostPart]) -> bool:
    """Whether the parts contain a sentence, or printed output beside code."""
    return any(part.kind == "output" or (part.kind == "prose" and any(map(is_sentence, part.lines))) for part in parts)


def line_in_the_way(parts: Sequence[PostPart]) -> tuple[int, str] | None:
    """The first line that is neither code, once prompts, numbers of lines and typographic characters are mended, nor a heading of plain
    words, with its number: it may be code with an error, which is not passed over."""
    lines = ((n, line) for part in parts if part.kind == "prose" for n, line in enumerate(part.lines, part.first))
    return next(((number, line.strip()) for number, line in lines if not _HEADING.match(line)), None)


class _Slicer:
    def __init__(self, filename: str, home: Path | None) -> None:
        self.filename = filename
        self.home = home
        self.flow = ValueFlow()
        self.units = self.flow.units
        self.lines: dict[int, str] = {}  # lines of code by number, with their indentation restored
        self.code: dict[int, str] = {}  # the same lines as they are in the text
        self.notes: list[Note] = []
        self.indents: dict[int, int] = {}  # the columns that are cut off from a line
        self.stored: set[str] = set()  # names that any statement assigns, at the top or in a function

    def add(self, part: PostPart) -> None:
        """Add a part of code. Raises ParseError if it is not Python."""
        source = Source("\n".join(part.lines), self.filename, part.first)
        for number, line in enumerate(part.lines):
            shift = source.shifts[number] if source.shifts is not None else 0
            self.lines[part.first + number] = self.code[part.first + number] = shifted(line, shift)
        for node in _statements(source.tree.body):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            unit = Unit(node, first + part.first - 1, (node.end_lineno or first) + part.first - 1)
            indent = self.indents.get(unit.first, node.col_offset)
            for number in range(unit.first, unit.last + 1):
                if number not in self.indents:
                    self.indents[number] = indent
                    self.lines[number] = self.lines[number][indent:]
            self.flow.add(unit)
            if not unit.is_script:
                self.stored |= {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }

    @property
    def makes_scripts(self) -> bool:
        """Whether functions or classes of the code make programs."""
        return any(unit.makes_script for unit in self.units)

    @property
    def text(self) -> str:
        """The code, on its lines."""
        return "\n".join(self.code.get(n, "") for n in range(1, max(self.code, default=0) + 1)) + "\n"

    def programs(self) -> list[PostProgram]:
        """Each schedule with its program, then the programs without a schedule, in the order of the text."""
        makers = [n for n in range(len(self.units)) if self._makes_schedule(n)][:MAX_PROGRAMS]
        calls = {maker: self._calls_of(maker) for maker in makers}
        going_on = {n for maker in makers for n in calls[maker] - {maker} if self._goes_on(n)}
        makers = [maker for maker in makers if maker not in going_on]
        found: list[set[int]] = []
        called = {n for maker in makers for n in calls[maker] - {maker}}
        for maker in makers:
            checkpoint()
            others = {n for other in makers if other != maker for n in calls[other]}
            kept = self._backward(calls[maker], others)
            if not _is_script_schedule(self.units[maker]) or self._with_program(maker, kept):
                found.append(self._backward(kept, others))
        used = {n for kept in found for n in kept}
        rest = (n for n, unit in enumerate(self.units) if unit.is_script and n not in used)
        found += [self._backward({n}) for n in list(rest)[: MAX_PROGRAMS - len(found)]]
        if not found and not self.makes_scripts:
            computed = {n for n, unit in enumerate(self.units) if unit.computes}
            found = [self._backward(computed)] if computed else []
        return sorted((self._program(kept, called) for kept in found), key=lambda program: program.lines)

    def _makes_schedule(self, number: int) -> bool:
        """Whether a statement creates a schedule, in a call of a function of the text too. A function that schedules counts if nothing
        calls it."""
        unit = self.units[number]
        if isinstance(unit.node, ast.FunctionDef):
            return (
                self._schedules(number, set())
                and not makes_program(unit.node)
                and not schedules_given(unit.node)
                and not any(unit.node.name in other.uses for other in self.units)
            )
        if not isinstance(unit.node, ast.Assign | ast.With | ast.Expr | ast.For):
            return False
        if not isinstance(unit.node, ast.Expr) and _creates(unit):
            return True
        functions = [self.flow.definition(name, number) for name in unit.uses - self._passed(unit)]
        found = [f for f in functions if f is not None]
        if not isinstance(unit.node, ast.For) and any(_schedules(self.units[f]) for f in found):
            return not self._measures(number)
        return any(self._schedules(f, set()) for f in found) and not self._measures(number)

    def _schedules(self, number: int, seen: set[int]) -> bool:
        """Whether a statement defines a function that schedules, or calls one that does."""
        unit = self.units[number]
        if number in seen or not isinstance(unit.node, ast.FunctionDef) or unit.is_script or unit.makes_script:
            return False
        seen.add(number)
        parts = own_parts(unit.node, lambda part: isinstance(part, ast.Lambda))
        called = {part.func.id for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
        others = {n for name in called for n in self.flow.at.get(name, ())}
        makes = _schedules(unit) and not schedules_given(unit.node)
        return makes or any(self._schedules(other, seen) for other in others)

    def _goes_on(self, number: int) -> bool:
        """Whether a statement gives a schedule to functions of the text that make none."""
        functions = [self.flow.definition(name, number) for name in self.units[number].uses]
        called = [self.units[n] for n in functions if n is not None]
        makers = (unit for unit in called if isinstance(unit.node, ast.FunctionDef))
        return not any(map(_creates, (self.units[number], *makers)))

    def _passed(self, unit: Unit) -> frozenset[str]:
        """The functions of the text that a statement only passes to functions of other code, such as a measurement."""
        calls = [part for part in ast.walk(unit.node) if isinstance(part, ast.Call)]
        roots = {root.id for call in calls if (root := root_name(call.func)) is not None}
        if any(name in self.flow.at and not self._is_import(name) for name in roots):
            return frozenset()
        return unit.uses - roots

    def _is_import(self, name: str) -> bool:
        return all(isinstance(self.units[n].node, ast.Import | ast.ImportFrom) for n in self.flow.at.get(name, ()))

    def _calls_of(self, maker: int) -> set[int]:
        """The statement that makes a schedule and those with its calls; functions of the text that build and measure it are left out."""
        kept = {maker}
        schedules, derived = set(self.units[maker].defines), set(self.units[maker].defines)
        callers = self.flow.callers(schedules)
        for later in range(maker + 1, len(self.units)):
            unit = self.units[later]
            if unit.is_definition:
                schedules -= unit.defines
                continue
            uses = unit.uses & (schedules | callers)
            gets = isinstance(unit.node, ast.Assign) and self._carries(unit.node.value, schedules)
            schedules -= unit.defines
            if not schedules and not uses:
                break
            if (
                isinstance(unit.node, ast.While | ast.Try | ast.If)
                and not any(_receiver(call) in schedules for call in _calls(unit.node))
                and not unit.uses & callers
            ):
                continue
            if (uses and not self._measures(later)) or (
                isinstance(unit.node, ast.Expr) and _receiver(unit.node.value) in derived
            ):
                kept.add(later)
                if gets:
                    schedules |= {*unit.defines, *(root.id for root in changed_roots(unit.node))}
                    callers |= self.flow.callers(schedules)
                derived = derived - unit.defines if unit.calls(*_BUILDERS) else derived | unit.defines
        return kept

    def _carries(self, value: ast.expr, schedules: Set[str]) -> bool:
        """Whether the value of an expression is a schedule, has one, or is a function that uses one."""
        match value:
            case ast.Name(id=name):
                return name in schedules
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy")) if name in schedules:
                return True
            case ast.Lambda():
                return bool(free_names(value) & schedules)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts) | ast.Dict(values=parts):
                return any(self._carries(part, schedules) for part in parts)
            case ast.IfExp(body=body, orelse=orelse):
                return self._carries(body, schedules) or self._carries(orelse, schedules)
            case ast.Call(func=called, args=args, keywords=keywords):
                root = root_name(called)
                given = (*args, *(keyword.value for keyword in keywords))
                known = root is not None and (root.id in schedules or self.flow.is_library(root.id))
                return not known and any(self._carries(part, schedules) for part in given)
            case _:
                return False

    def _measures(self, number: int) -> bool:
        """Whether a statement only calls a function of the text that builds the schedule."""
        node = self.units[number].node
        if not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        ):
            return False
        function = self.flow.definition(node.value.func.id, number)
        return function is not None and self.units[function].calls(*_BUILDERS)

    def _with_program(self, number: int, kept: set[int]) -> bool:
        """Add the program of a TensorIR schedule to `kept`. A name that nothing assigns means the program before it, else the first one."""
        units = [self.units[n] for n in kept]
        if any(u.is_script or u.calls("create_prim_func") or u.makes_script or self._is_beside(u.node) for u in units):
            return True
        unit = self.units[number]
        call = next((n for n in ast.walk(unit.node) if isinstance(n, ast.Call)), None)
        name = call.args[0].id if call is not None and call.args and isinstance(call.args[0], ast.Name) else ""
        scripts = [n for n, other in enumerate(self.units) if other.is_script]
        taken = isinstance(unit.node, ast.FunctionDef) and not unit.calls(_SCRIPT_MAKER)
        if (taken or (name and name not in self.stored)) and scripts:
            kept.add(max((n for n in scripts if n < number), default=scripts[0]))
            return True
        what = f"{name or 'the program'} is made by Python code, which is never run, so the schedule of this line is left out"
        if name:
            what += f"; paste what {name}.show() prints to apply it"
        self.notes.append(Note(what, Place(unit.first, 1, unit.last, 1, self.filename)))
        return False

    def _is_beside(self, node: ast.stmt) -> bool:
        """Whether a statement imports from a file beside the text, which may have the program."""
        if self.home is None or not isinstance(node, ast.ImportFrom | ast.Import):
            return False
        modules = (
            [(node.module or "", node.level)]
            if isinstance(node, ast.ImportFrom)
            else [(alias.name, 0) for alias in node.names]
        )
        return any(find_module(self.home, module, level) is not None for module, level in modules)

    def _backward(self, kept: set[int], others: Set[int] = frozenset()) -> set[int]:
        """The statements and all that decide the values that they use; `others` are statements of other schedules."""
        found, pending, end = set(kept), list(kept), max(kept, default=0)
        searched: dict[str, int] = {}
        elsewhere = self._dependents(others - kept) - kept if others else others
        while pending:
            deciding = self.flow.deciding(pending.pop(), end, others - kept, searched)
            new = {n for n, names in deciding.items() if n not in elsewhere or names & self.units[n].defines}
            new |= {n for kept_one in new for n in self.flow.beside(kept_one)} - others
            new -= found
            found |= new
            pending += new
        return found

    def _dependents(self, others: Set[int]) -> Set[int]:
        """The statements of other schedules, and those that use what they define, such as a measurement of the built schedule."""
        found, last = set(others), dict[str, int]()
        for number, unit in enumerate(self.units):
            if not isinstance(unit.node, ast.FunctionDef | ast.ClassDef) and any(
                last.get(name) in found for name in unit.uses
            ):
                found.add(number)
            last |= dict.fromkeys(unit.defines, number)
        return found

    def _program(self, kept: set[int], called: set[int]) -> PostProgram:
        numbers = {line for n in kept for line in range(self.units[n].first, self.units[n].last + 1)}
        numbers |= self._comments_above(numbers)
        first, last = min(numbers), max(numbers)
        lines = [self.lines[n] if n in numbers else "" for n in range(1, last + 1)]
        calls = tuple((self.units[n].first, self.units[n].last) for n in sorted(kept & called))
        return PostProgram("\n".join(lines) + "\n", self._name(sorted(kept)), (first, last), frozenset(numbers), calls)

    def _comments_above(self, numbers: set[int]) -> set[int]:
        """The comments of the code directly above its lines."""
        found: set[int] = set()
        for number in numbers:
            above = number - 1
            while (
                above in self.lines
                and above not in numbers
                and (self._is_comment(above) or not self.lines[above].strip())
            ):
                if self._is_comment(above):
                    found.add(above)
                above -= 1
        return found

    def _is_comment(self, number: int) -> bool:
        return self.lines[number].startswith("#")

    def _name(self, kept: Sequence[int]) -> str:
        """The name of the program: its function or class, else the last tensor that is computed."""
        units = [self.units[n] for n in kept]
        scripts = [
            unit.node.name for unit in units if unit.is_script and isinstance(unit.node, ast.FunctionDef | ast.ClassDef)
        ]
        computed = [
            name
            for unit in units
            if unit.calls("compute", "extern") and isinstance(unit.node, ast.Assign)
            for name in sorted(unit.defines)
        ]
        functions = [unit.node.name for unit in units if isinstance(unit.node, ast.FunctionDef)]
        return next(iter([*scripts[-1:], *computed[-1:], *functions[-1:]]), "program")


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a text; those below `if __name__ == "__main__":` count too."""
    for node in body:
        match node:
            case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), orelse=[]) if (
                sorted(map(ast.unparse, (left, right))) == _MAIN_GUARD
            ):
                yield from node.body
            case _:
                yield node


def _creates(unit: Unit) -> bool:
    """Whether a statement calls a function that creates a schedule."""
    return unit.calls(_TE_MAKER, _SCRIPT_MAKER) or any(
        isinstance(node, ast.Attribute) and node.attr.startswith("schedule_") and "topi." in ast.unparse(node)
        for node in ast.walk(unit.node)
    )


def _schedules(unit: Unit) -> bool:
    """Whether a function or class creates a schedule, or a function applies calls to one that it takes: the text of a trace."""
    if unit.is_script or unit.makes_script or not unit.is_definition:
        return False
    if isinstance(unit.node, ast.ClassDef):
        return _creates(unit)
    assert isinstance(unit.node, ast.FunctionDef)
    taken = [a.annotation for a in unit.node.args.args if a.annotation is not None]
    return _creates(unit) or any(ast.unparse(hint).rpartition(".")[2] == _SCRIPT_MAKER for hint in taken)


def _is_script_schedule(unit: Unit) -> bool:
    """Whether a statement schedules a TVMScript program, also as a function that takes the schedule."""
    return unit.calls(_SCRIPT_MAKER) or (isinstance(unit.node, ast.FunctionDef) and not unit.calls(_TE_MAKER))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of methods in a statement."""
    return (part for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute))


def _receiver(value: ast.expr) -> str:
    """The name in front of a call: `stage` of `stage.split(…)`."""
    while isinstance(value, ast.Call | ast.Attribute | ast.Subscript):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""


__all__ = [
    "PostProgram",
    "Sliced",
    "has_prose",
    "line_in_the_way",
    "programs_in",
    "programs_of",
    "read_nested_program",
    "read_program",
    "unread_lines",
]
