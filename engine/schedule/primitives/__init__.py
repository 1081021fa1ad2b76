"""The primitives, one family a file, and the one table of them all. The forms of the app, the docs and the tests go over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from ...ir import called_with
from ..context import Context, Result
from ..rules.finalize import settled
from .blocks import blockize, tensorize
from .copies import buffer_access, cache, cache_index, copy_at, reindex
from .layout import block_layout, buffer_layout, memory, pad_einsum, padding
from .loops import kinds, nests, overlap, transforms
from .motion import compute_at, inline, rolling
from .reduction import decompose, epilogue, rfactor

Returns = Literal["nothing", "one", "many"]


class Primitive(msgspec.Struct, frozen=True):
    """A schedule call that changes the program: `apply(context, **arguments) -> Result`."""

    apply: Callable[..., Result]
    returns: Returns = "nothing"

    @property
    def name(self) -> str:
        return self.apply.__name__

    def call(self, ctx: Context, arguments: Mapping[str, object]) -> Result:
        """Apply it with arguments by keyword; those that the signature takes as a list are handed over so. What comes of it is settled."""
        args, keywords = called_with(arguments)
        result = self.apply(ctx, *args, **keywords)
        func = settled(ctx, self.name, result.func)
        return result if func is result.func else msgspec.structs.replace(result, func=func)

    @property
    def summary(self) -> str:
        """The first line of the doc."""
        return (self.apply.__doc__ or "").strip().splitlines()[0]


PRIMITIVES: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive(transforms.split, "many"),
        Primitive(transforms.fuse, "one"),
        Primitive(transforms.reorder),
        Primitive(nests.tile, "many"),
        Primitive(nests.add_unit_loop, "one"),
        Primitive(nests.loop_partition, "many"),
        Primitive(nests.merge, "one"),
        Primitive(kinds.parallel),
        Primitive(kinds.vectorize),
        Primitive(kinds.unroll),
        Primitive(kinds.bind),
        Primitive(kinds.annotate),
        Primitive(kinds.unannotate),
        Primitive(overlap.double_buffer),
        Primitive(overlap.pipeline),
        Primitive(compute_at.compute_at),
        Primitive(compute_at.reverse_compute_at),
        Primitive(inline.compute_inline),
        Primitive(inline.reverse_compute_inline),
        Primitive(epilogue.fuse_reduction_epilogue),
        Primitive(cache.cache_read, "one"),
        Primitive(cache.cache_write, "one"),
        Primitive(cache.cache_inplace, "many"),
        Primitive(reindex.reindex, "one"),
        Primitive(reindex.reindex_cache_read, "one"),
        Primitive(reindex.reindex_cache_write, "one"),
        Primitive(copy_at.read_at, "one"),
        Primitive(copy_at.write_at, "one"),
        Primitive(cache_index.cache_index, "many"),
        Primitive(buffer_access.annotate_buffer_access),
        Primitive(memory.set_scope),
        Primitive(memory.storage_align),
        Primitive(memory.unsafe_set_dtype),
        Primitive(buffer_layout.transform_layout),
        Primitive(buffer_layout.set_layout),
        Primitive(buffer_layout.set_axis_separator),
        Primitive(block_layout.transform_block_layout),
        Primitive(block_layout.reorder_block_iter_var),
        Primitive(decompose.decompose_reduction, "one"),
        Primitive(rfactor.rfactor, "one"),
        Primitive(padding.decompose_padding, "one"),
        Primitive(pad_einsum.pad_einsum),
        Primitive(rolling.rolling_buffer),
        Primitive(blockize.blockize, "one"),
        Primitive(tensorize.tensorize),
    )
}

__all__ = ["PRIMITIVES", "Primitive"]
