"""The TileLang kernels of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.ir import PrimFunc

KERNELS = Path(__file__).parents[1] / "engine" / "script" / "tilelang" / "kernels"


def kernel(name: str, **given: Any) -> PrimFunc:
    """Return the first kernel of a file, with values of its parameters."""
    path = KERNELS / f"{name}.py"
    text = path.read_text()
    program = read_nested_program(programs_in(text, path.name).programs[0], path.name, given)[0].program
    assert isinstance(program, PrimFunc)
    return program
