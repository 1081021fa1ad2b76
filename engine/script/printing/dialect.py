"""Differences between the dialects of TVMScript in print."""

from __future__ import annotations

import msgspec

PRIVATE = "private"
"""The attribute of a function without a global symbol, `@T.prim_func(private=True)`."""

S_TIR = "s_tir"
"""The attribute of a function of the current dialect without `s_tir=True`, a lowered one: false."""
RETURNS = "->"
"""The attribute with the type that a function returns."""
OPTIONS = (PRIVATE, S_TIR, RETURNS)
"""Attributes that are printed in the header of a function."""


class Words(msgspec.Struct, frozen=True):
    """The spellings of one dialect."""

    module: str
    function_option: str
    block: str
    block_attr: str
    alloc_buffer: str
    allocate: str
    attribute_prefix: str
    let: str
    scalars: bool
    """Whether `x: T.float32 = v` declares a mutable scalar; in the classic dialect it is a let."""

    def attribute(self, name: str) -> str:
        """Return a function attribute's name; TVM's own attributes have the namespace as prefix: "tirx.noalias"."""
        return f"{self.attribute_prefix}{name.removeprefix('tirx.')}" if name.startswith("tirx.") else name


CURRENT = Words(
    "tirx",
    "s_tir=True",
    "T.sblock",
    "T.sblock_attr",
    "T.sblock_alloc_buffer",
    "T.alloc_buffer",
    "tirx.",
    "T.let[T.{}]",
    True,
)
CLASSIC = Words("tir", "", "T.block", "T.block_attr", "T.alloc_buffer", "T.allocate", "tir.", "T.{}", False)
