"""Generic traversal and rewriting of IR nodes. Unchanged nodes stay the same objects.

A node's children are its fields, except the variables it defines (`For.loop_var`, `IterVar.var`, `Let.var`): those change only by `rename`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from inspect import get_annotations
from operator import attrgetter
from typing import Any, Literal, TypeVar, cast, get_args

from msgspec.structs import replace as replace_fields

from ..cancellation import checkpoint
from .buffer import Buffer, BufferData, BufferLoad
from .expr import Call, Expr, FloatImm, IntImm, IterVar, Let, Node, Var, Verbatim
from .func import PrimFunc
from .stmt import Allocate, Block, BlockRealize, Evaluate, For, LaunchThread, LetStmt, Opaque, Stmt, While

N = TypeVar("N", bound=Node)
T = TypeVar("T")

BINDING = IterVar | Let | LetStmt | LaunchThread
"""Nodes that define the variable `var`."""

_BINDING = frozenset(get_args(BINDING))

# Fields that hold definitions, not uses.
_DEFINES: dict[type[Node], frozenset[str]] = {
    For: frozenset({"loop_var"}),
    IterVar: frozenset({"var"}),
    Let: frozenset({"var"}),
    LetStmt: frozenset({"var"}),
    LaunchThread: frozenset({"var"}),
    PrimFunc: frozenset({"params"}),
}


_PLAIN = (
    "str",
    "int",
    "float",
    "bool",
    "str | None",
    "tuple[int, ...]",
    "tuple[str, ...]",
    "ForKind",
    "IterType",
    "tuple[Contents, ...]",
)
"""Types of fields without nodes, as written in the classes."""


_STMTS = ("Stmt", "Stmt | None", "For", "IfThenElse", "tuple[Stmt, ...]", "Block", "tuple[PrimFunc, ...]")
"""Types of fields that hold statements."""


_Mapper = Callable[[Node, Callable[[Node], Node]], Node]
Shape = Literal["node", "maybe", "nodes", "nested"]
"""Shape of a field: one node, one or None, a tuple of nodes, or nested tuples with other values."""


@cache
def _child_fields(kind: type[Node]) -> tuple[tuple[str, Shape], ...]:
    types = _field_types(kind)
    defines = _DEFINES.get(kind, ())
    names = [name for name in kind.__struct_fields__ if types[name] not in _PLAIN and name not in defines]
    if "init" in names:  # a block's init runs and is printed before its body
        names.remove("init")
        names.insert(names.index("body"), "init")
    return tuple((name, _shape(types[name])) for name in names)


def _shape(text: str) -> Shape:
    if text.endswith("| None"):
        return "maybe"
    if text.startswith("tuple[tuple") or text == "Annotations":
        return "nested"
    return "nodes" if text.startswith("tuple[") else "node"


def _stmt_fields(kind: type[Node]) -> tuple[tuple[str, Shape], ...]:
    types = _field_types(kind)
    return tuple(field for field in _child_fields(kind) if types[field[0]] in _STMTS)


def _field_types(kind: type[Node]) -> dict[str, str]:
    return {name: text for base in reversed(kind.__mro__) for name, text in get_annotations(base).items()}


class _PerKind(dict[type[Node], T]):
    """A table by class, filled on first use: quicker than `cache` in the hottest loops."""

    def __init__(self, make: Callable[[type[Node]], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, kind: type[Node]) -> T:
        made = self[kind] = self._make(kind)
        return made


def _getter(kind: type[Node]) -> Callable[[Node], list[Node]]:
    """Return the function that lists the children of a class's nodes; most classes have a fixed number of single nodes."""
    fields = _child_fields(kind)
    singles = [name for name, shape in fields if shape == "node"]
    if not fields:
        return lambda node: []
    below = cast("Callable[[Node], Any]", attrgetter(*(name for name, _ in fields)))
    match [shape for _, shape in fields]:
        case ["node"]:
            return lambda node: [below(node)]
        case ["nodes"]:
            return lambda node: list(below(node))
        case ["node", "nodes"]:
            return lambda node: [(both := below(node))[0], *both[1]]
        case shapes if len(singles) == len(shapes):
            return lambda node: list(below(node))
        case _:
            return lambda node: _gathered(node, fields)


