"""What a pass that replaces buffers gives: the program, and which buffer stands for which."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..ir import Buffer, PrimFunc


class RewriteResult(msgspec.Struct, frozen=True, eq=False):
    """`buffers` has an entry for each buffer that was replaced."""

    func: PrimFunc
    buffers: Mapping[Buffer, Buffer]
