"""Specialization code in an exported file: TVM's own `specialize`, after the calls, which are the same for all sizes."""

from __future__ import annotations

from collections.abc import Mapping

from ..arith import simplify
from ..ir import Buffer, Expr, IntImm, PrimFunc, Var, free_vars, substitute
from ..lower import size_values
from ..script import expr_text
from .generations import Generation

TIRX = (0, 24)
"""The first version that calls `tir` `tirx`."""


def sizes_lines(func: PrimFunc, sizes: Mapping[str, int], generation: Generation) -> list[str]:
    """Return lines that follow the calls and define `sized`, the module with these sizes. Raises LowerError "unknown-size", "bad-size"."""
    values = size_values(func, sizes)
    module = "tirx" if generation.first >= TIRX else "tir"
    buffers = dict(func.buffer_map)
    given: list[str] = []
    for position, param in enumerate(func.params):
        if param in values:
            given.append(f"    func.params[{position}]: {_number(values[param], module)},")
        elif param in buffers and any(_value(e, values) is not e for e in buffers[param].shape):
            given.append(f"    func.params[{position}]: {_buffer(buffers[param], values, module)},")
    open_sizes = {v: None for b in buffers.values() for e in b.shape for v in free_vars(e) if v not in values}
    values_text = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return [
        "",
        f"# The program for {values_text}.",
        f"from tvm import IRModule, {module}  # noqa: E402",
        "",
        *(f'size_{v.name} = {module}.Var("{v.name}", "{v.dtype}")' for v in open_sizes),
        f'func = sch.mod["{func.name}"]',
        f'sized = IRModule({{"{func.name}": func.specialize({{',
        *given,
        "})})",
    ]


def _value(extent: Expr, values: Mapping[Var, Expr]) -> Expr:
    return extent if (new := substitute(extent, values)) is extent else simplify(new)


def _buffer(buffer: Buffer, values: Mapping[Var, Expr], module: str) -> str:
    extents = [_value(e, values) for e in buffer.shape]
    shape = ", ".join(_number(e, module) for e in extents)
    scope = "" if buffer.scope == "global" else f', scope="{buffer.scope}"'
    return f'{module}.decl_buffer(({shape}{"," * (len(extents) == 1)}), "{buffer.dtype}", "{buffer.name}"{scope})'


def _number(value: Expr, module: str) -> str:
    if not isinstance(value, IntImm):
        return expr_text(substitute(value, {v: Var(f"size_{v.name}", v.dtype) for v in free_vars(value)}))
    return str(value.value) if value.dtype == "int32" else f'{module}.IntImm("{value.dtype}", {value.value})'
