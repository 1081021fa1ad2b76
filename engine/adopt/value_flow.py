"""The top-level statements of a text, and which of them decide the value of a name: those that bind it, and those that change what it is
worth, under its own name, under another one, or in a function."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Set

import msgspec
from propcache.api import cached_property

from ..script.language import is_script
from ..script.subset.bindings import (
    EVERY_NAME,
    around_body,
    bound_names,
    calls_in,
    changed_roots,
    free_names,
    global_names,
    is_certain,
    is_quiet,
    root_name,
)

_PURE = frozenset(
    ("int", "float", "str", "bool", "len", "abs", "round", "sum", "range", "repr", "ord", "chr", "print", "isinstance")
)
"""Builtins that change nothing they get, and whose result is no object that can change."""
_DEFERRED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)


class Unit(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A top-level statement with its first and last line in the text, the names that it defines, and those that it uses."""

    node: ast.stmt
    first: int
    last: int

    @cached_property
    def is_script(self) -> bool:
        """Whether the statement is a TVMScript program."""
        return is_script(self.node)

    @cached_property
    def is_definition(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.ClassDef)

    @cached_property
    def makes_script(self) -> bool:
        """Whether the statement is a function or class that makes TVMScript programs."""
        return self.is_definition and any(map(is_script, ast.walk(self.node)))

    @property
    def computes(self) -> bool:
        """Whether the statement computes a program, and is no function or class."""
        return not self.is_definition and self.calls("compute", "create_prim_func", "extern")

    @cached_property
    def defines(self) -> frozenset[str]:
        if isinstance(self.node, ast.FunctionDef | ast.ClassDef):
            return frozenset((self.node.name,))
        return bound_names(self.node)

    @cached_property
    def uses(self) -> frozenset[str]:
        found = free_names(self.node)
        return frozenset(found if self.is_definition else found | {root.id for root in changed_roots(self.node)})

    @cached_property
    def used_later(self) -> frozenset[str]:
        """The names that the statement's functions use whenever they are called."""
        parts = [part for part in ast.walk(self.node) if isinstance(part, _DEFERRED)] if not self.is_script else []
        return frozenset(name for part in parts for name in free_names(part)) & self.uses

    def calls(self, *methods: str) -> bool:
        """Whether the statement calls a function or method of one of these names."""
        return any(
            (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in methods
            for call in calls_in(self.node)
        )


class ValueFlow:
    """The statements of a text in order. Names of `libraries` are imports of TVM, whose functions change no object of the text."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.at: dict[str, list[int]] = {}  # the units that may define a name
        self._users: dict[str, list[int]] = {}  # the units that use a name
        self._libraries: set[str] = set()
        self._hidden: Set[str] = frozenset()  # names that functions may define
        self._busy: list[int] = []  # the units that may call these functions
        self._objects: set[str] = set()
        self._is_known = False
        self._groups: dict[str, str] = {}
        self._changing: dict[str, list[int]] = {}  # the units that may change an object of a group

    def add(self, unit: Unit) -> None:
        for name in unit.defines:
            self.at.setdefault(name, []).append(len(self.units))
        for name in unit.uses:
            self._users.setdefault(name, []).append(len(self.units))
        hidden = global_names(ast.walk(unit.node))
        if not is_quiet(unit.node) or hidden:
            self._busy.append(len(self.units))
        self._hidden |= hidden
        if isinstance(unit.node, ast.Import | ast.ImportFrom):
            module = unit.node.module or "" if isinstance(unit.node, ast.ImportFrom) else unit.node.names[0].name
            if module.partition(".")[0] in ("tvm", "tilelang"):
                self._libraries |= unit.defines
        self.units.append(unit)
        self._is_known = False

    def definition(self, name: str, number: int) -> int | None:
        """The last statement before `number` that may define the name."""
        return max(self._before(name, number, frozenset()), default=None)

    def is_library(self, name: str) -> bool:
        """Whether a name is TVM or a part of it."""
        return name in self._libraries

    def callers(self, names: Set[str]) -> set[str]:
        """Return the functions and classes of the text that use these names, also through others of them."""
        return self._spread(names, lambda unit: unit.is_definition and not unit.is_script) - names

    def _spread(self, names: Iterable[str], takes: Callable[[Unit], bool]) -> set[str]:
        """Return names and what the units define that use one of them and are taken, and so on."""
        found = {*names}
        pending = [*found]
        while pending:
            for unit in (self.units[n] for n in self._users.get(pending.pop(), ())):
                new = unit.defines - found
                if new and takes(unit):
                    found |= new
                    pending += new
        return found

    def beside(self, number: int) -> Iterator[int]:
        """The other statements on the lines of a statement."""
        first, last = self.units[number].first, self.units[number].last
        for step, end in ((-1, -1), (1, len(self.units))):
            for n in range(number + step, end, step):
                if self.units[n].last < first or self.units[n].first > last:
                    break
                yield n

    def deciding(self, number: int, end: int, others: Set[int], searched: dict[str, int]) -> dict[int, Set[str]]:
        """The statements that may decide the values of the names that a statement uses, up to the statement `end` that is the last to use
        them, with these names. `others` do not count. `searched` has the groups of objects whose changes are known, from which statement
        on."""
        self._find_changes()
        unit, found = self.units[number], dict[int, Set[str]]()
        for name in unit.uses:
            numbers = self._before(name, number, others)
            first = min(numbers, default=number)
            if name in unit.used_later:
                numbers |= {n for n in self.at.get(name, ()) if number < n < end and n not in others}
            group = self._group(name) if name in self._groups else ""
            if group and first < searched.get(group, end):
                changing = self._changing.get(group, [])
                last, searched[group] = searched.get(group, end - 1), first
                numbers.update(changing[bisect_right(changing, first) : bisect_right(changing, last)])
                numbers -= others
            for n in numbers:
                found[n] = {*found.get(n, ()), name}
        return found

    def _before(self, name: str, number: int, others: Set[int]) -> set[int]:
        """The statements before `number` that may bind a name and are not among `others`: the last one that binds it for certain, and
        those after it."""
        found: set[int] = set()
        is_hidden = not self._hidden.isdisjoint((name, EVERY_NAME))
        possible = (*self.at.get(name, ()), *self.at.get(EVERY_NAME, ()), *(self._busy if is_hidden else ()))
        for n in sorted(possible, reverse=True):
            if n >= number or n in others or (self.units[n].is_script and name not in self.units[n].defines):
                continue
            found.add(n)
            if name in self.units[n].defines and is_certain(self.units[n].node):
                break
        return found

    def _find_changes(self) -> None:
        """Find the names that are worth objects, the groups of names that may share one, and the groups that each statement changes. A
        function is in the group of the objects that it uses."""
        if self._is_known:
            return
        self._is_known = True
        self._objects = set()
        first = [name for unit in self.units if self._makes_object(unit) for name in unit.defines]
        self._objects.update(first)
        self._objects = self._spread(first, self._makes_new_object)
        using = self._objects | self.callers(self._objects)
        now = [self._changed_by(unit) & using for unit in self.units]
        for unit, changed in zip(self.units, now, strict=True):
            made = unit.defines & using
            if (made or changed) and not unit.is_script and not isinstance(unit.node, ast.Import | ast.ImportFrom):
                self._join((*made, *(unit.uses & using)))
        changing = [
            name
            for unit in self.units
            if unit.is_definition and not unit.is_script and self._changed_in(unit.node) & unit.uses & using
            for name in unit.defines
        ]
        effects = {*changing, *self.callers({*changing})}
        for number, (unit, changed) in enumerate(zip(self.units, now, strict=True)):
            if unit.is_script or isinstance(unit.node, ast.Import | ast.ImportFrom):
                continue
            used = unit.uses if not isinstance(unit.node, ast.FunctionDef) else frozenset[str]()
            for group in {self._group(name) for name in changed | (used & effects) if name in self._groups}:
                self._changing.setdefault(group, []).append(number)

    def _makes_new_object(self, unit: Unit) -> bool:
        """Whether a statement makes an object; the names that it defines are objects from now on."""
        if not self._makes_object(unit):
            return False
        self._objects |= unit.defines
        return True

    def _makes_object(self, unit: Unit) -> bool:
        """Whether a statement binds names to something that can change: a list, a dict, an object, a function that keeps a state."""
        match unit.node:
            case ast.Import() | ast.ImportFrom():
                return False
            case ast.ClassDef():
                return not unit.is_script
            case ast.FunctionDef(decorator_list=decorators, args=args):
                kept = any(self._holds(d) for d in (*args.defaults, *args.kw_defaults) if d is not None)
                sets = any(root.id == unit.node.name for root in changed_roots(unit.node))
                return not unit.is_script and (bool(decorators) or kept or sets)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
                return self._holds(value) or any(
                    self._holds(part.value) for part in ast.walk(value) if isinstance(part, ast.NamedExpr)
                )
            case _:
                return bool(unit.defines)

    def _holds(self, value: ast.expr) -> bool:
        """Whether the value of an expression can change, or has parts that can."""
        match value:
            case ast.Constant() | ast.JoinedStr() | ast.Compare():
                return False
            case ast.Name(id=name):
                return name in self._objects or any(self.units[n].is_definition for n in self.at.get(name, ()))
            case ast.Tuple(elts=values) | ast.BoolOp(values=values):
                return any(map(self._holds, values))
            case ast.BinOp(left=left, right=right):
                return self._holds(left) or self._holds(right)
            case ast.UnaryOp(operand=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
                return self._holds(inner)
            case ast.IfExp(body=body, orelse=orelse):
                return self._holds(body) or self._holds(orelse)
            case ast.Attribute() | ast.Subscript():
                root = root_name(value)
                return root is None or root.id in self._objects
            case ast.Call(func=ast.Name("min" | "max"), args=args):
                return any(map(self._holds, args))
            case ast.Call():
                return not self._is_pure(value)
            case _:
                return True

    def _is_pure(self, call: ast.Call) -> bool:
        """Whether a call is one of TVM or of a builtin, which changes no object of the text and returns none."""
        root = root_name(call.func)
        if root is None or root.id in self._libraries:
            return root is not None
        return isinstance(call.func, ast.Name) and root.id in _PURE and root.id not in self.at

    def _changed_by(self, unit: Unit) -> set[str]:
        """The names of objects that the code of a statement may change when it runs, without the functions that it calls."""
        return {name for part in _run_at_once(unit.node) for name in self._changed_in(part)}

    def _changed_in(self, node: ast.AST) -> set[str]:
        """The names whose objects a statement or the code of a function may change: it sets their parts, calls their methods, or calls
        other code with them."""
        found = {root.id for root in changed_roots(node)}
        for call in calls_in(node):
            if self._is_pure(call):
                continue
            called = free_names(call.func)
            found |= called & self._objects if isinstance(call.func, ast.Name) else called
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                found |= free_names(argument)
        return found

    def _join(self, names: Iterable[str]) -> None:
        """Record that names may share an object."""
        groups = [self._group(name) for name in names]
        for group in groups[1:]:
            self._groups[self._group(group)] = self._group(groups[0])

    def _group(self, name: str) -> str:
        """The name that stands for the group of a name."""
        parent = self._groups.setdefault(name, name)
        while parent != self._groups[parent]:
            parent = self._groups[parent]
        self._groups[name] = parent
        return parent


def _run_at_once(node: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that run where it stands: of a function only what is around its body."""
    return [*around_body(node)] if isinstance(node, ast.FunctionDef) else [node]


__all__ = ["Unit", "ValueFlow"]