def _gathered(node: Node, fields: Sequence[tuple[str, Shape]]) -> list[Node]:
    found: list[Node] = []
    for name, shape in fields:
        value = getattr(node, name)
        if shape == "node":
            found.append(value)
        elif shape == "nodes":
            found.extend(value)
        elif shape == "nested":
            _gather(value, found)
        elif value is not None:
            found.append(value)
    return found


def _gather(items: tuple[object, ...], found: list[Node]) -> None:
    for item in items:
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, tuple):
            _gather(cast("tuple[object, ...]", item), found)


def children(node: Node) -> list[Node]:
    """Return the direct children in field order, which is program order. Buffers count as leaves at each use."""
    return _GETTERS[node.__class__](node)


_GETTERS = _PerKind(_getter)
_STMT_FIELDS = _PerKind(_stmt_fields)


LEAVES = frozenset((Var, IntImm, FloatImm, Buffer))
"""Classes of nodes that a walk does not descend into."""


def walk(root: Node) -> Iterator[Node]:
    """Yield every node below and including `root`, parents first. Buffers are not descended into."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        kind = node.__class__
        if kind not in LEAVES:
            below = _GETTERS[kind](node)
            below.reverse()
            stack += below


def child_stmts(node: Node) -> list[Node]:
    """Return the statements directly below a statement or function; the functions of a module."""
    return _STMT_GETTERS[node.__class__](node)


def _stmt_getter(kind: type[Node]) -> Callable[[Node], list[Node]]:
    """Return the function that lists the child statements of a class's nodes; most classes have one field of them."""
    fields = _STMT_FIELDS[kind]
    if len(fields) != 1:
        return lambda node: _gathered(node, fields)
    name, shape = fields[0]
    below = cast("Callable[[Node], Any]", attrgetter(name))
    return (lambda node: list(below(node))) if shape == "nodes" else (lambda node: [below(node)])


_STMT_GETTERS = _PerKind(_stmt_getter)


def walk_stmts(root: Node) -> Iterator[Stmt]:
    """Yield the statements of `walk`, without descending into expressions."""
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Stmt):
            yield node
        stack.extend(reversed(child_stmts(node)))


def map_children(node: N, fn: Callable[[Node], Node]) -> N:
    """Return `node` with `fn` applied to each child; the same object when no child changed."""
    return cast("N", _MAPPERS[node.__class__](node, fn))


def _mapper(kind: type[Node]) -> _Mapper:
    """Return the function that maps the children of a class's nodes; most classes are leaves or have two fields."""
    fields = _child_fields(kind)
    if not fields:
        return lambda node, fn: node
    make, names = cast("Callable[..., Node]", kind), tuple(name for name, _ in fields)
    if names != kind.__struct_fields__ or len(names) != 2:
        return _fields_mapper(fields)
    below = cast("Callable[[Node], Any]", attrgetter(*names))

    def pair(node: Node, fn: Callable[[Node], Node]) -> Node:
        first, second = below(node)
        new_first, new_second = fn(first), fn(second)
        return node if new_first is first and new_second is second else make(new_first, new_second)

    def one_and_several(node: Node, fn: Callable[[Node], Node]) -> Node:
        first, others = below(node)
        new_first, new_others = fn(first), _each(others, fn)
        return node if new_first is first and new_others is others else make(new_first, new_others)

    match [shape for _, shape in fields]:
        case ["node", "node"]:
            return pair
        case ["node", "nodes"]:
            return one_and_several
        case _:
            return _fields_mapper(fields)


def _fields_mapper(fields: Sequence[tuple[str, Shape]]) -> _Mapper:
    """Return the function that maps these fields of a node."""
    maps = [(name, _MAP_OF_SHAPE[shape]) for name, shape in fields]

    def mapped(node: Node, fn: Callable[[Node], Node]) -> Node:
        changed: dict[str, object] = {}
        for name, apply in maps:
            old = getattr(node, name)
            if not old:  # None, or an empty tuple
                continue
            new = fn(old) if apply is None else apply(old, fn)
            if new is not old:
                changed[name] = new
        return replace_fields(node, **changed) if changed else node

    return mapped


def _each(items: tuple[Node, ...], fn: Callable[[Node], Node]) -> tuple[Node, ...]:
    if not items:
        return items
    new = tuple(map(fn, items))
    # `==` compares by identity, because nodes have no other equality.
    return items if new == items else new


