"""The literals that feed the values of a TileLang kernel: its stages, threads and tiles, and the parts of a sum that several blocks
compute (split K), wherever they stand in the text.

def gemm(M, N, K, block_M=128):             block_M: a parameter without a value in the call
    block_N = 64                            block_N: a variable
    with T.Kernel(…, threads=128):          threads: an argument of an operation
        A_shared = T.alloc_shared((block_M, 32), …)
        for k in T.Pipelined(n, num_stages=stages):
main = gemm(1024, 1024, 1024, stages=3)     stages: an argument of the call
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from ...ir import IRModule, PrimFunc, Refusal
from ...script import find_tree, parse
from ...script.language import called_name, uses_tile_language
from ..functions.needs import defaults_of, parameters_of
from .edits import KernelError, TextEdit, TextSpans, with_edits

Role: TypeAlias = Literal["stages", "threads", "tile", "split"]

STAGES = (0, 1, 2, 3, 4)
THREAD_COUNTS = (64, 128, 256)
TILES = (16, 32, 64, 128, 256)
SPLITS = (1, 2, 4, 8, 16, 32)
SMALL_TILES = (1, 2, 4, 8, 16, 32)
TILED = (
    "alloc_shared",
    "alloc_fragment",
    "alloc_local",
    "alloc_L1",
    "alloc_l1",
    "alloc_ub",
    "alloc_L0A",
    "alloc_L0B",
    "alloc_L0C",
)
TYPED = ("Tensor", "Buffer", "StridedTensor", "empty", "const", "match_buffer")
"""Calls whose values are sizes of the kernel's parameters."""


class KernelValue(msgspec.Struct, frozen=True):
    """A value of a kernel, and values to try, as source text, the present one first. Another value takes the place of the characters from
    `first` to `last`, with the words `before` it."""

    name: str
    role: Role
    first: int
    last: int
    texts: tuple[str, ...]
    before: str = ""

    def edit(self, text: str) -> TextEdit:
        """The edit that gives it this value."""
        return TextEdit(self.first, self.last, self.before + text)


class KernelText(msgspec.Struct, frozen=True):
    """A text that makes a kernel, and the values that a search may choose."""

    text: str
    values: tuple[KernelValue, ...]

    @property
    def choices(self) -> str:
        """The values as lines of a schedule with holes: `num_stages = tilewright.choose("num_stages", [3, 1, 2])`."""
        return "".join(
            f"{v.name.replace(' ', '_')} = tilewright.choose({json.dumps(v.name)}, [{', '.join(v.texts)}])\n"
            for v in self.values
        )

    def with_values(self, texts: Sequence[str]) -> str:
        """The text with the value of each; where a value is the present one, nothing changes."""
        both = zip(self.values, texts, strict=True)
        return with_edits(self.text, [value.edit(text) for value, text in both if text != value.texts[0]])

    def program_with(self, texts: Sequence[str]) -> IRModule | PrimFunc:
        """The kernel with these values. Raises ParseError."""
        return parse(self.with_values(texts)).program


class KernelCall(msgspec.Struct, frozen=True, eq=False):
    """The call that makes a kernel, `main = gemm(M=512, num_stages=3)`, and the function that it calls."""

    call: ast.Call
    function: ast.FunctionDef

    @property
    def names(self) -> list[str]:
        """The parameters of the function, and the names that the call gives."""
        own = [a.arg for a in parameters_of(self.function)]
        return list(dict.fromkeys((*own, *(k.arg for k in self.call.keywords if k.arg is not None))))


def kernel_text(text: str, values: Mapping[str, tuple[str, ...]] | None = None) -> KernelText | None:
    """The values of the kernel of a text; None if the text is no TileLang. With `values`, texts by the name of a value or of a parameter of
    the call, these are searched and no others. Raises KernelError "no-such-parameter"."""
    tree = find_tree(text) if "tilelang" in text else None
    if tree is None or not uses_tile_language(ast.walk(tree)):
        return None
    found = _Literals(text, tree)
    known = {value.name: value for value in found.values()}
    if values is None:
        return KernelText(text, tuple(known.values()))
    return KernelText(text, tuple(_searched(found, known, name, texts) for name, texts in values.items()))


