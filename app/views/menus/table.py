"""The menus of loops and blocks: every primitive without a drag gesture, in the usual order of work."""

from __future__ import annotations

from collections.abc import Sequence

from ....engine.hwsim import Machine
from ....engine.ir import PrimFunc, Var
from . import copies, kernels, layouts, loops, notes, reductions
from .entry import Entry, MenuGroup, MenuItem, entries, never, no_fields
from .facts import SCOPES, Facts

LOOP_MENU: tuple[MenuGroup, ...] = (
    MenuGroup("Shape", (
        MenuItem("split", "Split…", "s", "divide a loop into nested loops", loops.split_fields, never),
        MenuItem("fuse", "Fuse…", "f", "combine nested loops into one", loops.fuse_fields, loops.no_inner_loop),
        MenuItem("tile", "Tile…", "t", "divide nested loops into tiles: splits and a reorder", loops.tile_fields, loops.no_inner_loop),
        MenuItem("loop_partition", "Partition…", "k", "divide its range into loops that are scheduled separately",
             loops.partition_fields, loops.too_short, rare=True),
        MenuItem("merge", "Merge…", "m", "combine with a later loop, iteration by iteration",
             loops.merge_fields, loops.no_mergeable_loop, rare=True),
        MenuItem("add_unit_loop", "Add unit loop", "o", "add a loop of one iteration around it", no_fields, never, rare=True),
    )),
    MenuGroup("Kind", (
        MenuItem("parallel", "Parallel", "p", "run iterations on several cores", no_fields, loops.is_kind("parallel")),
        MenuItem("vectorize", "Vectorize", "v", "run iterations as lanes of vector instructions", no_fields, loops.is_kind("vectorized")),
        MenuItem("unroll", "Unroll", "u", "repeat the body for each iteration", no_fields, loops.is_kind("unrolled")),
        MenuItem("bind", "Bind to thread…", "b", "run each iteration on a thread of an axis", loops.bind_fields, never),
    )),
    MenuGroup("Computation", (
        MenuItem("rfactor", "Factor reduction…", "x", "compute partial results per iteration first",
             reductions.rfactor_fields, reductions.not_reduced),
        MenuItem("tensorize", "Tensorize…", "y", "replace it by an instruction of the machine",
             reductions.intrin_fields, reductions.no_instruction_for_loop),
        MenuItem("blockize", "Blockize", "z", "turn its body into one block", no_fields, reductions.not_one_block),
    )),
    MenuGroup("Copies and pipelines", (
        MenuItem("pipeline", "Pipeline…", "d", "load for the next iteration during this one",
             loops.pipeline_fields, loops.no_pipeline),
        MenuItem("read_at", "Read a tile here…", "l", "load the data of an iteration in one block",
             loops.copy_at_fields("read"), loops.touches_nothing("read")),
        MenuItem("write_at", "Write a tile here…", "w", "store the results of an iteration in one block",
             loops.copy_at_fields("write"), loops.touches_nothing("write")),
    )),
    MenuGroup("Notes", (
        MenuItem("annotate", "Annotate…", "a", "add a note for later passes", notes.annotate_fields, never),
        MenuItem("unannotate", "Remove annotation…", "n", "remove a note", notes.unannotate_fields, notes.no_annotations),
    )),
)  # fmt: skip