def _mapped(items: tuple[object, ...], fn: Callable[[Node], Node]) -> tuple[object, ...]:
    if not items:
        return items
    result: list[object] = []
    same = True
    for item in items:
        new = (
            fn(item)
            if isinstance(item, Node)
            else _mapped(cast("tuple[object, ...]", item), fn)
            if isinstance(item, tuple)
            else item
        )
        same = same and new is item
        result.append(new)
    return items if same else tuple(result)


_MAP_OF_SHAPE: Mapping[Shape, Callable[..., Any] | None] = {
    "node": None,
    "maybe": None,
    "nodes": _each,
    "nested": _mapped,
}
_MAPPERS = _PerKind(_mapper)
_STMT_MAPPERS = _PerKind(lambda kind: _fields_mapper(_STMT_FIELDS[kind]))


def rewrite(
    root: N,
    leave: Callable[[Node], Node],
    *,
    enter: Callable[[Node], Node | None] | None = None,
    kinds: Container[type[Node]] | None = None,
    known: Mapping[Node, Node] | None = None,
) -> N:
    """Rebuild bottom-up: `leave` receives each node after its children, with `kinds` only nodes of these classes. `enter` may return a
    replacement, which is not descended into, and `known` has such replacements.

    Memoised by identity: a shared expression or buffer is rewritten once and stays shared.
    """
    checkpoint()
    memo: dict[Node, Node] = {} if known is None else {**known}

    def visit(node: Node) -> Node:
        done = memo.get(node)
        if done is None:
            done = enter(node) if enter is not None else None
            if done is None:
                done = _MAPPERS[node.__class__](node, visit)
                if kinds is None or node.__class__ in kinds:
                    done = leave(done)
            memo[node] = done
        return done

    return cast("N", visit(root))


def substitute(root: N, values: Mapping[Var, Expr], *, still: Iterable[Node] = ()) -> N:
    """Replace each use of a variable by its value, including uses in buffer shapes. Definitions stay.

    `still` are nodes that are known not to use the variables; they are not visited.
    """
    if not values:
        return root
    memo: dict[Node, Node] = {node: node for node in still}
    new = cast("Mapping[Node, Node]", values)

    def visit(node: Node) -> Node:
        kind = node.__class__
        if kind is Var:
            return new.get(node, node)
        if kind is IntImm:
            return node
        done = memo.get(node)
        if done is None:
            done = memo[node] = _MAPPERS[kind](node, visit)
        return done

    return cast("N", visit(root))


def replace_nodes(root: N, new: Mapping[Node, Node], *, within: Container[Node] | None = None) -> N:
    """Replace each node that is a key (without descending into it). If all keys are statements, expressions are not visited.

    `within` are the ancestors of the keys, if known: nothing else is visited.
    """
    if not new:
        return root
    if within is None and not all(isinstance(old, Stmt) for old in new):
        return _replaced_everywhere(root, new)

    def visit(node: Node) -> Node:
        found = new.get(node)
        if found is not None:
            return found
        return map_stmts(node, visit) if within is None or node in within else node

    return cast("N", visit(root))


def _replaced_everywhere(root: N, new: Mapping[Node, Node]) -> N:
    checkpoint()
    memo = dict(new)

    def visit(node: Node) -> Node:
        done = memo.get(node)
        if done is None:
            done = memo[node] = _MAPPERS[node.__class__](node, visit)
        return done

    return cast("N", visit(root))


def map_stmts(node: Node, fn: Callable[[Node], Node]) -> Node:
    """Return `node` with `fn` applied to the statements directly below; the same object when none changed."""
    return _STMT_MAPPERS[node.__class__](node, fn)


def replace_buffers(root: N, new: Mapping[Buffer, Buffer]) -> N:
    """Replace each use and each allocation of a buffer. Indices stay."""
    return replace_nodes(root, {**new})


def rename(root: N, new: Mapping[Var, Var]) -> N:
    """Rename variables at their definitions and uses."""

    def leave(node: Node) -> Node:
        if isinstance(node, Var):
            return new.get(node, node)
        if isinstance(node, For) and node.loop_var in new:
            return replace_fields(node, loop_var=new[node.loop_var])
        if isinstance(node, BINDING) and node.var in new:
            return replace_fields(node, var=new[node.var])
        if isinstance(node, PrimFunc) and any(p in new for p in node.params):
            return replace_fields(node, params=tuple(new.get(p, p) for p in node.params))
        return node

    return rewrite(root, leave, kinds={Var, *_DEFINES})


