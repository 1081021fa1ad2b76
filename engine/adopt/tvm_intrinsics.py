"""Tensor intrinsics that TVM has registered in this process, for traces that name them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..schedule import Intrinsics, process_intrinsics
from ..script import from_tvm
from .instructions import Instruction


def intrinsics_for(instructions: Iterable[Instruction]) -> Intrinsics:
    """Return Tilewright's registered intrinsics, and those of TVM that the instructions name and Tilewright lacks.

    TVM is not imported: a program that builds traces has loaded it. An unknown name is left to `tensorize`, which refuses it.
    """
    own = process_intrinsics()
    lacking = {name: _registered(name) for name in _named(instructions) if own.find(name) is None}
    added = {name: theirs for name, theirs in lacking.items() if theirs is not None}
    if not added:
        return own
    found = own.copy()
    for name, theirs in added.items():
        found.register(name, from_tvm(theirs.desc), from_tvm(theirs.impl))
    return found


def _named(instructions: Iterable[Instruction]) -> list[str]:
    calls = [i for i in instructions if i.method == "tensorize"]
    values = [value for i in calls for value in (*i.args[1:2], i.kwargs.get("tensor_intrin"))]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _registered(name: str) -> Any:
    for module in ("tvm.s_tir", "tvm.tir"):
        table = getattr(sys.modules.get(module), "TensorIntrin", None)
        found = None if table is None else table.get(name, True)
        if found is not None:
            return found
    return None
