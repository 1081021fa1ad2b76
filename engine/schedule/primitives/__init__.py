"""The primitives, one family a file, and the one table of them, which gives a schedule their methods. Docs, forms and tests go over it."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, overload

from msgspec.structs import replace as replace_fields

from ...ir import Refusal, called_with
from ..context import Context, R, Result
from ..errors import ArgumentError
from ..rules.finalize import finalize
from ..rules.while_loops import require_no_while
from .blocks.blockize import blockize
from .blocks.tensorize import tensorize
from .copies.buffer_access import annotate_buffer_access, unsafe_hide_buffer_access
from .copies.cache import cache_inplace, cache_read, cache_write
from .copies.cache_index import cache_index
from .copies.copy_at import read_at, write_at
from .copies.reindex import reindex, reindex_cache_read, reindex_cache_write
from .layout.block_layout import reorder_block_iter_var, transform_block_layout
from .layout.buffer_layout import set_axis_separator, set_layout, transform_layout
from .layout.memory import set_scope, storage_align, unsafe_set_dtype
from .layout.pad_einsum import pad_einsum
from .layout.padding import decompose_padding
from .loops.kinds import annotate, bind, parallel, unannotate, unroll, vectorize
from .loops.nests import add_unit_loop, loop_partition, merge, tile
from .loops.overlap import double_buffer, pipeline
from .loops.transforms import fuse, reorder, split
from .motion.compute_at import compute_at, reverse_compute_at
from .motion.inline import compute_inline, reverse_compute_inline
from .motion.rolling import rolling_buffer
from .reduction.decompose import decompose_reduction
from .reduction.epilogue import fuse_reduction_epilogue
from .reduction.rfactor import rfactor

P = ParamSpec("P")


class Primitive(Generic[P, R]):
    """A schedule call that changes the program: the function `apply(context, …) -> Result`, and a method of schedules.

    The method has the parameters, defaults, types and docstring of the function, and returns the value of its result.
    """

    def __init__(self, apply: Callable[Concatenate[Context, P], Result[R]]) -> None:
        self.apply = apply
        self.name = apply.__name__
        self._method = _method_of(self)

    @overload
    def __get__(self, schedule: None, owner: type[Primitives]) -> Callable[Concatenate[Primitives, P], R]: ...
    @overload
    def __get__(self, schedule: Primitives, owner: type[Primitives]) -> Callable[P, R]: ...
    def __get__(self, schedule: Primitives | None, owner: type[Primitives]) -> Callable[..., R]:
        return self._method if schedule is None else MethodType(self._method, schedule)

    def call(self, ctx: Context, arguments: Mapping[str, object]) -> Result[R]:
        """Apply it to arguments by keyword, including those that the signature takes as a list, and finalize the function."""
        ctx.require_known()
        require_no_while(ctx, self.name, arguments)
        args, keywords = called_with(arguments)
        result = self.apply(ctx, *args, **keywords)
        func = finalize(ctx, self.name, result.func)
        return result if func is result.func else replace_fields(result, func=func)

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.apply.__doc__ or "").strip().splitlines()[0]


def _method_of(primitive: Primitive[P, R]) -> Callable[Concatenate[Primitives, P], R]:
    own = inspect.signature(primitive.apply)
    signature = own.replace(parameters=list(own.parameters.values())[1:])
    bound = _binder(primitive.name, signature)

    @wraps(primitive.apply)
    def method(self: Primitives, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._apply(primitive, bound(args, kwargs))  # pyright: ignore[reportPrivateUsage] (defined for this call)

    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    value = own.return_annotation.removeprefix("Result[").removesuffix("]")
    shown = own.replace(parameters=[this, *signature.parameters.values()], return_annotation=value)
    method.__dict__["__signature__"] = shown
    method.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()} | {"return": value}
    return method


def _binder(name: str, signature: inspect.Signature) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, object]]:
    """Return the function that gives arguments by name, with defaults: `signature.bind`, but quicker, because it is a part of each call."""
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    listed = next((n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL), None)
    places = [n for n, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    missing = inspect.Parameter.empty
    defaults = {p.name: p.default for p in signature.parameters.values()}

    def bound(args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, object]:
        found = {**defaults, **dict(zip(places, args, strict=False)), **keywords}
        twice = listed in keywords or not keywords.keys().isdisjoint(places[: len(args)])
        if listed is not None:
            found[listed] = args
        elif len(args) > len(places):
            twice = True
        if twice or len(found) > len(defaults) or any(value is missing for value in found.values()):
            try:
                signature.bind(*args, **keywords)
            except TypeError as error:
                raise _unfit(name, signature, keywords, str(error)) from None
        return found

    return bound


def _unfit(name: str, signature: inspect.Signature, keywords: Mapping[str, object], problem: str) -> ArgumentError:
    """The error for arguments that do not fit; for an unknown keyword, with the nearest name."""
    known = list(signature.parameters)
    unknown = [keyword for keyword in keywords if keyword not in known]
    near = [f"{new}=…" for old in unknown for new in get_close_matches(old, known, n=1)]
    if unknown:
        problem = f"got an unexpected keyword argument {unknown[0]!r}"
    expected = f"{name}({', '.join(map(str, signature.replace(return_annotation=inspect.Signature.empty).parameters))})"
    return ArgumentError(Refusal("bad-arguments", f"{name}() {problem}", expected=expected, fix=tuple(near)))


class Primitives(ABC):
    """The calls that transform a program. A refused call raises ScheduleError and changes nothing."""

    @abstractmethod
    def _apply(self, primitive: Primitive[..., R], arguments: Mapping[str, object]) -> R:
        """Call a primitive with all of its arguments by keyword, trace the call, and return its value."""

    # Loops.
    split = Primitive(split)
    fuse = Primitive(fuse)
    reorder = Primitive(reorder)
    tile = Primitive(tile)
    add_unit_loop = Primitive(add_unit_loop)
    loop_partition = Primitive(loop_partition)
    merge = Primitive(merge)
    parallel = Primitive(parallel)
    vectorize = Primitive(vectorize)
    unroll = Primitive(unroll)
    bind = Primitive(bind)
    annotate = Primitive(annotate)
    unannotate = Primitive(unannotate)
    double_buffer = Primitive(double_buffer)
    pipeline = Primitive(pipeline)
    # Block motion.
    compute_at = Primitive(compute_at)
    reverse_compute_at = Primitive(reverse_compute_at)
    compute_inline = Primitive(compute_inline)
    reverse_compute_inline = Primitive(reverse_compute_inline)
    fuse_reduction_epilogue = Primitive(fuse_reduction_epilogue)
    # Copies.
    cache_read = Primitive(cache_read)
    cache_write = Primitive(cache_write)
    cache_inplace = Primitive(cache_inplace)
    reindex = Primitive(reindex)
    reindex_cache_read = Primitive(reindex_cache_read)
    reindex_cache_write = Primitive(reindex_cache_write)
    read_at = Primitive(read_at)
    write_at = Primitive(write_at)
    cache_index = Primitive(cache_index)
    annotate_buffer_access = Primitive(annotate_buffer_access)
    unsafe_hide_buffer_access = Primitive(unsafe_hide_buffer_access)
    # Memory and layout.
    set_scope = Primitive(set_scope)
    storage_align = Primitive(storage_align)
    unsafe_set_dtype = Primitive(unsafe_set_dtype)
    transform_layout = Primitive(transform_layout)
    set_layout = Primitive(set_layout)
    set_axis_separator = Primitive(set_axis_separator)
    transform_block_layout = Primitive(transform_block_layout)
    reorder_block_iter_var = Primitive(reorder_block_iter_var)
    # Reductions and paddings.
    decompose_reduction = Primitive(decompose_reduction)
    rfactor = Primitive(rfactor)
    decompose_padding = Primitive(decompose_padding)
    pad_einsum = Primitive(pad_einsum)
    rolling_buffer = Primitive(rolling_buffer)
    # Nested blocks.
    blockize = Primitive(blockize)
    tensorize = Primitive(tensorize)


PRIMITIVES: dict[str, Primitive[..., Any]] = {
    name: primitive for name, primitive in vars(Primitives).items() if isinstance(primitive, Primitive)
}

__all__ = ["PRIMITIVES", "Primitive", "Primitives"]