def free_vars(root: Node) -> set[Var]:
    """Return the variables used in `root` and not defined in it."""
    if root.__class__ is Var:
        return {cast("Var", root)}
    used: set[Node] = set()
    defined: set[Node] = set()
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is Var:
            used.add(node)
        elif kind is IntImm or kind is Buffer:
            continue
        else:
            if type(node) is For:
                defined.add(node.loop_var)
            elif kind in _BINDING:
                defined.add(cast("IterVar", node).var)
            stack += _GETTERS[kind](node)
    return cast("set[Var]", used - defined)


def unbound_vars(func: PrimFunc) -> list[Var]:
    """Return the variables without a value, by name: no parameter, and in no shape, stride or offset of a matched buffer."""
    known: set[Node] = {*func.params}
    matched = [m.buffer for s in walk_stmts(func.body) if isinstance(s, Block) for m in s.match_buffers]
    for buffer in (*func.buffers, *matched):
        offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
        known.update(n for part in (*buffer.shape, *buffer.strides, *offset) for n in walk(part) if isinstance(n, Var))
    return sorted(free_vars(func.body) - known, key=lambda var: var.name)


def uses_var(root: Node, var: Var) -> bool:
    if root.__class__ is Var or root.__class__ is IntImm:
        return root is var
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node is var:
            return True
        kind = node.__class__
        if kind not in LEAVES:
            stack += _GETTERS[kind](node)
    return False


def loops_and_blocks(root: Node) -> Iterator[For | BlockRealize]:
    """Yield the loops and block realizes below `root`, in text order."""
    for node in walk_stmts(root):
        if isinstance(node, For | BlockRealize):
            checkpoint()
            yield node


def allocated_buffers(root: Node) -> list[Buffer]:
    """Return every buffer that a block or an Allocate in `root` owns, in text order."""
    return [buffer for stmt in walk_stmts(root) for buffer in _owned(stmt)]


def loops_around_allocations(root: Node) -> dict[Buffer, tuple[For, ...]]:
    """Map each buffer that a block or an Allocate in `root` owns to the loops around it, outermost first."""
    found: dict[Buffer, tuple[For, ...]] = {}

    def visit(node: Node, around: tuple[For, ...]) -> None:
        if isinstance(node, For):
            around = (*around, node)
        found.update((buffer, around) for buffer in _owned(node))
        for child in child_stmts(node):
            visit(child, around)

    visit(root, ())
    return found


def _owned(node: Node) -> tuple[Buffer, ...]:
    return node.alloc_buffers if isinstance(node, Block) else node.buffers if isinstance(node, Allocate) else ()


def opaque_part(root: Node) -> Stmt | None:
    """Return the first statement of `root` that is only read and printed; None if there is none."""
    for stmt in walk_stmts(root):
        if isinstance(stmt, Opaque) or (isinstance(stmt, Evaluate) and _is_unknown(stmt.value)):
            return stmt
    return None


def while_loop(root: Node) -> While | None:
    """Return the first `while` of `root`, or None."""
    return next((stmt for stmt in walk_stmts(root) if isinstance(stmt, While)), None)


def _is_unknown(value: Expr) -> bool:
    """Whether the value is an unknown function of TVM, or another function of the module: `T.name(…)`, `Module.name(…)`."""
    if isinstance(value, Call):
        return value.op.startswith(("T.", "Module.")) and value.op.count(".") == 1
    return isinstance(value, Verbatim)


_ADDRESSING = frozenset((BufferData, Call))


def addressed_buffers(root: Node) -> set[Buffer]:
    """Return the buffers with their address exposed in `root` (`A.data`, `T.address_of(A[i])`): any of their elements may be accessed
    through it."""
    found: set[Buffer] = set()
    for node in walk(root):
        if node.__class__ not in _ADDRESSING:
            continue
        match node:
            case BufferData(buffer=buffer) | Call(op="address_of", args=(BufferLoad(buffer=buffer), *_)):
                found.add(buffer)
            case _:
                pass
    return found
