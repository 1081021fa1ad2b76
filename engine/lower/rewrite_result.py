"""The result of a pass that replaces buffers: the program and the buffer map."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..ir import Buffer, PrimFunc


class RewriteResult(msgspec.Struct, frozen=True, eq=False):
    """A program and a map with an entry for each replaced buffer."""

    func: PrimFunc
    buffers: Mapping[Buffer, Buffer]
