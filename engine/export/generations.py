"""Spellings and schedule methods of each generation of Apache TVM: facts, each with its source.

- Names of the newest: TVM 0.27's own signatures (a test compares this table with the installed TVM). apache-tvm 0.26.0 and 0.25.0.post1
  were checked too: they are the same, but 0.25 still has `set_axis_separator` (removed by apache/tvm#20019).
- T.sblock for T.block: #18689. `tvm.s_tir.Schedule` for `tvm.tir.Schedule`: #18728. `tirx` for `tir`: #18913. All in 0.24 (#19513).
- Before: `python/tvm/tir/schedule/schedule.py` at 072f0277 (2024, before 0.17): the same parameters under `get_block`.
- `split(disable_predication=…)`: #16862, in 0.17 (#17178). `fuse_reduction_epilogue`: #18418, in 0.23 (#18701).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ..ir import Refusal, TilewrightError

Version = tuple[int, int]
NEWEST: Version = (0, 27)
RECORDED: Version = (0, 16)
"""The oldest version whose signatures were read."""
OLDEST: Version = (0, 8)
"""The first version with block schedules."""


class Generation(msgspec.Struct, frozen=True):
    """A range of versions with the same spellings of programs and schedules."""

    versions: str
    first: Version
    dialect: Literal["current", "classic"]
    imports: tuple[str, ...]
    schedule: str
    get_block: str
    separator: str | None
    """Spelling of an axis separator in an index map; None for versions without axis separators."""


GENERATIONS: tuple[Generation, ...] = (
    Generation(
        "0.26 or newer",
        (0, 26),
        "current",
        ("from tvm import s_tir", "from tvm.script import ir as I", "from tvm.script import tirx as T"),
        "s_tir.Schedule",
        "get_sblock",
        None,
    ),
    Generation(
        "0.24 and 0.25",
        (0, 24),
        "current",
        ("from tvm import s_tir, tirx", "from tvm.script import ir as I", "from tvm.script import tirx as T"),
        "s_tir.Schedule",
        "get_sblock",
        "tirx.IndexMap.AXIS_SEPARATOR",
    ),
    Generation(
        "0.23 or older",
        OLDEST,
        "classic",
        ("from tvm import tir", "from tvm.script import ir as I", "from tvm.script import tir as T"),
        "tir.Schedule",
        "get_block",
        "tir.IndexMap.AXIS_SEPARATOR",
    ),
)


class Method(msgspec.Struct, frozen=True):
    """A schedule method of TVM: its parameters in order, its kind of result, and its first and last version."""

    parameters: tuple[str, ...]
    gives: Literal["nothing", "one", "list"]
    first: Version = OLDEST
    last: Version | None = None
    later: tuple[tuple[str, Version], ...] = ()
    """Parameters that were added after the method, with their first version."""

    def is_in(self, version: Version) -> bool:
        return self.first <= version and (self.last is None or version <= self.last)

    def has(self, parameter: str, version: Version) -> bool:
        return parameter in self.parameters and dict(self.later).get(parameter, OLDEST) <= version


def _method(
    text: str,
    gives: Literal["nothing", "one", "list"] = "nothing",
    first: Version = OLDEST,
    last: Version | None = None,
    later: tuple[tuple[str, Version], ...] = (),
) -> Method:
    return Method(tuple(text.split()), gives, first, last, later)


METHODS: dict[str, Method] = {
    "work_on": _method("func_name"),
    "get_sblock": _method("name func_name", "one"),
    "get_loops": _method("block", "list"),
    "get_child_blocks": _method("block_or_loop", "list"),
    "get_producers": _method("block", "list"),
    "get_consumers": _method("block", "list"),
    "get_output_blocks": _method("scope_block", "list"),
    "merge": _method("loops", "one"),
    "fuse": _method("loops preserve_unit_iters", "one"),
    "split": _method(
        "loop factors preserve_unit_iters disable_predication", "list", later=(("disable_predication", (0, 17)),)
    ),
    "loop_partition": _method("loop factors preserve_unit_iters", "list"),
    "reorder": _method("ordered_loops"),
    "reorder_block_iter_var": _method("block new_order"),
    "add_unit_loop": _method("block_or_loop", "one"),
    "parallel": _method("loop"),
    "vectorize": _method("loop"),
    "bind": _method("loop thread_axis"),
    "unroll": _method("loop"),
    "cache_read": _method("block read_buffer_index storage_scope consumer_blocks", "one"),
    "cache_write": _method("block write_buffer_index storage_scope consumer_blocks", "one"),
    "reindex_cache_read": _method("block read_buffer_index storage_scope index_map", "one"),
    "reindex_cache_write": _method("block write_buffer_index storage_scope index_map", "one"),
    "cache_inplace": _method("block read_buffer_index storage_scope", "list"),
    "cache_index": _method("block storage_scope cse_thresh", "list"),
    "reindex": _method("block buffer", "one"),
    "read_at": _method("loop block read_buffer_index storage_scope", "one"),
    "write_at": _method("loop block write_buffer_index storage_scope", "one"),
    "compute_at": _method("block loop preserve_unit_loops index"),
    "reverse_compute_at": _method("block loop preserve_unit_loops index"),
    "compute_inline": _method("block"),
    "reverse_compute_inline": _method("block"),
    "fuse_reduction_epilogue": _method("reduction_block epilogue_block", first=(0, 23)),
    "decompose_reduction": _method("block loop", "one"),
    "rfactor": _method("loop factor_axis", "one"),
    "storage_align": _method("block buffer_index axis factor offset"),
    "set_scope": _method("block buffer_index storage_scope"),
    "unsafe_set_dtype": _method("block buffer_index dtype"),
    "blockize": _method("target preserve_unit_iters", "one"),
    "tensorize": _method("block_or_loop tensor_intrin preserve_unit_iters"),
    "annotate": _method("block_or_loop ann_key ann_val"),
    "unannotate": _method("block_or_loop ann_key"),
    "transform_layout": _method("block buffer index_map pad_value assume_injective_transform"),
    "transform_block_layout": _method("block index_map"),
    "set_axis_separator": _method("block buffer axis_separators", last=(0, 25)),
    "decompose_padding": _method("block loop", "one"),
    "can_decompose_padding": _method("block loop", "one"),
    "pad_einsum": _method("block padding"),
    "rolling_buffer": _method("block write_buffer_index"),
    "sample_categorical": _method("candidates probs decision", "one"),
    "sample_perfect_tile": _method("loop n max_innermost_factor decision", "list"),
    "sample_partitioned_tile": _method("loop n partition_pos innerpart_factor decision", "list", first=(0, 13)),
    "sample_compute_location": _method("block decision", "one"),
    "enter_postproc": _method(""),
    "unsafe_hide_buffer_access": _method("block buf_type buf_index_array"),
    "annotate_buffer_access": _method("block buffer_index buf_type gen_new_ranges", first=RECORDED),
}
"""Methods by TVM's current name; `get_sblock` is `Generation.get_block` before 0.24."""


def read_version(text: str) -> Version:
    """Parse a version: (0, 22) for "0.22" or "0.22.1". Raises TilewrightError "unknown-version"."""
    parts = text.strip().split(".")
    numbers = [int(p) for p in parts[:2] if p.isdecimal() and len(p) < 4]
    if len(numbers) == 2 and (numbers[0], numbers[1]) >= OLDEST:
        return numbers[0], numbers[1]
    raise TilewrightError(
        Refusal(
            "unknown-version",
            f"there is no Apache TVM {text!r} with block schedules",
            found=text,
            expected=f"{version_text(OLDEST)} to {version_text(NEWEST)}, or newer",
        )
    )


def version_text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def generation_of(version: Version) -> Generation:
    """Return the generation of `version`."""
    return next(g for g in GENERATIONS if g.first <= version)
