"""C code compiled to a library by the machine's compiler, called with NumPy arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from tilewright.engine.export import CFunction, c_function
from tilewright.engine.ir import Buffer, PrimFunc, build

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_cc = pytest.mark.skipif(COMPILER is None, reason="no C compiler on the path")
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-ffp-contract=off")

Arrays = dict[str, np.ndarray]


class NotCompiledError(Exception):
    """The command of the compiler."""


def compiled(texts: Sequence[str], folder: Path, name: str = "out", options: Sequence[str] = ("-O1",)) -> ctypes.CDLL:
    """A library of several C files."""
    sources = []
    for number, text in enumerate(texts):
        sources.append(folder / f"{name}_{number}.c")
        sources[-1].write_text(text)
    library = folder / f"{name}.so"
    command = [str(COMPILER), *STRICT, *options, "-shared", "-fPIC", "-o", str(library), *map(str, sources), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise NotCompiledError(done.stderr + "\n".join(texts))
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, kernel: CFunction, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The results of `execute.run` for the same arrays; missing parameters are zeros."""
    sizes = _sizes(kernel, arrays)
    held: Arrays = {}
    passed: list[object] = []
    for argument in kernel.arguments:
        if isinstance(argument, Buffer):
            shape = tuple(sizes[e] if e in sizes else build.int_value(e) for e in argument.shape)
            given = arrays.get(argument.name)
            held[argument.name] = np.zeros(shape, argument.dtype) if given is None else np.array(given, order="C")
            passed.append(ctypes.c_void_p(held[argument.name].ctypes.data))
        else:
            value = sizes[argument] if argument in sizes else np.asarray(arrays[argument.name]).item()
            kind = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64}
            passed.append(kind.get(argument.dtype, ctypes.c_int32)(value))
    function = getattr(library, kernel.name)
    function.restype = ctypes.c_int if kernel.can_fail else None
    status = function(*passed)
    assert not kernel.can_fail or status == 0
    return held


def _sizes(kernel: CFunction, arrays: Mapping[str, np.ndarray]) -> dict[object, int]:
    return {
        symbol: extent
        for b in kernel.arguments
        if isinstance(b, Buffer) and b.name in arrays
        for symbol, extent in zip(b.shape, arrays[b.name].shape, strict=True)
        if build.int_value(symbol) is None
    }


def run_c(func: PrimFunc, arrays: Mapping[str, np.ndarray], folder: Path, options: Sequence[str] = ("-O1",)) -> Arrays:
    """The function compiled and called."""
    kernel = c_function(func)
    return call(compiled([kernel.text], folder, options=options), kernel, arrays)