BLOCK_MENU: tuple[MenuGroup, ...] = (
    MenuGroup("Place", (
        MenuItem("compute_inline", "Inline into consumers", "i", "compute it where its output is used", no_fields, copies.no_consumer),
        MenuItem("reverse_compute_inline", "Inline into producer", "e", "compute it where its input is produced",
             no_fields, copies.no_producer),
        MenuItem("add_unit_loop", "Add unit loop", "o", "add a loop of one iteration around it", no_fields, never, rare=True),
    )),
    MenuGroup("Copies", (
        MenuItem("cache_read", "Cache read…", "l", "load an operand into a nearer memory",
             copies.cache_fields("read"), copies.no_reads),
        MenuItem("cache_write", "Cache write…", "w", "compute into a nearer memory, then store",
             copies.cache_fields("write"), copies.no_writes),
        MenuItem("double_buffer", "Double buffer", "d", "two slots: fill one while the other is used",
             no_fields, copies.double_buffered),
        MenuItem("double_buffer", "Several slots…", "N", "three or more slots: load further ahead",
             copies.slot_fields, copies.double_buffered),
        MenuItem("double_buffer", "Slots in banks…", "B", "slots in different physical blocks",
             copies.bank_fields, copies.no_banks),
        MenuItem("set_scope", "Set scope…", "g", "move its output buffer to another memory",
             copies.scope_fields, copies.writes_params_only),
        MenuItem("cache_inplace", "Cache in place…", "I", "update a copy in a nearer memory, and store it back",
             copies.inplace_fields, copies.not_in_place, rare=True),
        MenuItem("reindex", "Reindex…", "R", "copy a buffer in the order of its iterators",
             copies.reindex_fields, copies.holds_blocks, rare=True),
        MenuItem("reindex_cache_read", "Cache read by a map…", "L", "load elements to the positions of an index map",
             copies.mapped_fields("read"), copies.no_leaf_reads, rare=True),
        MenuItem("reindex_cache_write", "Cache write by a map…", "W", "compute at the positions of an index map, then store",
             copies.mapped_fields("write"), copies.no_leaf_writes, rare=True),
        MenuItem("cache_index", "Tabulate indices…", "X", "precompute its index expressions",
             copies.index_fields, copies.no_stores, rare=True),
    )),
    MenuGroup("Layout", (
        MenuItem("transform_layout", "Transform layout…", "t", "change a buffer's layout by an index map",
             layouts.layout_fields, layouts.touches_no_array),
        MenuItem("storage_align", "Align storage…", "A", "pad rows to an aligned stride", layouts.align_fields, copies.writes_params_only),
        MenuItem("set_layout", "Set layout…", "O", "set the order or the strides of a buffer's axes",
             layouts.order_fields, layouts.touches_no_array, rare=True),
        MenuItem("set_axis_separator", "Separate axes…", "S", "keep groups of axes separate in memory",
             layouts.separator_fields, layouts.touches_no_array, rare=True),
        MenuItem("unsafe_set_dtype", "Set type…", "y", "store it in another type; values may change",
             layouts.dtype_fields, copies.writes_params_only, rare=True),
        MenuItem("transform_block_layout", "Transform iterators…", "T", "map its iterators to other axes",
             layouts.iterator_map_fields, layouts.not_alone_in_loops, rare=True),
        MenuItem("reorder_block_iter_var", "Reorder iterators…", "v", "change the order of its iterators",
             layouts.iterator_order_fields, layouts.no_iterators, rare=True),
    )),
    MenuGroup("Computation", (
        MenuItem("decompose_reduction", "Decompose reduction…", "x", "move the init to a separate block",
             reductions.loop_fields, reductions.no_reduction),
        MenuItem("tensorize", "Tensorize…", "Y", "replace it by an instruction of the machine",
             reductions.intrin_fields, reductions.no_instruction_for_block),
        MenuItem("pad_einsum", "Pad to round sizes…", "z", "pad operands with zeros to multiples",
             reductions.round_fields, layouts.no_iterators),
        MenuItem("decompose_padding", "Decompose padding…", "p", "fill first, then copy the interior",
             reductions.padding_fields, reductions.no_padding, rare=True),
        MenuItem("fuse_reduction_epilogue", "Fuse epilogue…", "q", "use the added operand as the init",
             reductions.epilogue_fields, reductions.no_epilogue, rare=True),
        MenuItem("rolling_buffer", "Roll buffer…", "u", "reuse the overlap of consecutive tiles",
             reductions.rolling_fields, reductions.not_rolling, rare=True),
    )),
    MenuGroup("Notes", (
        MenuItem("annotate", "Annotate…", "a", "add a note for later passes", notes.annotate_fields, never),
        MenuItem("unannotate", "Remove annotation…", "n", "remove a note", notes.unannotate_fields, notes.no_annotations),
        MenuItem("annotate_buffer_access", "Declare access…", "D", "declare the region that it reads or writes",
             notes.access_fields, notes.touches_no_buffer, rare=True),
        MenuItem("unsafe_hide_buffer_access", "Hide reads…", "H", "remove reads from its declaration, to match an intrinsic",
             notes.hidden_fields, notes.reads_no_constant, rare=True),
    )),
)  # fmt: skip

LOOP_ITEMS = tuple(item for group in LOOP_MENU for item in group.items)
BLOCK_ITEMS = tuple(item for group in BLOCK_MENU for item in group.items)


def row_menus(
    func: PrimFunc, scopes: Sequence[str] = SCOPES, *, machine: Machine | None = None, intrinsics: Sequence[str] = ()
) -> dict[str, list[Entry]]:
    """The menu of each row by its id. `scopes` are the choices for memories, the first as the default; `intrinsics` are the names of
    registered intrinsics."""
    facts = Facts(func, scopes, machine, intrinsics)
    return {row: menu_of(facts, row) for row in facts.ids}


def menu_of(facts: Facts, row: str) -> list[Entry]:
    """The entries of one row, as in `row_menus`."""
    handle = facts.ids[row]
    if isinstance(handle, Var):
        groups = LOOP_MENU if facts.kernel is None else (kernels.LOOP_GROUP, *LOOP_MENU)
        return entries(groups, facts, facts.index.loop(handle))
    groups = BLOCK_MENU if facts.kernel is None else (kernels.BLOCK_GROUP, *BLOCK_MENU)
    return entries(groups, facts, facts.index.block(handle))
