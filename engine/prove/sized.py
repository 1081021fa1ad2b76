"""A program and its original with numeric sizes: for runs, and for proofs that are out of reach for all sizes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ..arith import simplify
from ..execute import ParameterLayout
from ..ir import Expr, IndexMap, PrimFunc, Var, substitute
from ..lower import size_values, with_sizes


class Sized(msgspec.Struct, frozen=True, eq=False):
    """The three inputs of a comparison, and the `sizes` substituted in them."""

    func: PrimFunc
    original: PrimFunc
    layouts: tuple[ParameterLayout, ...]
    sizes: Mapping[str, int]

    @property
    def text(self) -> str:
        """The sizes as text: "M = 256, K = 512"."""
        return ", ".join(f"{name} = {size}" for name, size in self.sizes.items())


def sized(
    func: PrimFunc, original: PrimFunc, layouts: Sequence[ParameterLayout], sizes: Mapping[str, int] | None
) -> Sized:
    """The programs and layouts with these sizes. Raises LowerError "unknown-size", "bad-size"."""
    if not sizes:
        return Sized(func, original, tuple(layouts), {})
    values = size_values(original, sizes) | size_values(func, sizes)
    return Sized(
        with_sizes(func, sizes).func,
        with_sizes(original, sizes).func,
        tuple(_layout(x, values) for x in layouts),
        dict(sizes),
    )


def _layout(layout: ParameterLayout, values: Mapping[Var, Expr]) -> ParameterLayout:
    def shape(extents: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(simplify(substitute(e, values)) for e in extents)

    return replace_fields(
        layout,
        index_map=_map(layout.index_map, values),
        before=shape(layout.before),
        after=shape(layout.after),
        pad_value=None if layout.pad_value is None else _map(layout.pad_value, values),
    )


def _map(index_map: IndexMap, values: Mapping[Var, Expr]) -> IndexMap:
    return replace_fields(index_map, indices=tuple(substitute(e, values) for e in index_map.indices))
