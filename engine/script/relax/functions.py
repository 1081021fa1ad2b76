"""Reader of relax functions: bindings of tensors to calls of tensor programs. Calls of other relax functions are inlined."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TypeAlias

import msgspec

from ...ir import Expr, Graph, GraphTensor, KernelCall, PrimFunc, Var
from ..errors import ParseError
from ..reading.expressions import ExpressionReader
from ..reading.source import PositionTable, Source
from ..syntax import find_tree
from .matching import Constant, MismatchError, bound_call

Item: TypeAlias = "GraphTensor | Constant | Expr | tuple[Item, ...]"
"""What an expression of a relax function stands for: a tensor, a weight, a size, or a tuple or shape of those."""

CALLS = {"R.call_tir": (), "R.call_tir_inplace": ("inplace_indices",)}
"""Calls of tensor programs, with the parameters that stand between the arguments and the type of the result."""

EXTERNAL = ("R.call_dps_packed", "R.call_packed", "R.call_pure_packed", "R.call_builtin_with_ctx")

LEGALIZE = "lower the operators to tensor programs first: relax.transform.LegalizeOps() in TVM, or `tilewright import` of the model"


class GraphReader:
    """Reads one relax function. `kernels` are the tensor programs by name, `functions` the relax functions of the module."""

    def __init__(
        self, source: Source, kernels: Mapping[str, PrimFunc], functions: Mapping[str, ast.FunctionDef]
    ) -> None:
        self.source = source
        self.kernels = kernels
        self.functions = functions
        self.exprs = ExpressionReader(source, PositionTable())
        self.exprs.namespaces |= {"R": "R", "relax": "R"}
        self.calls: list[KernelCall] = []
        self.constants: dict[str, Constant] = {}
        self.taken: set[str] = set()
        self.entered: tuple[str, ...] = ()

    def read(self, node: ast.FunctionDef) -> Graph:
        """Read the function as a graph. Parameters after the first `num_input` are weights; without that attribute all are inputs."""
        parameters = {a.arg: self._parameter(a) for a in node.args.args}
        inputs = _num_input(node)
        inputs = len(parameters) if inputs is None else inputs
        values = tuple(parameters.values())
        results = self._results(node, self._body(node, parameters))
        weights = (*_tensors(values[inputs:]), *_tensors(tuple(self.constants.values())))
        scalars = {c.tensor: c.value for c in self.constants.values() if c.tensor is not None and c.value is not None}
        return Graph(node.name, tuple(_tensors(values[:inputs])), weights, tuple(self.calls), results, scalars)

    def _results(self, node: ast.FunctionDef, results: Item) -> tuple[GraphTensor, ...]:
        found = tuple(_tensors(results))
        if not found:
            raise self._error(
                node, "not-a-graph", f"the relax function {node.name} returns no tensor", "return of a tensor"
            )
        return found

    # -- parameters and types

    def _parameter(self, argument: ast.arg) -> Item:
        if argument.annotation is None:
            raise self._error(argument, "wrong-arguments", f"the parameter {argument.arg} has no type", "R.Tensor(…)")
        return self._typed(argument.annotation, argument.arg)

    def _typed(self, node: ast.expr, name: str) -> Item:
        """Return a new value of the type that `node` describes."""
        kind = self.exprs.called(node)
        if isinstance(node, ast.Call):
            if kind == "R.Tensor":
                return self._tensor(node, name)
            if kind == "R.Tuple":
                return tuple(self._typed(part, f"{name}_{i}") for i, part in enumerate(node.args))
            if kind == "R.Shape" and node.args:
                return tuple(map(self._size, self.exprs.sequence(node.args[0])))
        raise self._error(
            node, "unsupported", "the graph has no values of this type", 'R.Tensor((1, 64), "float32"), R.Tuple(…)'
        )

    def _tensor(self, node: ast.Call, name: str) -> GraphTensor:
        given: dict[str | None, ast.expr] = dict(zip(("shape", "dtype"), node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords}
        if "shape" not in given or "dtype" not in given:
            raise self._error(
                node, "unsupported", "the tensor has no known shape and type", 'R.Tensor((1, 64), "float32")'
            )
        shape = tuple(map(self._size, self.exprs.sequence(given["shape"])))
        return GraphTensor(self._unique(name), shape, self.exprs.dtype(given["dtype"]))

    def _size(self, node: ast.expr) -> Expr:
        """Read an extent. A name that is not defined yet is a size of the model; TVM's older text has it as a string."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            tree = find_tree(node.value)
            statement = tree.body[0] if tree is not None and len(tree.body) == 1 else None
            if not isinstance(statement, ast.Expr):
                raise self._error(node, "wrong-type", "this is no size", 'a number, or a name such as "n"')
            node = ast.copy_location(statement.value, node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.exprs.scope and part.id not in self.exprs.namespaces:
                self.exprs.scope.define(part.id, Var(part.id, "int64"))
        return self.exprs.index(node)

    # -- statements

    def _body(self, node: ast.FunctionDef, env: dict[str, Item]) -> Item:
        returned = self._statements(node.body, env)
        if returned is None:
            raise self._error(node, "not-a-graph", f"the relax function {node.name} returns nothing", "return gv")
        return returned

    def _statements(self, statements: Sequence[ast.stmt], env: dict[str, Item]) -> Item | None:
        for statement in statements:
            match statement:
                case ast.With(items=[ast.withitem(context_expr=call)]) if self.exprs.called(call) == "R.dataflow":
                    self._statements(statement.body, env)
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                    statement.value is not None
                ):
                    self._bind(name, statement.value, env)
                case ast.Return() if statement.value is not None:
                    return self._item(statement.value, env)
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Expr(value=ast.Call() as call) if self.exprs.called(call) in ("R.func_attr", "R.output"):
                    pass
                case _:
                    raise self._error(
                        statement,
                        "unsupported",
                        "this statement is not part of a graph: which calls are made must not depend on values",
                        "name = R.call_tir(…), with R.dataflow(), return",
                    )
        return None

    def _bind(self, name: str, node: ast.expr, env: dict[str, Item]) -> None:
        if isinstance(node, ast.Name) and node.id not in env:
            return  # `cls = Module`
        if (self.exprs.called(node) or "").startswith("T."):  # `n = T.int64()`
            if name not in self.exprs.scope:
                self.exprs.scope.define(name, Var(name, "int64"))
            return
        env[name] = self._item(node, env, name)

    # -- values

    def _item(self, node: ast.expr, env: Mapping[str, Item], name: str = "lv") -> Item:
        """Return the value of `node`; a call's results are called `name`."""
        match node:
            case ast.Name(id=known) if known in env:
                return env[known]
            case ast.Tuple() | ast.List():
                return tuple(self._item(part, env) for part in node.elts)
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id="metadata"))):
                return self._constant(ast.unparse(node))
            case ast.Subscript(slice=ast.Constant(value=int(at))):
                return self._element(node, self._item(node.value, env), at)
            case ast.Call():
                return self._call(node, env, name)
            case _:
                raise self._error(
                    node, "unknown-name", "this is no value of the graph", "a tensor that is defined above"
                )

    def _constant(self, written: str, value: float | int | bool | None = None) -> Constant:
        """Return the weight for which a text stands, such as `metadata["ir.GenericConst"][3]`; equal texts are one weight."""
        if written not in self.constants:
            self.constants[written] = Constant(self._unique(f"constant{len(self.constants)}"), value)
        return self.constants[written]

    def _element(self, node: ast.expr, owner: Item, at: int) -> Item:
        if not isinstance(owner, tuple) or not -len(owner) <= at < len(owner):
            size = f"{len(owner)} elements" if isinstance(owner, tuple) else "no elements"
            raise self._error(node, "out-of-range", f"the value has {size}", "an index of the tuple")
        return owner[at]

    def _call(self, node: ast.Call, env: Mapping[str, Item], name: str) -> Item:
        called = self.exprs.called(node)
        if called in CALLS:
            return self._kernel_call(node, CALLS[called], env, name)
        if called in ("R.const", "R.prim_value"):
            return self._constant(ast.unparse(node), _number(node) if called == "R.const" else None)
        if called == "R.tuple":
            return tuple(self._item(part, env) for part in node.args)
        if called == "R.match_cast" and node.args:
            return self._item(node.args[0], env, name)
        if called == "R.shape" and node.args:
            return tuple(map(self._size, self.exprs.sequence(node.args[0])))
        function = self.functions.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
        if called is None and function is not None:
            return self._inlined(node, function, [self._item(part, env) for part in node.args])
        if called in EXTERNAL:
            raise self._error(
                node, "unsupported", "the program of this external function is unknown", "R.call_tir(cls.program, …)"
            )
        if called is not None:
            raise self._error(
                node,
                "not-lowered",
                f"{called} is an operator of relax, not a tensor program",
                "R.call_tir(…)",
                LEGALIZE,
            )
        raise self._error(node.func, "unknown-name", "there is no such relax function in the module", "R.call_tir(…)")

    def _inlined(self, node: ast.Call, function: ast.FunctionDef, arguments: Sequence[Item]) -> Item:
        """Return the value of a call of another relax function: its calls become part of this graph."""
        if function.name in self.entered:
            raise self._error(node, "unsupported", f"the relax function {function.name} calls itself", "calls that end")
        if len(arguments) != len(function.args.args):
            raise self._error(
                node,
                "wrong-arguments",
                f"{function.name} has {len(function.args.args)} parameters",
                "one argument for each",
            )
        env: dict[str, Item] = {}
        with self._inside(function):
            for parameter, argument in zip(function.args.args, arguments, strict=True):
                self._sizes_of(parameter.annotation, argument)
                env[parameter.arg] = argument
            return self._body(function, env)

    @contextmanager
    def _inside(self, function: ast.FunctionDef) -> Generator[None]:
        outside, self.entered = self.entered, (*self.entered, function.name)
        with self.exprs.scope.nested():
            yield
        self.entered = outside

    def _sizes_of(self, annotation: ast.expr | None, argument: Item) -> None:
        """Define the sizes that are extents of a parameter as those of the argument."""
        if not isinstance(argument, GraphTensor) or not isinstance(annotation, ast.Call) or not annotation.args:
            return
        for node, extent in zip(self.exprs.sequence(annotation.args[0]), argument.shape, strict=False):
            name = node.id if isinstance(node, ast.Name) else node.value if isinstance(node, ast.Constant) else None
            if isinstance(name, str):
                self.exprs.scope.define(name, extent)

    # -- calls of tensor programs

    def _kernel_call(self, node: ast.Call, between: Sequence[str], env: Mapping[str, Item], name: str) -> Item:
        given: dict[str | None, ast.expr] = dict(zip(("func", "args", *between, "out"), node.args, strict=False))
        given |= {
            "out" if k.arg in ("out_ty", "out_sinfo", "out_struct_info") else k.arg: k.value for k in node.keywords
        }
        if not given.keys() >= {"func", "args", "out"}:
            raise self._error(
                node, "wrong-arguments", "the call is incomplete", "R.call_tir(cls.f, (a, b), out_ty=R.Tensor(…))"
            )
        kernel = self._kernel(given["func"])
        arguments = self._arguments(given["args"], env)
        several = isinstance(given["out"], ast.List | ast.Tuple)
        types = self.exprs.sequence(given["out"])
        results = [self._typed(t, f"{name}_{i}" if several else name) for i, t in enumerate(types)]
        tensors = [r for r in results if isinstance(r, GraphTensor)]
        scalars = self._item(given["tir_vars"], env) if "tir_vars" in given else ()
        in_place = tuple(map(self.exprs.constant_int, self.exprs.sequence(given["inplace_indices"]))) if between else ()
        try:
            call = bound_call(kernel, arguments, tensors, [s for s in _flat(scalars) if isinstance(s, Expr)], in_place)
        except MismatchError as error:
            raise self._error(node, "wrong-type", str(error), error.expected) from None
        self.calls.append(msgspec.structs.replace(call, place=self.source.place(node)))
        return tuple(tensors) if several else tensors[0]

    def _kernel(self, node: ast.expr) -> PrimFunc:
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name not in self.kernels:
            raise self._error(
                node,
                "unknown-kernel",
                f"there is no tensor program {name or 'of this name'}",
                "a @T.prim_func of the module",
            )
        return self.kernels[name]

    def _arguments(self, node: ast.expr, env: Mapping[str, Item]) -> list[GraphTensor | Constant]:
        items = _flat(self._item(node, env))
        return [item for item in items if isinstance(item, GraphTensor | Constant)]

    # -- names and errors

    def _unique(self, name: str) -> str:
        """Return the name, with a number if a tensor has it: a binding may shadow another, and an inlined function may be called twice."""
        found, number = name, 1
        while found in self.taken:
            found, number = f"{name}_{number}", number + 1
        self.taken.add(found)
        return found

    def _error(self, node: ast.AST, code: str, message: str, expected: str, *fix: str) -> ParseError:
        return self.source.error(node, code, message, expected=expected, fix=fix)


def _num_input(node: ast.FunctionDef) -> int | None:
    """The attribute `num_input` of TVM's frontends: how many parameters are inputs; the others are weights."""
    for part in ast.walk(node):
        match part:
            case ast.Dict():
                for key, value in zip(part.keys, part.values, strict=True):
                    match key, value:
                        case ast.Constant(value="num_input"), ast.Constant(value=int(number)):
                            return number
                        case _:
                            pass
            case _:
                pass
    return None


def _number(node: ast.Call) -> float | int | bool | None:
    """The finite number that `R.const(2.5, "float32")` stands for; None for other values."""
    match node.args:
        case [ast.Constant(value=bool() | int() | float() as value), *_]:
            return value if isfinite(value) else None
        case [ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)), *_]:
            return -value if isfinite(value) else None
        case _:
            return None


def _flat(item: Item) -> Iterable[GraphTensor | Constant | Expr]:
    if isinstance(item, tuple):
        for part in item:
            yield from _flat(part)
    else:
        yield item


def _tensors(item: Item) -> Iterable[GraphTensor]:
    for part in _flat(item):
        if isinstance(part, Constant):
            part = part.tensor
        if isinstance(part, GraphTensor):
            yield part
