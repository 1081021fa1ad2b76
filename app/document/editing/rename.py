"""Renaming of a loop or a block at the place in the text that names it; the resulting notebook must be equivalent.

A loop is named by the program's `for`, or by `names=[…]` of the call that created it; for a loop with a generated name, a split into one
part is appended. A block is named by the program. A block that a call created is named after its buffer, so its variable is renamed.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator

import msgspec

from ....engine.ir import BlockRealize, For, PrimFunc, Refusal, ScheduleCall, Var, loops_and_blocks
from ....engine.script import python_tree
from ..cells import Document, lines_of, read_document
from ..evaluate import evaluate
from ..files.read_write import DocumentError
from ..notebook import Handle, Notebook, NotebookStep
from ..workload import workload_cell
from .apply import append_call
from .lines import RESERVED, line_for, variable_of

NAMED = ("split", "tile", "loop_partition")
"""Primitives with a `names=[…]` argument; `fuse` has `name=`."""


class Replacement(msgspec.Struct, frozen=True, order=True):
    """A text replacement within a line of the file: `line` from 1, columns `start` and `end` in characters from 0."""

    line: int
    start: int
    end: int
    new: str


def renamed(notebook: Notebook, handle: Handle, name: str) -> Notebook:
    """The notebook with `handle` renamed to `name` in its text. Raises DocumentError if that is impossible or changes the meaning."""
    old = handle.name if isinstance(handle, Var) else handle
    if name == old:
        return notebook
    _require_name(notebook, handle, name)
    maker = _maker(notebook, handle)
    if maker is None:
        spans = _in_program(notebook, handle, old, name)
        made = read_edited(notebook.document, spans + _in_schedule(notebook, handle, old, name))
    elif isinstance(handle, Var):
        made = _made_loop(notebook, handle, maker, name)
    else:
        variable = variable_of(notebook.names, handle)
        if variable is None or not variable.isidentifier():
            raise _refused(
                f"the name {old} is derived from its buffer and its memory", "a variable of the notebook for it"
            )
        made = read_edited(notebook.document, _variable_spans(notebook.document, variable, name))
    return _checked(notebook, evaluate(made, notebook), made.text)


def editable_name(notebook: Notebook, handle: Handle) -> str:
    """The name that `renamed` changes: that of the loop or block, or the variable of a block that a call created."""
    if isinstance(handle, Var):
        return handle.name
    variable = variable_of(notebook.names, handle)
    return (
        variable
        if variable is not None and _maker(notebook, handle) is not None and variable.isidentifier()
        else handle
    )


def read_edited(document: Document, spans: list[Replacement]) -> Document:
    """The document with `spans` applied."""
    lines = lines_of(document.text)
    for span in sorted(set(spans), reverse=True):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[: span.start] + span.new + line[span.end :]
    return read_document("".join(lines), document.path)


def _require_name(notebook: Notebook, handle: Handle, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or keyword.iskeyword(name):
        raise DocumentError(
            Refusal("bad-name", f"{name!r} is not a valid name", expected="letters, digits and _, no digit first")
        )
    if name in RESERVED or name == notebook.schedule_name:
        raise DocumentError(Refusal("name-taken", f"{name!r} is reserved in a notebook"))
    schedule = notebook.schedule
    if schedule is None:
        raise DocumentError(Refusal("no-workload", "there is no program"))
    for other in loops_and_blocks(schedule.func.body):
        current = other.loop_var.name if isinstance(other, For) else other.block.name
        if current == name:
            what = "loop" if isinstance(other, For) else "block"
            raise DocumentError(Refusal("name-taken", f"a {what} {name!r} already exists", expected="another name"))
    if name in notebook.names:
        raise DocumentError(
            Refusal("name-taken", f"the notebook already has a variable {name!r}", expected="another name")
        )


def _maker(notebook: Notebook, handle: Handle) -> tuple[NotebookStep | None, ScheduleCall, int] | None:
    """The call that created a loop or block: notebook step, trace step, result position. None for a loop or block of the program."""
    assert notebook.schedule is not None
    if _is_in(notebook.states[0].schedule.func, handle):
        return None
    for number, step in enumerate(notebook.schedule.trace.steps):
        for place, result in enumerate(step.results):
            if step.changes and (result is handle or (isinstance(handle, str) and result == handle)):
                before = [s for s in notebook.steps if s.first_trace_step is not None and s.first_trace_step <= number]
                return (before[-1] if before else None), step, place
    return None, ScheduleCall("", (), ()), 0


def _is_in(func: PrimFunc, handle: Handle) -> bool:
    for stmt in loops_and_blocks(func.body):
        if isinstance(stmt, For) and stmt.loop_var is handle:
            return True
        if isinstance(stmt, BlockRealize) and isinstance(handle, str) and stmt.block.name == handle:
            return True
    return False


# Edits of the program's text.


def _in_program(notebook: Notebook, handle: Handle, old: str, new: str) -> list[Replacement]:
    cell = workload_cell(notebook.document)
    assert cell is not None
    func = notebook.states[0].schedule.func
    tree = _parsed(cell.body, cell.body_line)
    lines = lines_of(notebook.document.text)
    scopes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == func.name]
    scope: ast.AST = scopes[0] if scopes else tree
    if isinstance(handle, str):
        spans = [_span(lines, node, f'"{new}"') for node in _block_names(scope, old)]
        if len(spans) != 1:
            raise _refused(
                f"the program does not contain the name {old!r} exactly once", 'a block written as T.sblock("name")'
            )
        return spans
    loops = [s for s in loops_and_blocks(func.body) if isinstance(s, For) and s.loop_var.name == old]
    number = next(n for n, loop in enumerate(loops) if loop.loop_var is handle)
    found = [(node, target) for node in _fors(scope) for target in _targets(node) if target.id == old]
    if len(found) != len(loops):
        raise _refused(
            f"the program does not contain the name {old!r} in a loop header", "a loop written as `for name in …`"
        )
    taken = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)} | {
        n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)
    }
    if new in taken:
        raise DocumentError(
            Refusal("name-taken", f"the program already uses the name {new!r}", expected="another name")
        )
    node, target = found[number]
    return [_span(lines, name, new) for name in (target, *_uses(node.body, old))]


def _fors(scope: ast.AST) -> list[ast.For]:
    found = [n for n in ast.walk(scope) if isinstance(n, ast.For)]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _targets(node: ast.For) -> list[ast.Name]:
    items = node.target.elts if isinstance(node.target, ast.Tuple | ast.List) else [node.target]
    return [item for item in items if isinstance(item, ast.Name)]


def _uses(nodes: list[ast.stmt], name: str) -> Iterator[ast.Name]:
    """The uses of `name` in `nodes`, except in the bodies of loops that rebind it."""
    waiting: list[ast.AST] = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id == name:
            yield node
        if isinstance(node, ast.For) and any(t.id == name for t in _targets(node)):
            waiting.append(node.iter)
            continue
        waiting.extend(ast.iter_child_nodes(node))


def _block_names(scope: ast.AST, name: str) -> list[ast.Constant]:
    return [
        node.args[0]
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("block", "sblock")
        and node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == name
    ]  # fmt: skip


# Edits of the schedule's text.


def _in_schedule(notebook: Notebook, handle: Handle, old: str, new: str) -> list[Replacement]:
    """The spans of the handle's variable, if its name is `old`, and of a block's name in quotes."""
    spans: list[Replacement] = []
    if variable_of(notebook.names, handle) == old:
        spans += _variable_spans(notebook.document, old, new)
    if isinstance(handle, str):
        lines = lines_of(notebook.document.text)
        for tree in _schedule_trees(notebook.document):
            texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value == old)
            spans += [_span(lines, node, f'"{new}"') for node in texts]
    return spans


def _variable_spans(document: Document, old: str, new: str) -> list[Replacement]:
    lines = lines_of(document.text)
    trees = _schedule_trees(document)
    return [_span(lines, n, new) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == old]


def _made_loop(
    notebook: Notebook, loop: Var, maker: tuple[NotebookStep | None, ScheduleCall, int], new: str
) -> Document:
    step, traced, place = maker
    document = notebook.document
    call = None if step is None else _call_at(document, step)
    spans = [] if call is None else _naming(lines_of(document.text), call, traced, place, new)
    if spans:
        return read_edited(document, spans + _in_schedule(notebook, loop, loop.name, new))
    made = line_for(
        notebook.names, ScheduleCall("split", (("loop", loop), ("factors", [None]), ("names", [new]))), [Var(new)],
        schedule=notebook.schedule, receiver=notebook.schedule_name,
    )  # fmt: skip
    return append_call(document, made)


def _naming(lines: list[str], call: ast.Call, traced: ScheduleCall, place: int, new: str) -> list[Replacement]:
    """The span of the loop's name in the call; if the call has no names, an insertion of all names. Empty for other calls."""
    if traced.method not in (*NAMED, "fuse"):
        return []
    key = "name" if traced.method == "fuse" else "names"
    given = next((k.value for k in call.keywords if k.arg == key), None)
    if key == "names" and isinstance(given, ast.List | ast.Tuple):
        given = given.elts[place]
    if given is not None:
        return [_span(lines, given, f'"{new}"')] if isinstance(given, ast.Constant) else []
    names = [r.name if isinstance(r, Var) else str(r) for r in traced.results]
    names[place] = new
    text = f'"{new}"' if key == "name" else "[{}]".format(", ".join(f'"{n}"' for n in names))
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    end = _characters(lines[call.end_lineno - 1], call.end_col_offset) - 1
    return [Replacement(call.end_lineno, end, end, f", {key}={text}")]


