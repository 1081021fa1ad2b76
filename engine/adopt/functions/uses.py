"""What the code of a function uses a parameter as, if its form tells: a tensor, a list, an object with attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from ...script.language import called_name, is_script
from ...script.subset.values import hole_name

Kind: TypeAlias = Literal["size", "dtype", "flag", "scope", "list", "dict", "tensor", "target", "function"]
_OF_BITS = ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor")
_TENSOR_METHODS = ("astype", "name", "op", "value_index", "ty", "reshape", "output")
TENSOR_PARTS = frozenset(("shape", "ndim", "dtype", "op"))
_KNOWN_METHODS = frozenset((*_TENSOR_METHODS, *(name for kind in (str, list, dict, int, float) for name in dir(kind))))


class Uses:
    """The uses of names in a function or a text, found in one walk; attributes, items and calls count by their text."""

    def __init__(self, function: ast.FunctionDef | ast.Lambda | ast.Module) -> None:
        self._kinds: dict[str, Kind] = {}
        self._ranks: dict[str, int] = {}
        self.words: dict[str, str] = {}  # the first string that a name is compared with
        self.choices: dict[str, dict[str, None]] = {}  # all strings that names are compared with
        self.numbers: dict[str, int] = {}  # the first number that a name is compared with
        self._required: dict[str, int] = {}  # the number of axes of tensors that the code compares
        self.typed_as: dict[str, str] = {}  # tensors with the type that another parameter gives
        self._made: dict[str, str] = {}  # the tensor that has a name as its shape
        self._alike: dict[str, str] = {}  # tensors with as many axes as another one
        self._single: dict[str, int] = {}  # the number of brackets after a name, as in `a[i][j]`
        self._axes: dict[str, int] = {}  # the least number of axes of tensors, by the axes that code asks for
        self.integers: set[str] = (
            set()
        )  # tensors of integers: those whose elements are indices or have their bits changed
        arguments = None if isinstance(function, ast.Module) else function.args
        self._taken = (
            set[str]()
            if arguments is None
            else {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        )
        self._in_scripts = {
            n for part in ast.walk(function) if part is not function and is_script(part) for n in ast.walk(part)
        }
        self._members: dict[str, set[str]] = {}
        self._owners: set[str] = set()  # names of which methods are called
        self._plain: set[str] = set()  # names that are used in other ways than for a method
        self._axis_names = frozenset(_axis_names(function))  # parameters of functions of axes
        self.entries: set[str] = set()  # dicts, of which entries are used
        self.whole: set[str] = set()  # names that calls get, so that other functions may use any entry
        self.optional: set[str] = set()  # entries of dicts that the code does not need: it asks whether they are there
        self._passed: dict[str, list[tuple[str, int]]] = {}  # the functions that get a name, and at which place
        owners: set[ast.AST] = set()
        for part in ast.walk(function):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                self._members.setdefault(part.value.id, set()).add(part.attr)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                owners.add(part.func.value)
                if part.func.attr == "tensorize":
                    owners.update(part.args[1:])
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part not in owners:
                self._plain.add(part.id)
        self._owners = {part.id for part in owners if isinstance(part, ast.Name)}
        for part in ast.walk(function):
            self._read_guard(part)
            self._read_condition(part)
            self._read_operator(part)
            self._read(part)

    def of(self, name: str, kind: Kind) -> tuple[Kind, int]:
        """Return the kind of a parameter and its rank: the number of axes of a tensor or items of a list; `kind` is the guess by its
        name."""
        found = "tensor" if kind == "tensor" else self._kinds.get(name, kind)
        found = kind if kind == "dtype" and found in ("list", "flag") else found
        name = self._alike.get(name, name)
        name = self._made.get(name, name) if name not in self._ranks else name
        least = max(self._axes.get(name, 0), 2)
        if found == "tensor" and name in self._single:
            least = max(self._axes.get(name, 0), self._single[name])
        return found, self._required.get(name, self._ranks.get(name, least))

    def followed(self, name: str, kind: Kind, functions: Mapping[str, ast.FunctionDef]) -> tuple[Kind, int]:
        """Return the kind and rank of a parameter, as `of` does; one that the code only passes on is what the functions that get it use it
        as."""
        pending: list[tuple[Uses, str]] = [(self, name)]
        seen: set[tuple[int, str]] = set()
        while pending:
            uses, known = pending.pop(0)
            if known in uses._kinds or (known != name and (id(uses), known) in seen):
                break
            seen.add((id(uses), known))
            for callee, at in uses._passed.get(known, ()):
                taken = functions[callee].args.args if callee in functions else []
                if at < len(taken) and (id(uses_of(functions[callee])), taken[at].arg) not in seen:
                    pending.append((uses_of(functions[callee]), taken[at].arg))
        else:
            return self.of(name, kind)
        return uses.of(known, kind)

    def is_object(self, name: str) -> bool:
        """Whether the code uses a name only for methods that tensors and Python's own values do not have, or as an intrinsic: an object of
        other code."""
        return name in self._owners and name not in self._plain and not self._members.get(name, set()) & _KNOWN_METHODS

    def attributes_in(self, name: str, parts: Sequence[ast.AST]) -> set[str]:
        """Return the attributes that code uses of a name, `config.rope.theta`; those that it calls are not values."""
        return {found for part in parts for found in _attributes(part) if found.startswith(f"{name}.")}

    def _mark(self, name: str, kind: Kind, rank: int = 0) -> None:
        if self._kinds.get(name) != "tensor":
            self._kinds[name] = kind
        if rank:
            self._ranks.setdefault(name, rank)

    def _read(self, part: ast.AST) -> None:
        if isinstance(part, ast.Subscript):
            self._mark_integers(part.slice)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _OF_BITS:
            self._mark_integers(*part.args)
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.LShift | ast.RShift):
            self._mark_integers(part.left)
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    self._unpacked(target, value)
            case ast.Assign(targets=[target], value=value):
                self._unpacked(target, value)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"),
                slice=ast.Constant(value=int(axis)) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(axis))),
            ):
                self._axes[name] = max(self._axes.get(name, 0), axis + isinstance(part.slice, ast.Constant))
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in TENSOR_PARTS:
                if not any(member not in (*TENSOR_PARTS, *_TENSOR_METHODS) for member in self._members.get(name, ())):
                    self._mark(name, "tensor")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=indices)):
                self._mark(name, "tensor", len(indices))
            case ast.Call(func=ast.Name(id=name), args=indices) if name != "len" and part not in self._in_scripts:
                many = any(isinstance(index, ast.Starred) for index in indices)
                self._mark(name, "tensor", 0 if many else len(indices))
                if name in self._taken:
                    self._mark_integers(*indices)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
                self.entries.add(name)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]
            ):
                self.optional.add(f"{name}.{key}")
            case _:
                self._read_items(part)

    def _read_items(self, part: ast.AST) -> None:
        """Read code that takes items of a name."""
        match part:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=axis)) if axis in self._axis_names:
                self._single.setdefault(name, 1)
                self._mark(name, "tensor")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant() | ast.UnaryOp()):
                self._mark(name, "list")
            case ast.Subscript(value=value, slice=at) if isinstance(root := _root(value), ast.Name):
                if not isinstance(at, ast.Slice):
                    self._single.setdefault(root.id, _brackets(part))
                self._mark(root.id, "list")
            case ast.Starred(value=ast.Name(id=name)):
                self._mark(name, "list")
            case ast.Call(func=ast.Name("len"), args=[ast.Name(id=name)]):
                self._mark(name, "list")
            case ast.Call(func=ast.Attribute(value=owner), args=[ast.Name(id=name), *_]) if "topi" in ast.unparse(
                owner
            ):
                self._mark(name, "tensor")
            case _:
                pass

    def _read_condition(self, part: ast.AST) -> None:
        """Read code that decides by a value, or goes over its items."""
        match part:
            case (
                ast.If(test=test)
                | ast.IfExp(test=test)
                | ast.UnaryOp(op=ast.Not(), operand=test)
                | ast.Assert(test=test)
            ):
                for name in filter(None, map(hole_name, _tested(test))):
                    self._kinds.setdefault(name, "flag")
            case ast.BoolOp(values=values):
                # The last one may be a value, as in `out_dtype or dtype`.
                for name in filter(None, map(hole_name, values[:-1])):
                    self._kinds.setdefault(name, "flag")
            case ast.Compare(
                left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]
            ):
                self.optional.add(f"{name}.{key}")
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]):
                self._compare(entry_name(left) or hole_name(left), right)
            case ast.Call(
                func=ast.Attribute(value=left, attr="startswith" | "endswith"),
                args=[ast.Constant(value=str()) as right],
            ):
                self._compare(hole_name(left), right)
            case ast.For(iter=ast.Call() as called) if name := hole_name(called):
                self._kinds.setdefault(name, "list")
            case _:
                pass

    def _read_operator(self, part: ast.AST) -> None:
        """Read a call of an operator on tensors, or of one with a type, or in a program of a function that is given."""
        if isinstance(part, ast.Call):
            if isinstance(part.func, ast.Name) and part in self._in_scripts:
                self._mark(part.func.id, "function", len(part.args))
            self.whole.update(argument.id for argument in part.args if isinstance(argument, ast.Name))
            if isinstance(part.func, ast.Name):
                for at, argument in enumerate(part.args):
                    if isinstance(argument, ast.Name):
                        self._passed.setdefault(argument.id, []).append((part.func.id, at))
        match part:
            case ast.Call(func=ast.Attribute(attr="extern"), args=[_, ast.List(elts=inputs), *_]):
                for item in inputs:
                    if isinstance(item, ast.Name):
                        self._mark(item.id, "tensor")
            case ast.keyword(arg="dtype" | "out_dtype", value=ast.Name(id=name)):
                self._kinds.setdefault(name, "dtype")
            case ast.Call(func=ast.Attribute(attr="astype"), args=[ast.Name(id=name)]):
                self._kinds.setdefault(name, "dtype")
            case ast.Call(func=ast.Attribute(attr="placeholder"), args=[ast.Name(id=name), *_]):
                self._mark(name, "list")
            case ast.Call(func=ast.Attribute(attr="compute"), args=[ast.Name(id=name), ast.Lambda(args=axes), *_]):
                self._mark(name, "list", 0 if axes.vararg else len(axes.args))
            case ast.Call(func=ast.Attribute(attr="pragma"), args=[_, ast.Name(id=name), *_]):
                self._kinds.setdefault(name, "dtype")
                self._compare(name, ast.Constant("unroll"))
            case ast.Call(
                func=ast.Attribute(attr="dilate" | "pad"), args=[ast.Name(id=name), ast.List(elts=sizes), *_]
            ):
                self._mark(name, "tensor", len(sizes))
            case _:
                pass

    def _compare(self, name: str, right: ast.expr) -> None:
        """Read a comparison with a constant, or with a list of them."""
        for item in right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self.words.setdefault(name, item.value)
                self.choices.setdefault(name, {})[item.value] = None
            elif isinstance(item, ast.Constant) and type(item.value) is int:
                self.numbers.setdefault(name, item.value)

    def _read_guard(self, part: ast.AST) -> None:
        """Read a line that requires the number of axes of a tensor."""
        match part:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Attribute(value=ast.Name(id=name), attr="dtype"),
                    ops=[ast.Eq()],
                    comparators=[ast.Name(id=other)],
                )
            ):
                self.typed_as[name] = other
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Call() as right])):
                a, b = _tensor_of_rank(left), _tensor_of_rank(right)
                if a and b:
                    self._alike[a] = b
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int(rank))])):
                self._require(left, rank)
            case ast.If(
                test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value=int(rank))]),
                body=[ast.Raise()],
            ):
                self._require(left, rank)
            case _:
                pass

    def _require(self, node: ast.expr, rank: int) -> None:
        """Read the left side of `len(x.shape) == rank`."""
        name = _tensor_of_rank(node)
        if name:
            self._required.setdefault(name, rank)

    def _mark_integers(self, *nodes: ast.expr) -> None:
        for part in (p for node in nodes for p in ast.walk(node)):
            match part:
                case ast.Subscript(value=ast.Name(id=name)) | ast.Call(func=ast.Name(id=name)):
                    self.integers.add(name)
                case _:
                    pass

    def _unpacked(self, target: ast.expr, value: ast.expr) -> None:
        """Read `a, b = x.shape`, also with a call around it, as `get_const_tuple(x.shape)`, and `x = te.placeholder(shape)`."""
        match target, value:
            case ast.Name(id=made), ast.Call(func=ast.Attribute(attr="placeholder"), args=[ast.Name(id=name), *_]):
                self._made[name] = made
            case _:
                pass
        while isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if not isinstance(target, ast.Tuple):
            return
        match value:
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                self._mark(name, "tensor", len(target.elts))
            case ast.Name(id=name):
                self._mark(name, "list", len(target.elts))
            case _:
                pass


@lru_cache(maxsize=64)
def uses_of(function: ast.FunctionDef | ast.Lambda | ast.Module) -> Uses:
    """Return the uses in a function or text; cached for the programs of a text that are in it."""
    return Uses(function)


def _attributes(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names of values in code, the longest of each."""
    pending = [node]
    while pending:
        part = pending.pop()
        if (name := entry_name(part)) is not None:
            yield name
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            pending += [part.func.value, *part.args, *part.keywords]
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and _is_chain(part):
            yield ast.unparse(part)
        else:
            pending += ast.iter_child_nodes(part)


