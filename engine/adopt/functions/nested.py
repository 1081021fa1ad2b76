"""Programs that functions and methods of a text make: those of TVMScript that they define, and those that they compute or schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from typing import TypeGuard

import msgspec

from ...script.language import SCHEDULE_MAKERS, called_name, is_eager, is_script, other_languages, root_of_decorator
from ...script.subset.bindings import calls_in, free_names, root_name
from ..schedule_counts import schedules_of
from .call_sites import CallSites
from .dependencies import own_parts
from .needs import Definition, Need, needs_of, parameters_of, title_of
from .reaching import leading

_WRAPPING = ("isinstance", "list", "tuple", "IRModule", "from_expr", "deepcopy")
_MODULES = ("tvm", "te", "tir", "tirx", "s_tir")
_COMPUTING = ("compute", "extern", "create_prim_func", "scan")


class NestedProgram(msgspec.Struct, frozen=True, eq=False):
    """A program in functions or methods: the definitions around it from the outermost, and its own. A function or lambda whose result is a
    program is its definition."""

    around: tuple[Definition, ...]
    node: Definition | ast.Lambda
    needs: tuple[Need, ...]

    @property
    def name(self) -> str:
        return ".".join(map(title_of, (*self.around, self.node)))

    @property
    def place(self) -> tuple[int, int]:
        """The line and column of the definition."""
        return self.node.lineno, self.node.col_offset

    @property
    def lines(self) -> tuple[int, int]:
        """The first and last line of the definition, with its decorators."""
        first = min([self.node.lineno, *(d.lineno for d in getattr(self.node, "decorator_list", ()))])
        return first, self.node.end_lineno or first

    @property
    def shown(self) -> str:
        given = ", ".join(need.shown for need in self.needs)
        return f"{self.name} with {given}" if given else self.name

    @property
    def is_script(self) -> bool:
        return is_script(self.node)

    @property
    def schedules(self) -> int:
        """How many schedules a function makes itself, as far as its form tells."""
        return schedules_of(self.node) if isinstance(self.node, ast.FunctionDef) and not self.is_script else 0

    @property
    def is_eager(self) -> bool:
        """Whether the program is an eager kernel of TileLang, whose function has parameters that are no tensors."""
        return is_eager(self.node)

    @property
    def called(self) -> tuple[Definition | ast.Lambda, ...]:
        """The definitions of the functions to call, from the outermost."""
        return self.around if self.is_script or self.is_eager else (*self.around, self.node)


def nested_programs(tree: ast.Module, place: tuple[int, int] | None = None) -> list[NestedProgram]:
    """Return the programs that functions and methods of a text make, in order; with a place, only the one there."""
    foreign = other_languages(ast.walk(tree))
    found = [pair for pair in _nested(tree) if root_of_decorator(pair[1]) not in foreign]
    if place is not None:
        found = [(around, node) for around, node in found if (node.lineno, node.col_offset) == place]
    if not found:
        return []
    sites = CallSites(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    made: list[NestedProgram] = []
    for outer, node in found:
        needs = needs_of(outer, node, sites.values_for, functions)
        made.append(NestedProgram(outer, node, tuple(leading(outer, node, needs))))
    return made


def has_nested(tree: ast.Module) -> bool:
    """Whether functions or methods of a text make programs."""
    return bool(_nested(tree))


def _nested(tree: ast.Module) -> list[tuple[tuple[Definition, ...], Definition | ast.Lambda]]:
    """Return the definitions of programs in functions and classes. The only program of a text is read without the classes around it."""
    found = [*_definitions(tree.body, ())]
    if len(found) == 1 and is_script(found[0][1]) and all(isinstance(outer, ast.ClassDef) for outer in found[0][0]):
        return found if any(map(is_script, tree.body)) else []
    return found


def makes_program(node: ast.stmt) -> bool:
    """Whether a statement is a function or class in which programs are made."""
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and next(_definitions([node], ()), None) is not None


def _definitions(
    body: Sequence[ast.stmt], around: tuple[Definition, ...]
) -> Iterator[tuple[tuple[Definition, ...], Definition | ast.Lambda]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not is_script(node):
                if is_eager(node):
                    yield around, node
                    continue
                if isinstance(node, ast.FunctionDef):
                    if _makes(node):
                        yield around, node
                    yield from (((*around, node), part) for part in own_parts(node, _computes) if _computes(part))
                yield from _definitions(node.body, (*around, node))
            elif around:
                yield around, node
            continue
        for field in ("body", "orelse", "finalbody", "handlers"):
            yield from _definitions(getattr(node, field, ()), around)


def _makes(node: ast.FunctionDef) -> bool:
    """Whether a function computes a program, or makes a schedule of a program of the text that needs values."""
    calls = [part for part in own_parts(node, _computes) if isinstance(part, ast.Call)]
    if any(map(_is_computing, calls)):
        return True
    if any(map(_is_placeholder, calls)) and any(map(_is_operator, calls)) and any(map(_returns, ast.walk(node))):
        return True
    takes = len(parameters_of(node)) > len(node.args.defaults)
    return takes and not all(_schedules(node))


def schedules_given(node: ast.FunctionDef) -> bool:
    """Whether all schedules that a function makes are for programs that it is given."""
    makers = _schedules(node)
    return bool(makers) and all(makers)


def _schedules(node: ast.FunctionDef) -> list[bool]:
    """Return for each schedule that a function makes whether it is for a program that the function is given."""
    given = {argument.arg for argument in parameters_of(node)}
    found: list[bool] = []
    for part in own_parts(node, _computes):
        if isinstance(part, ast.Call) and called_name(part) in SCHEDULE_MAKERS:
            whole = (*part.args, *(k.value for k in part.keywords))[:1]
            found.append(not whole or _is_given(whole[0], given))
        value = part.value if isinstance(part, ast.Assign) else part.iter if isinstance(part, ast.For) else None
        if value is not None and _is_given(value, given):
            given |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


def _is_given(value: ast.expr, given: Set[str]) -> bool:
    """Whether a value is made only of what a function is given: its schedule is for a program that the text does not contain."""
    for call in calls_in(value):
        root = root_name(call.func)
        if called_name(call) not in _WRAPPING and (root is None or root.id not in given):
            return False
    inside = {
        n.id
        for part in ast.walk(value)
        if isinstance(part, ast.comprehension)
        for n in ast.walk(part.target)
        if isinstance(n, ast.Name)
    }
    names = free_names(value) - {*_WRAPPING, *_MODULES} - inside
    return bool(names) and names <= given


def _computes(node: ast.AST) -> TypeGuard[ast.Lambda]:
    """Whether a node is a lambda that computes."""
    return isinstance(node, ast.Lambda) and any(
        isinstance(part, ast.Call) and _is_computing(part) for part in ast.walk(node.body)
    )


def _is_computing(call: ast.Call) -> bool:
    name = called_name(call)
    return name == "create_prim_func" or (name in _COMPUTING and _owner(call) in ("te", "tvm"))


def _returns(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and node.value is not None


def _is_placeholder(call: ast.Call) -> bool:
    return called_name(call) == "placeholder" and _owner(call) in ("te", "tvm")


def _is_operator(call: ast.Call) -> bool:
    """Whether a call is one of an operator of topi."""
    root = root_name(call.func)
    return root is not None and (root.id == "topi" or ast.unparse(call.func).startswith("tvm.topi."))


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value).rpartition(".")[2] if isinstance(call.func, ast.Attribute) else ""


__all__ = ["NestedProgram", "has_nested", "makes_program", "nested_programs", "schedules_given"]
