"""Index maps: the axes of one layout as functions of the axes of another, with TVM's AXIS_SEPARATOR."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace as replace_fields

from .build import Term, add, as_expr, unwrap
from .expr import Expr, IntImm, Node, Var
from .visitor import rewrite, substitute, uses_var


class AxisSeparator(msgspec.Struct, frozen=True):
    """The type of AXIS_SEPARATOR."""

    def __repr__(self) -> str:
        return "AXIS_SEPARATOR"


AXIS_SEPARATOR: Final = AxisSeparator()


IndexFunction = (
    Callable[[Term, Term], Any]
    | Callable[[Term, Term, Term], Any]
    | Callable[[Term, Term, Term, Term], Any]
    | Callable[[Term, Term, Term, Term, Term], Any]
    | Callable[[Term, Term, Term, Term, Term, Term], Any]
    | Callable[..., Any]
)
"""A Python function of axes that returns new axes. A type checker infers the parameters of a lambda only from an equal number here."""


class IndexMap(msgspec.Struct, frozen=True, eq=False):
    """A map `params -> indices`. `separators` are the positions in `indices` that an axis separator precedes."""

    params: tuple[Var, ...]
    indices: tuple[Expr, ...]
    separators: tuple[int, ...] = ()

    @staticmethod
    def from_function(function: IndexFunction, ndim: int, dtype: str = "int32") -> IndexMap:
        """Convert a Python function of `ndim` axes that returns the new axes, as in TVM's `transform_layout`.

        A `*name` parameter receives all remaining axes. Raises TypeError when the number of axes does not fit.
        """
        return IndexMap.from_items(*_called(function, ndim, dtype))

    @staticmethod
    def from_items(params: Sequence[Var], items: Sequence[Any]) -> IndexMap:
        """Build the map from the new axes in order, with AXIS_SEPARATOR among them."""
        indices: list[Expr] = []
        separators: list[int] = []
        for item in items:
            if isinstance(item, AxisSeparator):
                separators.append(len(indices))
            else:
                indices.append(as_expr(unwrap(item), params[0].dtype if params else "int32"))
        return IndexMap(tuple(params), tuple(indices), tuple(separators))

    def with_dtype(self, dtype: str) -> IndexMap:
        """Return the map with variables and constants of the integer type `dtype`."""
        if all(e.dtype == dtype for e in (*self.params, *self.indices)):
            return self
        fresh = {p: Var(p.name, dtype) for p in self.params}

        def leave(node: Node) -> Node:
            if isinstance(node, Var):
                return fresh.get(node, node)
            return IntImm(node.value, dtype) if isinstance(node, IntImm) and node.dtype != "bool" else node

        return IndexMap(tuple(fresh.values()), tuple(rewrite(i, leave) for i in self.indices), self.separators)

    def with_sizes(self, sizes: Mapping[Var, Var]) -> IndexMap:
        """Return the map with variables for symbolic sizes replaced by the sizes, and of their integer type."""
        used = [size for var, size in sizes.items() if any(uses_var(i, var) for i in self.indices)]
        if not used:
            return self
        indices = tuple(
            rewrite(i, lambda node: sizes.get(node, node) if isinstance(node, Var) else node) for i in self.indices
        )
        return replace_fields(self, indices=indices).with_dtype(used[0].dtype)

    def replaced(self, values: Mapping[Var, Expr]) -> IndexMap:
        """Return the map with variables of its indices replaced."""
        return replace_fields(self, indices=substitute_all(self.indices, dict(values)))

    def apply(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Map old indices to new ones, not simplified."""
        if len(indices) != len(self.params):
            raise TypeError(f"the index map has {len(self.params)} axes, not {len(indices)}")
        return substitute_all(self.indices, dict(zip(self.params, indices, strict=True)))


class RegionMap(msgspec.Struct, frozen=True, eq=False):
    """A map `params -> box`, with begin and end for each axis, as in TVM's `annotate_buffer_access`."""

    params: tuple[Var, ...]
    ends: tuple[tuple[Expr, Expr], ...]

    @staticmethod
    def from_function(function: IndexFunction, ndim: int, dtype: str = "int32") -> RegionMap:
        """Convert a Python function of `ndim` iterators that returns an index, or (begin, end), for each axis."""
        return RegionMap.from_items(*_called(function, ndim, dtype))

    @staticmethod
    def from_items(params: Sequence[Var], items: Sequence[Any]) -> RegionMap:
        """Build the map from an index or a (begin, end) pair for each axis. Raises TypeError for anything else."""
        dtype = params[0].dtype if params else "int32"
        ends: list[tuple[Expr, Expr]] = []
        for item in items:
            values = cast("Sequence[Any]", item) if isinstance(item, list | tuple) else (item,)
            if len(values) not in (1, 2):
                raise TypeError(f"an axis needs an index, or a begin and an end, not {len(values)} values")
            begin = as_expr(unwrap(values[0]), dtype)
            ends.append((begin, as_expr(unwrap(values[1]), dtype) if len(values) == 2 else add(begin, 1)))
        return RegionMap(tuple(params), tuple(ends))

    def apply(self, iters: Sequence[Expr]) -> tuple[tuple[Expr, Expr], ...]:
        """Return the ends for given iterators, not simplified."""
        if len(iters) != len(self.params):
            raise TypeError(f"the map has {len(self.params)} iterators, not {len(iters)}")
        values = dict(zip(self.params, iters, strict=True))
        return tuple((substitute(begin, values), substitute(end, values)) for begin, end in self.ends)


def _called(function: Callable[..., Any], ndim: int, dtype: str) -> tuple[list[Var], Sequence[Any]]:
    """Call the function with variables for the axes; return these and the list of results."""
    params, named = _axes(function, ndim, dtype)
    given = [Term(p) for p in params]
    result = function(
        *given[: ndim - named], **{p.name: t for p, t in list(zip(params, given, strict=True))[ndim - named :]}
    )
    return params, cast("Sequence[Any]", result) if isinstance(result, list | tuple) else [result]


def substitute_all(exprs: Sequence[Expr], values: dict[Var, Expr]) -> tuple[Expr, ...]:
    """Apply `substitute` to each of `exprs`."""
    return tuple(substitute(e, values) for e in exprs)


def _axes(function: Callable[..., Any], ndim: int, dtype: str) -> tuple[list[Var], int]:
    """Return a variable for each axis, and the number of trailing keyword-only ones (those after a `*name`)."""
    parameters = list(inspect.signature(function).parameters.values())
    starred = [p for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    names: list[str] = []
    for parameter in parameters:
        if parameter in starred:
            names.extend(f"{parameter.name}_{i}" for i in range(ndim - len(parameters) + 1))
        else:
            names.append(parameter.name)
    if len(names) != ndim:
        raise TypeError(f"the index map has {len(names)} axes, but the buffer has {ndim}")
    named = sum(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)
    return [Var(name, dtype) for name in names], named
