"""Programs in the forms in which people keep and send them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

TWICE = """\
@T.prim_func
def twice(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("b"):
            vi = T.axis.spatial(64, i)
            b[vi] = a[vi] * T.float32(2)
"""

SCHEDULE = """\
sch = tvm.tir.Schedule(twice)
(i,) = sch.get_loops(sch.get_block("b"))
sch.split(i, factors=[None, 8])
"""


def code(text: str, outputs: Sequence[Any] = ()) -> dict[str, Any]:
    """A code cell."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [*outputs],
        "source": text.splitlines(keepends=True),
    }


def markdown(text: str, **more: Any) -> dict[str, Any]:
    """A markdown cell."""
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True), **more}


def notebook(*cells: Mapping[str, Any], indent: int | None = 1) -> str:
    """A notebook of Jupyter."""
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": [*cells], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=indent)
