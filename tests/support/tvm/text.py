"""Real TVM's reading of TVMScript."""

from __future__ import annotations

import inspect
from typing import Any
from unittest import mock

import pytest

tvm = pytest.importorskip("tvm")


def tvm_read(text: str) -> Any:
    """TVM's own reading: an IRModule or a PrimFunc. It takes no import lines, since it knows what T and I are.

    Evaluated as text, its decorators need no frames of the caller; under pytest collecting them takes most of the time.
    """
    lines = ["" if line.startswith(("from tvm", "import tvm")) else line for line in text.splitlines()]
    with mock.patch.object(inspect, "stack", lambda context=1: []):
        return tvm.script.from_source("\n".join(lines))