def _searched(found: _Literals, known: dict[str, KernelValue], name: str, texts: tuple[str, ...]) -> KernelValue:
    value = known.get(name) or found.parameter(name)
    if value is None:
        call = found.call
        names = dict.fromkeys((*known, *(call.names if call is not None else ())))
        raise KernelError(Refusal("no-such-parameter", f"the kernel has no value {name}", found=name,
                                  expected=", ".join(names) or "a TileLang kernel with values"))  # fmt: skip
    return msgspec.structs.replace(value, texts=tuple(dict.fromkeys((value.texts[0], *texts))))


class Origin(msgspec.Struct, frozen=True, order=True):
    """A literal in the text, or the place of an argument that is not given: its characters, the words that another value needs before it,
    its name and its text."""

    first: int
    last: int
    before: str
    name: str
    text: str


class _Literals:
    """Follows the values of operations to the literals that feed them."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.spans, self.tree = TextSpans(text), tree
        self.around: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._visit(tree, (tree,))
        self.bound: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}
        self.calls = [node for node in self.around if isinstance(node, ast.Call)]
        self.call = find_kernel_call(tree)

    def _visit(self, node: ast.AST, around: tuple[ast.AST, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            self.around[child] = around
            self._visit(child, (*around, child) if isinstance(child, ast.FunctionDef) else around)

    def values(self) -> tuple[KernelValue, ...]:
        """Return the values in the order of the text, each once, with names that differ."""
        sizes = {
            origin for call in self.calls if called_name(call) in TYPED for origin in self._fed(call, self.around[call])
        }
        found: dict[Origin, Role] = {}
        for call in self.calls:
            for role, origins in self._operands(call):
                for origin in origins:
                    if origin not in sizes:
                        found.setdefault(origin, role)
        counts = Counter(origin.name for origin in found)
        seen: Counter[str] = Counter()
        values: list[KernelValue] = []
        for origin in sorted(found):
            seen[origin.name] += 1
            name = origin.name if counts[origin.name] == 1 else f"{origin.name} {seen[origin.name]}"
            values.append(_value(name, found[origin], origin))
        return tuple(values)

    def parameter(self, name: str) -> KernelValue | None:
        """Return the value of a parameter of the function that makes the kernel; None if it has none in the text."""
        call = self.call
        if call is None or name not in call.names:
            return None
        origin = next(iter(self._of_parameter(call.function, name, literal=False)), None)
        return None if origin is None else _value(name, "tile", origin)

    def _operands(self, call: ast.Call) -> Iterator[tuple[Role, Iterable[Origin]]]:
        """Yield the literals of the stages, threads, tiles or blocks of an operation, and which of them they are."""
        name = called_name(call)
        given = {k.arg: k.value for k in call.keywords if k.arg is not None}
        if name == "Pipelined" and not {"order", "stage"} & given.keys():
            stages = call.args[2] if len(call.args) > 2 else given.get("num_stages")
            yield "stages", self._argument(call, "num_stages", stages, "0")
        elif name == "serial" and isinstance(notes := given.get("annotations"), ast.Dict):  # in printed tile IR
            pairs = zip(notes.keys, notes.values, strict=True)
            stages = next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "num_stages"), None)
            yield "stages", self._argument(call, "num_stages", stages, "0") if stages is not None else ()
        elif name == "Kernel":
            if "threads" in given and "is_npu" not in given:
                yield "threads", self._argument(call, "threads", given["threads"], "")
            for extent in call.args:
                origins = list(self._fed(extent, self.around[call]))
                # An extent of its own, or one of several factors by its name.
                yield "split", [o for o in origins if isinstance(extent, ast.Name) or "split" in o.name.lower()]
        elif name in TILED and call.args:
            yield "tile", self._fed(call.args[0], self.around[call])

    def _argument(self, call: ast.Call, name: str, value: ast.expr | None, default: str) -> Iterator[Origin]:
        """Yield the literals that feed an argument of an operation, itself if it is one."""
        if value is None:
            edit = self.spans.with_argument(call, f"{name}=")
            yield Origin(edit.first, edit.last, edit.text, name, default)
        else:
            yield from self._from(value, name, self.around[call])

    def _from(
        self, value: ast.expr, name: str, around: Sequence[ast.AST], known: frozenset[str] = frozenset()
    ) -> Iterator[Origin]:
        """Yield a value if it is a whole number, else the literals that feed it."""
        if isinstance(value, ast.Constant) and type(value.value) is int:
            yield Origin(*self.spans.span(value), "", name, self.spans.of(value))
        else:
            yield from self._fed(value, around, known)

    def _fed(self, value: ast.AST, around: Sequence[ast.AST], known: frozenset[str] = frozenset()) -> Iterator[Origin]:
        """Yield the literals that feed the variables of a value."""
        names = dict.fromkeys(n.id for n in ast.walk(value) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        for name in names:
            if name not in known:
                yield from self._of_name(name, around, known | {name})

    def _of_name(self, name: str, around: Sequence[ast.AST], known: frozenset[str]) -> Iterator[Origin]:
        for depth in range(len(around) - 1, -1, -1):
            scope, outer = around[depth], around[: depth + 1]
            if scope not in self.bound:
                self.bound[scope] = _bound(scope)
            bound = self.bound[scope].get(name)
            if bound:
                if len(bound) == 1 and bound[0] is not None:
                    yield from self._from(bound[0], name, outer, known)
                return
            if isinstance(scope, ast.FunctionDef) and any(a.arg == name for a in parameters_of(scope)):
                yield from self._of_parameter(scope, name, known)
                return

    def _of_parameter(
        self, function: ast.FunctionDef, name: str, known: frozenset[str] = frozenset(), *, literal: bool = True
    ) -> Iterator[Origin]:
        """Yield the literals that feed a parameter: those in the only call of its function, or its default."""
        calls = [call for call in self.calls if _calls(call, function)]
        default = defaults_of(function).get(name)
        given = [_given(call, function, name) for call in calls]
        if len(calls) > 1 or (not calls and default is None):
            return
        if calls and given[0] is not None:
            if not literal:
                yield Origin(*self.spans.span(given[0]), "", name, self.spans.of(given[0]))
            yield from self._from(given[0], name, self.around[calls[0]], known)
        elif default is not None and (not literal or _is_whole(default)):
            if calls and (calls[0].args or calls[0].keywords):
                edit = self.spans.with_argument(calls[0], f"{name}=")
                yield Origin(edit.first, edit.last, edit.text, name, self.spans.of(default))
            else:
                yield Origin(*self.spans.span(default), "", name, self.spans.of(default))


def find_kernel_call(tree: ast.Module) -> KernelCall | None:
    """Return the last statement that makes a kernel by a call of a function of the text."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in reversed(tree.body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            function = next((f for f in functions.values() if _calls(node.value, f)), None)
            if function is not None:
                return KernelCall(node.value, function)
    return None


