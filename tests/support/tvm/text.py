"""Real TVM's reading of TVMScript."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")


def tvm_read(text: str, *, well_formed: bool = True) -> Any:
    """The IRModule or PrimFunc that TVM reads, by default checked by it. Import lines are removed, since TVM defines T and I itself."""
    lines = ["" if line.startswith(("from tvm", "import tvm")) else line for line in text.splitlines()]
    return tvm.script.from_source("\n".join(lines), check_well_formed=well_formed)