def _call_at(document: Document, step: NotebookStep) -> ast.Call | None:
    for tree in _schedule_trees(document):
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.stmt)
                and node.lineno == step.place.line
                and node.col_offset == step.place.column - 1
            ):
                calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
                return next(
                    (c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == step.call.method), None
                )
    return None


def _schedule_trees(document: Document) -> list[ast.AST]:
    return [_parsed(cell.body, cell.body_line) for cell in document.of_kind("schedule")]


def _parsed(body: str, first_line: int) -> ast.AST:
    try:
        return python_tree("\n" * (first_line - 1) + body.lstrip("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refused("the text cannot be read as Python", str(error)) from error


def _span(lines: list[str], node: ast.expr, new: str) -> Replacement:
    assert node.end_col_offset is not None
    line = lines[node.lineno - 1]
    return Replacement(node.lineno, _characters(line, node.col_offset), _characters(line, node.end_col_offset), new)


def _characters(line: str, offset: int) -> int:
    """The character column of a byte column, which `ast` uses."""
    return len(line.encode("utf-8")[:offset].decode("utf-8"))


def _checked(before: Notebook, after: Notebook, text: str) -> Notebook:
    """`after`, after a check that every line still applies and the loop nest is the same."""
    failed = next((step for step in after.steps if step.status == "failed"), None)
    error = after.error or (failed.error if failed is not None else None)
    if error is not None:
        raise _refused(
            f"the renamed notebook would be invalid: {error.refusal.message}", "a name that does not change other names"
        )
    assert before.schedule is not None
    assert after.schedule is not None
    kinds = [
        [type(s) for s in loops_and_blocks(n.schedule.func.body)] for n in (before, after) if n.schedule is not None
    ]
    if kinds[0] != kinds[1] or after.document.text != text:
        raise _refused("the renamed notebook would have a different program", "")
    return after


def _refused(message: str, expected: str) -> DocumentError:
    return DocumentError(Refusal("cannot-rename", message, expected=expected))
