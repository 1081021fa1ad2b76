"""Real TVM's reading of TVMScript."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")


def tvm_read(text: str) -> Any:
    """TVM's own reading: an IRModule or a PrimFunc. It takes no import lines, since it knows what T and I are."""
    lines = ["" if line.startswith(("from tvm", "import tvm")) else line for line in text.splitlines()]
    return tvm.script.from_source("\n".join(lines))
