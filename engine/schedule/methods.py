"""The primitives as methods, with TVM's names, parameters and defaults. Each passes its arguments to the table of primitives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from ..ir import Buffer, Expr, IndexMap, RegionMap, Var
from .context import BlockRV, Context, LoopRV
from .errors import refuse
from .intrin import TensorIntrin
from .primitives import PRIMITIVES
from .primitives.loops.kinds import AnnotationLike

M = TypeVar("M", IndexMap, RegionMap)
IndexMapLike = IndexMap | Callable[..., Any]
BufferLike = int | str | tuple[str, int] | Buffer


class Calls(ABC):
    """The calls that transform a program. A refused call raises ScheduleError and changes nothing."""

    @abstractmethod
    def _apply(self, name: str, arguments: dict[str, object]) -> tuple[Var | str, ...]:
        """Call a primitive, trace it, and return its results."""

    @property
    @abstractmethod
    def _ctx(self) -> Context:
        """The context of the current function."""

    def _many(self, name: str, /, **arguments: object) -> list[LoopRV]:
        return cast("list[LoopRV]", list(self._apply(name, arguments)))

    def _move(self, name: str, /, **arguments: object) -> None:
        self._apply(name, arguments)

    def _loop(self, name: str, /, **arguments: object) -> LoopRV:
        return cast("LoopRV", self._apply(name, arguments)[0])

    def _one(self, name: str, /, **arguments: object) -> BlockRV:
        return cast("BlockRV", self._apply(name, arguments)[0])

    def _block_map(self, block: BlockRV, index_map: IndexMapLike) -> IndexMap:
        """An index map of a block's iterators."""
        return index_map if isinstance(index_map, IndexMap) else self._of_iterators(block, index_map, IndexMap)

    def _of_iterators(self, block: BlockRV, function: Callable[..., Any], kind: type[M]) -> M:
        found = self._ctx.block(block)
        count = len(found.iter_vars)
        dtype = found.iter_vars[0].var.dtype if found.iter_vars else "int32"
        try:
            return kind.from_function(function, count, dtype)
        except (TypeError, ZeroDivisionError) as error:
            expected = f"a function of the {count} iterators of the block"
            raise refuse("bad-index-map", str(error), found, expected=expected) from error

    # Loops.

    def split(
        self,
        loop: LoopRV | str,
        factors: Sequence[int | Expr | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
        *,
        names: Sequence[str] | None = None,
    ) -> list[LoopRV]:
        if isinstance(loop, str) and "=>" in loop:
            loop, names = _split_pattern(loop, names)
        return self._many("split", loop=loop, factors=factors, preserve_unit_iters=preserve_unit_iters,
                          disable_predication=disable_predication, names=names)  # fmt: skip

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True, name: str | None = None) -> LoopRV:
        return self._loop("fuse", loops=loops, preserve_unit_iters=preserve_unit_iters, name=name)

    def reorder(self, *ordered_loops: LoopRV) -> None:
        self._apply("reorder", {"ordered_loops": ordered_loops})

    def tile(self, *loops: LoopRV, factors: Sequence[int], names: Sequence[str] | None = None) -> list[LoopRV]:
        return self._many("tile", loops=loops, factors=factors, names=names)

    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        return self._loop("add_unit_loop", block_or_loop=block_or_loop)

    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[int | None],
        preserve_unit_iters: bool = True,
        *,
        names: Sequence[str] | None = None,
    ) -> list[LoopRV]:
        return self._many("loop_partition", loop=loop, factors=factors, preserve_unit_iters=preserve_unit_iters,
                          names=names)  # fmt: skip

    def merge(self, *loops: LoopRV) -> LoopRV:
        return self._loop("merge", loops=loops)

    def parallel(self, loop: LoopRV) -> None:
        self._apply("parallel", {"loop": loop})

    def vectorize(self, loop: LoopRV) -> None:
        self._apply("vectorize", {"loop": loop})

    def unroll(self, loop: LoopRV) -> None:
        self._apply("unroll", {"loop": loop})

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        self._apply("bind", {"loop": loop, "thread_axis": thread_axis})

    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: AnnotationLike) -> None:
        self._apply("annotate", {"block_or_loop": block_or_loop, "ann_key": ann_key, "ann_val": ann_val})

    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        self._apply("unannotate", {"block_or_loop": block_or_loop, "ann_key": ann_key})

    # Moves.

    def compute_at(
        self,
        block: BlockRV,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
        *,
        keep_tiling: bool = False,
    ) -> None:
        self._move("compute_at", block=block, loop=loop, preserve_unit_loops=preserve_unit_loops, index=index,
                   keep_tiling=keep_tiling)  # fmt: skip

    def reverse_compute_at(
        self,
        block: BlockRV,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
        *,
        keep_tiling: bool = False,
    ) -> None:
        self._move("reverse_compute_at", block=block, loop=loop, preserve_unit_loops=preserve_unit_loops, index=index,
                   keep_tiling=keep_tiling)  # fmt: skip

    def compute_inline(self, block: BlockRV) -> None:
        self._apply("compute_inline", {"block": block})

    def reverse_compute_inline(self, block: BlockRV) -> None:
        self._apply("reverse_compute_inline", {"block": block})

    def fuse_reduction_epilogue(self, reduction_block: BlockRV, epilogue_block: BlockRV) -> None:
        self._apply("fuse_reduction_epilogue", {"reduction_block": reduction_block, "epilogue_block": epilogue_block})

    # Memory.

    def cache_read(
        self,
        block: BlockRV,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = None,
    ) -> BlockRV:
        return self._one("cache_read", block=block, read_buffer_index=read_buffer_index, storage_scope=storage_scope,
                         consumer_blocks=consumer_blocks)  # fmt: skip

    def cache_write(
        self,
        block: BlockRV,
        write_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV] | None = None,
    ) -> BlockRV:
        return self._one("cache_write", block=block, write_buffer_index=write_buffer_index, storage_scope=storage_scope,
                         consumer_blocks=consumer_blocks)  # fmt: skip

    def cache_inplace(self, block: BlockRV, read_buffer_index: int | str | Buffer, storage_scope: str) -> list[BlockRV]:
        found = self._apply(
            "cache_inplace", {"block": block, "read_buffer_index": read_buffer_index, "storage_scope": storage_scope}
        )
        return cast("list[BlockRV]", list(found))

    def reindex(self, block: BlockRV, buffer: tuple[str, int] | str | Buffer) -> BlockRV:
        return self._one("reindex", block=block, buffer=buffer)

    def reindex_cache_read(
        self, block: BlockRV, read_buffer_index: int, storage_scope: str, index_map: IndexMapLike
    ) -> BlockRV:
        return self._one("reindex_cache_read", block=block, read_buffer_index=read_buffer_index,
                         storage_scope=storage_scope, index_map=self._block_map(block, index_map))  # fmt: skip

    def reindex_cache_write(
        self, block: BlockRV, write_buffer_index: int, storage_scope: str, index_map: IndexMapLike
    ) -> BlockRV:
        return self._one("reindex_cache_write", block=block, write_buffer_index=write_buffer_index,
                         storage_scope=storage_scope, index_map=self._block_map(block, index_map))  # fmt: skip

    def read_at(
        self, loop: LoopRV, block: BlockRV, read_buffer_index: int | str | Buffer, storage_scope: str
    ) -> BlockRV:
        index = self._ctx.buffer_position(block, read_buffer_index, side="read")
        return self._one("read_at", loop=loop, block=block, read_buffer_index=index, storage_scope=storage_scope)

    def write_at(
        self, loop: LoopRV, block: BlockRV, write_buffer_index: int | str | Buffer, storage_scope: str
    ) -> BlockRV:
        index = self._ctx.buffer_position(block, write_buffer_index, side="write")
        return self._one("write_at", loop=loop, block=block, write_buffer_index=index, storage_scope=storage_scope)

    def cache_index(self, block: BlockRV, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
        found = self._apply("cache_index", {"block": block, "storage_scope": storage_scope, "cse_thresh": cse_thresh})
        return cast("list[BlockRV]", list(found))

    def annotate_buffer_access(
        self,
        block: BlockRV,
        buffer_index: int,
        buf_type: str,
        gen_new_ranges: RegionMap | IndexMap | Callable[..., Any],
    ) -> None:
        if isinstance(gen_new_ranges, IndexMap):
            gen_new_ranges = RegionMap.from_items(gen_new_ranges.params, gen_new_ranges.indices)
        if not isinstance(gen_new_ranges, RegionMap):
            gen_new_ranges = self._of_iterators(block, gen_new_ranges, RegionMap)
        self._apply("annotate_buffer_access", {"block": block, "buffer_index": buffer_index, "buf_type": buf_type,
                                               "gen_new_ranges": gen_new_ranges})  # fmt: skip

    def set_scope(self, block: BlockRV, buffer_index: int | str | Buffer, storage_scope: str) -> None:
        self._apply("set_scope", {"block": block, "buffer_index": buffer_index, "storage_scope": storage_scope})

    def transform_layout(
        self,
        block: BlockRV,
        buffer: BufferLike,
        index_map: IndexMapLike,
        pad_value: int | float | Expr | IndexMapLike | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        if not isinstance(index_map, IndexMap):
            index_map = _index_map(index_map, self._ctx.buffer_region(block, buffer, side="read").buffer)
        if callable(pad_value):
            region = self._ctx.buffer_region(block, buffer, side="read")
            pad_value = _pad_map(pad_value, region.buffer, len(index_map.indices))
        self._apply(
            "transform_layout",
            {"block": block, "buffer": buffer, "index_map": index_map, "pad_value": pad_value,
             "assume_injective_transform": assume_injective_transform},
        )  # fmt: skip

    def set_layout(self, block: BlockRV, buffer: BufferLike, order_or_strides: Sequence[int]) -> None:
        self._move("set_layout", block=block, buffer=buffer, order_or_strides=order_or_strides)

    def set_axis_separator(self, block: BlockRV, buffer: BufferLike, axis_separators: Sequence[int]) -> None:
        self._move("set_axis_separator", block=block, buffer=buffer, axis_separators=axis_separators)

    def storage_align(
        self, block: BlockRV, buffer_index: int | str | Buffer, axis: int, factor: int, offset: int
    ) -> None:
        self._move("storage_align", block=block, buffer_index=buffer_index, axis=axis, factor=factor, offset=offset)

    def unsafe_set_dtype(self, block: BlockRV, buffer_index: int | str | Buffer, dtype: str) -> None:
        self._move("unsafe_set_dtype", block=block, buffer_index=buffer_index, dtype=dtype)

    def transform_block_layout(self, block: BlockRV, index_map: IndexMapLike) -> None:
        self._move("transform_block_layout", block=block, index_map=self._block_map(block, index_map))

    def reorder_block_iter_var(self, block: BlockRV, new_order: Sequence[int]) -> None:
        self._move("reorder_block_iter_var", block=block, new_order=new_order)

    def double_buffer(self, block: BlockRV, *, banks: Sequence[int | str] | None = None, slots: int = 2) -> None:
        self._apply("double_buffer", {"block": block, "banks": banks, "slots": slots})

    def pipeline(
        self,
        loop: LoopRV,
        stages: Sequence[int],
        order: Sequence[int] | None = None,
        async_stages: Sequence[int] = (),
    ) -> None:
        self._apply("pipeline", {"loop": loop, "stages": stages, "order": order, "async_stages": async_stages})

    def decompose_reduction(self, block: BlockRV, loop: LoopRV) -> BlockRV:
        return self._one("decompose_reduction", block=block, loop=loop)

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        return self._one("rfactor", loop=loop, factor_axis=factor_axis)

    # Paddings.

    def decompose_padding(self, block: BlockRV, loop: LoopRV) -> BlockRV:
        return self._one("decompose_padding", block=block, loop=loop)

    def pad_einsum(self, block: BlockRV, padding: Sequence[int]) -> None:
        self._apply("pad_einsum", {"block": block, "padding": padding})

    def rolling_buffer(self, block: BlockRV, write_buffer_index: int | str | Buffer) -> None:
        self._apply("rolling_buffer", {"block": block, "write_buffer_index": write_buffer_index})

    # Blocks of blocks.

    def blockize(self, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
        return self._one("blockize", target=target, preserve_unit_iters=preserve_unit_iters)

    def tensorize(
        self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str | TensorIntrin, preserve_unit_iters: bool = True
    ) -> None:
        self._apply("tensorize", {"block_or_loop": block_or_loop, "tensor_intrin": tensor_intrin,
                                  "preserve_unit_iters": preserve_unit_iters})  # fmt: skip


for _name, _primitive in PRIMITIVES.items():
    getattr(Calls, _name).__doc__ = _primitive.apply.__doc__


def _index_map(function: Callable[..., Any], buffer: Buffer) -> IndexMap:
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    try:
        return IndexMap.from_function(function, len(buffer.shape), dtype)
    except (TypeError, ZeroDivisionError) as error:
        raise refuse("bad-index-map", str(error), buffer, expected=f"a function of {len(buffer.shape)} axes") from error


def _pad_map(function: Callable[..., Any], buffer: Buffer, rank: int) -> IndexMap:
    """The padding value as a function of the new axes."""
    dtype = buffer.shape[0].dtype if buffer.shape else "int32"
    try:
        found = IndexMap.from_function(function, rank, dtype)
    except (TypeError, ZeroDivisionError) as error:
        raise refuse("bad-pad-value", str(error), buffer, expected=f"a function of {rank} axes") from error
    return found


def _split_pattern(pattern: str, names: Sequence[str] | None) -> tuple[str, Sequence[str]]:
    """The loop and the names of "i => io, ii"; commas are optional."""
    loop, _, new = pattern.partition("=>")
    found = new.replace(",", " ").split()
    if names is not None or not found or not loop.strip().isidentifier():
        raise refuse("bad-names", f"{pattern!r} does not name a loop and its parts", expected='"i => io, ii"')
    return loop.strip(), found
