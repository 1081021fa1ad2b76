"""Names that a statement of Python may bind, from its form: what code that is not evaluated can change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

EVERY_NAME = "*"
"""Stands for all names, as in `from config import *`."""
_REFLECTION = frozenset(
    ("exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "__import__", "__builtins__")
)
"""Builtins that can bind any name."""
_QUIET = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass, ast.Expr, ast.If, ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef,
    ast.arguments, ast.arg, ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List,
    ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Lambda, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def bound_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a statement may bind or delete in its own scope."""
    return frozenset(name for part in _of_scope(node) for name in _bound_by(part))


def global_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that functions and classes declare global or nonlocal; EVERY_NAME if the text can bind names by reflection."""
    found: set[str] = set()
    own: set[ast.AST] = set()  # the table of modules, where a text only asks for itself
    for node in nodes:
        match node:
            case ast.Subscript(
                value=ast.Attribute(attr="modules") as table, slice=ast.Name("__name__"), ctx=ast.Load()
            ):
                own.add(table)
            case _:
                pass
        if node in own:
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif (isinstance(node, ast.Name) and node.id in _REFLECTION) or (
            isinstance(node, ast.Attribute) and node.attr in ("modules", "__dict__")
        ):
            found.add(EVERY_NAME)
    return frozenset(found)


def suppresses(context: ast.expr) -> bool:
    """Whether the context of a `with` statement is one that ends its body at an exception, and goes on after it."""
    name = ast.unparse(context).partition("(")[0].rpartition(".")[2]
    return name in ("suppress", "raises", "assertRaises")


def is_certain(node: ast.stmt) -> bool:
    """Whether a statement of the form `name = value`, a definition or an import binds its names for certain."""
    match node:
        case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.Import() | ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.ImportFrom(names=names):
            return all(alias.name != "*" for alias in names)
        case _:
            return False


def is_quiet(node: ast.stmt) -> bool:
    """Whether a statement runs no function, method or operator of an object, so that it binds only its own names."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return not decorators and all(isinstance(part, _QUIET) for part in _of_scope(node))


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a statement, also those in its functions."""
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))


def changed_roots(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names whose items or attributes a statement sets or deletes, or which it updates in place."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript | ast.Attribute) and not isinstance(part.ctx, ast.Load):
            root = root_name(part)
            if root is not None:
                yield root
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target


def root_name(node: ast.expr) -> ast.Name | None:
    """Return the name in front of an expression: `s` of `s[C].split`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def free_names(node: ast.AST) -> set[str]:
    """Return the names that a node uses and that no function in it defines."""
    found: set[str] = set()
    pending: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    while pending:
        part, bound = pending.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in bound:
            found.add(part.id)
        if isinstance(part, ast.Lambda | ast.FunctionDef):
            taken = bound | {a.arg for a in ast.walk(part.args) if isinstance(a, ast.arg)}
            inside = {n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            inside |= {n.name for n in ast.walk(part) if isinstance(n, ast.FunctionDef)}
            pending += [(outside, bound) for outside in around_body(part)]
            pending += [(hint, taken) for hint in _annotations(part)]
            body = part.body if isinstance(part, ast.FunctionDef) else [part.body]
            pending += [(inner, taken | inside) for inner in body]
        else:
            pending += [(child, bound) for child in ast.iter_child_nodes(part)]
    return found


def around_body(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.expr]:
    """Yield the parts of a function that are evaluated where it is defined: decorators and defaults."""
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)
    yield from node.decorator_list if isinstance(node, ast.FunctionDef) else ()


def _annotations(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.expr]:
    """Yield the types of a function, which in programs may use its parameters."""
    yield from (a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation is not None)
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns


def leaves(node: ast.stmt) -> bool:
    """Whether a statement may leave the function or loop around it."""
    pending: list[tuple[ast.AST, bool]] = [(node, False)]
    while pending:
        part, looped = pending.pop()
        if isinstance(part, ast.Return | ast.Yield | ast.YieldFrom) or (
            isinstance(part, ast.Break | ast.Continue) and not looped
        ):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            inside = looped or isinstance(part, ast.For | ast.While | ast.AsyncFor)
            pending += [(child, inside) for child in ast.iter_child_nodes(part)]
    return False


def _bound_by(part: ast.AST) -> Iterator[str]:
    match part:
        case ast.Name(id=name) if not isinstance(part.ctx, ast.Load):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.alias():
            yield part.asname or part.name.partition(".")[0]
        case _:
            pass


def _of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that belong to its own scope: not the bodies of functions, nor the targets of comprehensions."""
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        match part:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pending += [*part.decorator_list, part.args, *([part.returns] if part.returns is not None else [])]
            case ast.Lambda():
                pending.append(part.args)
            case ast.ClassDef():
                pending += [*part.decorator_list, *part.bases, *part.keywords]
            case ast.comprehension():
                pending += [part.iter, *part.ifs]
            case _:
                pending += ast.iter_child_nodes(part)


__all__ = [
    "EVERY_NAME",
    "around_body",
    "bound_names",
    "calls_in",
    "changed_roots",
    "free_names",
    "global_names",
    "is_certain",
    "is_quiet",
    "leaves",
    "root_name",
    "suppresses",
]
