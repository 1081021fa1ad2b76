"""Rules of the derivation: each adds calls to the draft of a group where its precondition holds. The table has them in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import getdoc
from textwrap import wrap

import msgspec

from ...cancellation import checkpoint
from .draft import Group, ScheduleDraft
from .engines import choose_engines
from .fuse import choose_memories, fuse_followers, fuse_producers, inline_producers, keep_on_chip
from .gpu.threads import add_grid, bind_threads
from .gpu.warps import load_fragments, tensorize_fragments, tile_in_warps
from .inner import tile_inside
from .lanes import sum_in_lanes, vectorize_blocks
from .main_block import bring_operands, follow_main, keep_sums, lay_out_copies, tile_main
from .overlap import pipeline_tiles
from .stage import decompose_padding, stage_operands, store_part, store_result
from .tiles import tile_last

Apply = Callable[[ScheduleDraft], object]


class ScheduleRule(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. The docstring of `apply` states the precondition and the lines that it writes. With `at_end` it is
    applied after the other rules of all groups."""

    code: str
    title: str
    apply: Apply
    at_end: bool = False

    @property
    def what(self) -> str:
        """The precondition and the lines, from the docstring of `apply`."""
        return getdoc(self.apply) or ""


SCHEDULE_RULES: tuple[ScheduleRule, ...] = (
    ScheduleRule("part", "Parts of a result", store_part),
    ScheduleRule("inline", "Elementwise work in its reader", inline_producers),
    ScheduleRule("lanes", "Sums along rows", sum_in_lanes),
    ScheduleRule("engine", "The engine of each block", choose_engines),
    ScheduleRule("tile", "Tiles of the last block", tile_last),
    ScheduleRule("grid", "Blocks of threads", add_grid),
    ScheduleRule("fuse", "Producers tile by tile", fuse_producers),
    ScheduleRule("follow", "What follows a tile", fuse_followers),
    ScheduleRule("scope", "Intermediate buffers on chip", keep_on_chip),
    ScheduleRule("padding", "Padding filled and copied in place", decompose_padding),
    ScheduleRule("warps", "Products on tensor cores", tile_in_warps),
    ScheduleRule("inner", "Tiles inside of tiles", tile_inside),
    ScheduleRule("stage", "Operands copied to the engines", stage_operands),
    ScheduleRule("fragments", "Operands of tensor cores", load_fragments),
    ScheduleRule("store", "Results tile by tile", store_result),
    ScheduleRule("vectorize", "Vectors of the program", vectorize_blocks),
    ScheduleRule("memory", "Memories of intermediate buffers", choose_memories, at_end=True),
    ScheduleRule("threads", "Threads", bind_threads, at_end=True),
    ScheduleRule("intrinsics", "Tensor intrinsics", tensorize_fragments, at_end=True),
    ScheduleRule("pipeline", "Overlap of the engines", pipeline_tiles, at_end=True),
)
"""Each rule sees what the rules before it did."""

MAIN_RULES: tuple[ScheduleRule, ...] = (
    ScheduleRule("main-tile", "Tiles of the main block", tile_main),
    ScheduleRule("main-sums", "Sums on chip", keep_sums),
    ScheduleRule("main-operands", "Operands of the main block", bring_operands),
    ScheduleRule("main-follow", "What follows the main block", follow_main),
    ScheduleRule("main-layouts", "Layouts of the copies", lay_out_copies),
)
"""The rules that tile one block, the one with the most work."""

WIDTH = 110
"""Characters of a comment's line."""


def apply_rules(draft: ScheduleDraft, groups: Sequence[Group], rules: Sequence[ScheduleRule]) -> list[ScheduleDraft]:
    """Applies the rules to each group, then those that need the finished program: a call after a pipeline checks it again. Returns the
    drafts of the groups."""
    drafts: list[ScheduleDraft] = []
    for group in groups:
        checkpoint()
        part = draft.begin(group)
        for rule in rules:
            if not rule.at_end:
                _explained(part, rule)
        drafts.append(part)
    for rule in rules:
        for part in drafts:
            if rule.at_end:
                _explained(part, rule)
    return drafts


def _explained(part: ScheduleDraft, rule: ScheduleRule) -> None:
    """Applies a rule, and puts what it decided as a comment in front of its calls."""
    built, decided = len(part.builder.built), len(part.decisions)
    rule.apply(part)
    if part.decisions[decided:]:
        part.builder.built[built:built] = comment(f"{rule.title}: {'; '.join(part.decisions[decided:])}.")


def comment(text: str) -> list[str]:
    """The text as lines of a comment."""
    return wrap(text, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


__all__ = ["MAIN_RULES", "SCHEDULE_RULES", "Apply", "ScheduleRule", "apply_rules", "comment"]
