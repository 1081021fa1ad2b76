"""Which names of a kernel may have different values in different threads: those that depend on a thread's number.

A buffer of each thread (`T.alloc_local`, `T.alloc_var`) with the same values in all threads is one buffer, so only the others exist once
for each thread.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..subset.scope import Scope, Value
from ..subset.values import Class, Function, Instance, TextModule

THREAD_NUMBERS = ("get_thread_binding", "get_thread_bindings", "thread_binding", "launch_thread_idx", "get_warp_idx", "get_warp_idx_sync",
                  "get_lane_idx", "get_warp_group_idx", "shuffle_elect", "tl_shuffle_elect")  # fmt: skip
_OWN_VALUES = ("rng_rand", "rng_rand_float", "tvm_warp_shuffle")
_PRIVATE = ("alloc_local", "alloc_var", "PersistentTileScheduler")
_VIEWS = ("view", "reshape", "Tensor", "decl_buffer", "Buffer")
_BRANCHES = (ast.If, ast.While, ast.For)


def names_threads(body: Iterable[ast.AST]) -> bool:
    """Whether code asks for the number of a thread."""
    return any(_function(part) in THREAD_NUMBERS for node in body for part in ast.walk(node))


def updates_in_each(body: Iterable[ast.AST]) -> bool:
    """Whether code may update an element in each thread, because it is in no loop whose iterations the threads share."""
    pending = [*body]
    while pending:
        node = pending.pop()
        if _function(node).startswith("atomic_"):
            return True
        if not (isinstance(node, ast.For) and _function(node.iter).lower() == "parallel"):
            pending += ast.iter_child_nodes(node)
    return False


def code_of(nodes: Sequence[ast.stmt], scope: Scope) -> dict[str, list[Function]]:
    """Return the functions and methods of the text that code calls, directly or not, by the text of what is called."""
    found: dict[str, list[Function]] = {}
    seen: set[ast.AST] = set()
    pending: list[tuple[ast.AST, Scope, Mapping[str, Value]]] = [(node, scope, {}) for node in nodes]
    while pending:
        node, names, own = pending.pop()
        for call in ast.walk(node):
            value, owner = _called(call.func, names, own) if isinstance(call, ast.Call) else (None, None)
            if not isinstance(call, ast.Call) or not isinstance(value, Function):
                continue
            known = found.setdefault(ast.unparse(call.func), [])
            first = [a.arg for a in value.node.args.args[:1]] if owner is not None else []
            for function in _made_by(value):
                if all(function.node is not other.node for other in known):
                    known.append(function)
                if function.node not in seen:
                    seen.add(function.node)
                    pending.append((function.node, function.scope, dict.fromkeys(first, owner)))
    return found


def _made_by(function: Function) -> list[Function]:
    """Return a function, or those that a property gives."""
    if function.kind != "property" or not isinstance(function.node, ast.FunctionDef):
        return [function]
    inside = (part for part in function.node.body if isinstance(part, ast.FunctionDef))
    return [Function(part, function.scope, {}, "", None, None) for part in inside]


def _called(node: ast.expr, names: Scope, own: Mapping[str, Value]) -> tuple[Value, Value]:
    """Return what an expression names, and the object whose method it is; `own` are names of the function that is read."""
    match node:
        case ast.Name(id=name):
            return own[name] if name in own else names.get(name), None
        case ast.Attribute(value=inner, attr=name):
            owner = _called(inner, names, own)[0]
            if isinstance(owner, TextModule):
                return owner.scope.get(name), None
            if isinstance(owner, Instance) and name in owner.values:
                return owner.values[name], None
            kind = owner.of if isinstance(owner, Instance) else owner
            above = kind.owner_of(name) if isinstance(kind, Class) else None
            value = None if above is None else above.values[name]
            is_method = isinstance(owner, Instance) and isinstance(value, Function) and value.kind != "staticmethod"
            return value, owner if is_method else None
        case _:
            return None, None


def divergent_names(nodes: Sequence[ast.stmt], functions: Mapping[str, Sequence[Function]]) -> set[str]:
    """Return the names that may differ between threads, in code and in the functions that it calls, by the text of what is called."""
    return _Divergence([*nodes], functions).names


class _Divergence:
    """Follows the numbers of threads through assignments, arguments and branches until nothing is added."""

    def __init__(self, body: list[ast.stmt], functions: Mapping[str, Sequence[Function]]) -> None:
        self.functions = functions
        self.names: set[str] = set()
        self.private: set[str] = set()  # buffers of each thread
        self.branched: set[str] = set()  # functions that are called in a branch that some threads take
        self.numbering = {name for name, several in functions.items() if names_threads([f.node for f in several])}
        size = -1
        while size != len(self.names) + len(self.private) + len(self.branched):
            size = len(self.names) + len(self.private) + len(self.branched)
            for node in body:
                self._read(node, is_branch=False)
            for name, function in ((name, f.node) for name, several in functions.items() for f in several):
                for node in function.body if isinstance(function, ast.FunctionDef) else ():
                    self._read(node, is_branch=name in self.branched)

    def _differs(self, node: ast.AST | None) -> bool:
        return node is not None and any(
            (isinstance(part, ast.Name) and part.id in (*self.names, *self.numbering))
            or (self.numbering and isinstance(part, ast.Attribute) and ast.unparse(part) in self.numbering)
            or _function(part) in THREAD_NUMBERS
            or _function(part) in _OWN_VALUES
            or _function(part).startswith(("shfl_", "warp_reduce"))
            or any(isinstance(k, ast.keyword) and k.arg == "return_prev" for k in getattr(part, "keywords", ()))
            for part in ast.walk(node)
        )

    def _read(self, node: ast.stmt, *, is_branch: bool) -> None:
        for call in _own_calls(node):
            self._pass(call, is_branch=is_branch)
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value, is_branch=is_branch)
            case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                self._assign(target, value, is_branch=is_branch)
            case ast.Expr(value=ast.Call() as call) if is_branch or self._differs(call):
                self.names |= self.private & {part.id for part in ast.walk(call) if isinstance(part, ast.Name)}
            case ast.For(target=target, iter=items) if self._differs(items):
                self.names |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
            case _:
                pass
        if isinstance(node, _BRANCHES):
            is_branch = is_branch or self._differs(node.iter if isinstance(node, ast.For) else node.test)
        for field in ("body", "orelse"):
            for part in getattr(node, field, ()):
                self._read(part, is_branch=is_branch)

    def _assign(self, target: ast.expr, value: ast.expr | None, *, is_branch: bool) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._assign(part, value, is_branch=is_branch)
            return
        root = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(root, ast.Name):
            return
        if _is_private(value):
            self.private.add(root.id)
            if _function(value) == "alloc_var" and self._differs(value):
                self.names.add(root.id)
            return
        owners = self.private & {part.id for part in ast.walk(value or root) if isinstance(part, ast.Name)}
        if _function(value) in _VIEWS and owners:
            self.private.add(root.id)
            if root.id in self.names:
                self.names |= owners
        differs = (
            is_branch or self._differs(value) or (isinstance(target, ast.Subscript) and self._differs(target.slice))
        )
        if differs and (isinstance(target, ast.Name) or root.id in self.private):
            self.names.add(root.id)

    def _pass(self, call: ast.Call, *, is_branch: bool) -> None:
        """Connect the arguments of a call of a function of the text with its parameters."""
        name = ast.unparse(call.func)
        for function in self.functions.get(name, ()):
            if is_branch:
                self.branched.add(name)
            arguments = function.node.args
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            is_method = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
            given = [
                *zip(names[is_method:], call.args, strict=False),
                *((k.arg or "", k.value) for k in call.keywords),
            ]
            for parameter, argument in given:
                if isinstance(argument, ast.Name) and argument.id in self.private:
                    self.private.add(parameter)
                    if parameter in self.names:
                        self.names.add(argument.id)
                if self._differs(argument):
                    self.names.add(parameter)


def _own_calls(node: ast.stmt) -> Iterator[ast.Call]:
    """Yield the calls in a statement that are not in the statements inside of it."""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Call):
            yield part
        pending += [inner for inner in ast.iter_child_nodes(part) if not isinstance(inner, ast.stmt)]


def _function(node: ast.AST | None) -> str:
    """Return the last name of a called function."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _is_private(value: ast.AST | None) -> bool:
    if _function(value) in _PRIVATE:
        return True
    if _function(value) not in ("sblock_alloc_buffer", "alloc_buffer") or not isinstance(value, ast.Call):
        return False
    return any(
        k.arg == "scope" and isinstance(k.value, ast.Constant) and k.value.value in ("local", "local.var")
        for k in value.keywords
    )


__all__ = ["THREAD_NUMBERS", "code_of", "divergent_names", "names_threads", "updates_in_each"]