def _axis_names(function: ast.AST) -> Iterator[str]:
    """Yield the parameters of the functions of axes that `te.compute` gets: lambdas, or functions by their names."""
    calls = [part for part in ast.walk(function) if isinstance(part, ast.Call) and called_name(part) == "compute"]
    given = [
        value for call in calls for value in (*call.args[1:], *(k.value for k in call.keywords if k.arg == "fcompute"))
    ]
    names = {value.id for value in given if isinstance(value, ast.Name)}
    made = [part for part in ast.walk(function) if isinstance(part, ast.FunctionDef) and part.name in names]
    for part in (*(value for value in given if isinstance(value, ast.Lambda)), *made):
        yield from (argument.arg for argument in part.args.args)


def entry_name(node: ast.AST) -> str | None:
    """Return the dotted name of an entry of a dict that a function is given, `config["heads"]` or `config.get("heads")`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]
        ) if key.isidentifier():
            return f"{name}.{key}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Load()) if (
            key.isidentifier()
        ):
            return f"{name}.{key}"
        case _:
            return None


def _tested(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the conditions that are combined by `and` and `or`."""
    for part in node.values if isinstance(node, ast.BoolOp) else ():
        yield from _tested(part)
    if not isinstance(node, ast.BoolOp):
        yield node


def _tensor_of_rank(node: ast.expr) -> str:
    """Return x of `len(x.shape)`; "" for others."""
    match node:
        case ast.Call(func=ast.Name("len"), args=[ast.Attribute(value=ast.Name(id=name), attr="shape")]):
            return name
        case _:
            return ""


def _root(node: ast.expr) -> ast.expr:
    """Return what is in front of the brackets of `a[i][j]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _brackets(node: ast.AST) -> int:
    count = 0
    while isinstance(node, ast.Subscript):
        count, node = count + 1, node.value
    return count


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


__all__ = ["TENSOR_PARTS", "Kind", "Uses", "uses_of"]
