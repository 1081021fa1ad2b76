"""The TileLang kernels of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tilewright.engine.adopt import programs_in, read_nested_program
from tilewright.engine.ir import PrimFunc

KERNELS = Path(__file__).parents[1] / "engine" / "script" / "tilelang" / "kernels"


def kernel(name: str, function: str = "", **given: Any) -> PrimFunc:
    """Return a kernel of a file, the first one without a name, with values of its parameters."""
    path = KERNELS / f"{name}.py"
    text = path.read_text()
    listed = programs_in(text, path.name).programs
    wanted = next(p for p in listed if p.nested is not None and p.nested.name.startswith(function))
    program = read_nested_program(wanted, path.name, given)[0].program
    assert isinstance(program, PrimFunc)
    return program


def numbers(*shape: int, dtype: str = "float16", seed: int = 0) -> np.ndarray[Any, Any]:
    """Return an array of normally distributed numbers, the same ones for a seed and shape."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)