def _calls(call: ast.Call, function: ast.FunctionDef) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name), attr="compile" | "get_tir"):
            return name == function.name
        case _:
            return False


def _given(call: ast.Call, function: ast.FunctionDef, name: str) -> ast.expr | None:
    """Return the value of a parameter in a call; None if it has its default."""
    named = next((k.value for k in call.keywords if k.arg == name), None)
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    at = names.index(name) if name in names else len(call.args)
    return call.args[at] if named is None and at < len(call.args) else named


def _own(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, without those of functions in it."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.stmt):
            yield node
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield from _own(node)


def _bound(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Return the values that the statements of a scope give each variable, None for one that is not one expression."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in _own(scope):
        for name, value in _assigned(node):
            found.setdefault(name, []).append(value)
    return found


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the variables that a statement itself binds, without those inside it, with their values."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield name, node.value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            yield from ((n.id, v) for n, v in zip(names, values, strict=True) if isinstance(n, ast.Name))
        case ast.Assign():
            targets = node.targets
        case ast.AugAssign() | ast.AnnAssign() | ast.For():
            targets = [node.target]
        case ast.With():
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
        case _:
            pass
    for target in targets:
        yield from ((n.id, None) for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _is_whole(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int


def _value(name: str, role: Role, origin: Origin) -> KernelValue:
    try:
        own = int(origin.text, 0)
    except ValueError:
        return KernelValue(name, role, origin.first, origin.last, (origin.text,), origin.before)
    ladder = (
        STAGES
        if role == "stages"
        else THREAD_COUNTS
        if role == "threads"
        else SPLITS
        if role == "split"
        else TILES
        if own >= TILES[0]
        else SMALL_TILES
    )
    return KernelValue(
        name, role, origin.first, origin.last, (origin.text, *(str(n) for n in ladder if n != own)), origin.before
    )


__all__ = ["KernelText", "KernelValue", "find_kernel_call", "kernel_text"]
