"""The clock of this processor while one core works."""

from __future__ import annotations

import re
from pathlib import Path

from ...ir import PrimFunc, Refusal, TilewrightError
from ...script import parse
from ..request import Candidate, measure

COUNT = 8192
SUM = f"""from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def total(A: T.Buffer(({COUNT},), "float32"), B: T.Buffer((1,), "float32")):
    for i in range({COUNT}):
        with T.sblock("B"):
            vi = T.axis.reduce({COUNT}, i)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vi]
"""
"""A sum, of which each addition waits for the one before it: compilers keep the order of floating-point additions."""

ADDITION_CYCLES = {"AuthenticAMD": 3, "GenuineIntel": 4}
"""Latency of an addition: Zen 2 to Zen 4 (AMD software optimization guides), Skylake to Ice Lake (uops.info)."""


def clock_hz() -> float:
    """The clock, from the median time of the sum. Raises TilewrightError of `measure`."""
    func = parse(SUM).program
    assert isinstance(func, PrimFunc)
    row = measure([Candidate("sum", func)], seconds=1.0).rows[0]
    if row.warm is None:
        raise TilewrightError(Refusal("cannot-measure", row.refusal))
    return COUNT * ADDITION_CYCLES.get(_vendor(), 4) / row.warm.median * 1e6


def _vendor() -> str:
    file = Path("/proc/cpuinfo")
    found = re.search(r"vendor_id\s*:\s*(\w+)", file.read_text()) if file.exists() else None
    return found[1] if found else ""


__all__ = ["clock_hz"]
