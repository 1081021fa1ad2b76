"""Printer of graphs: a relax function in TVM's notation, which `parse_network` reads back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...ir import Expr, Graph, GraphTensor, KernelCall, free_vars
from ..printing.expressions import expr_text


def graph_text(graph: Graph, module: str = "") -> str:
    """Return the graph as a relax function. Weights are parameters after the inputs, as the attribute `num_input` says; those that are
    numbers are constants. With the name of the class around it, TVM reads the function as a part of that module."""
    parameters = [f"{t.name}: {_type(t, quoted=True)}" for t in graph.parameters]
    lines = ["@R.function", f"def {graph.name}(", *(f"    {p}," for p in parameters), "):"]
    lines.append(f'    R.func_attr({{"num_input": {len(graph.inputs)}}})')
    if module:
        lines += [f"    {name} = T.int64()" for name in _open_sizes(graph)]
        lines.append(f"    cls = {module}")
    lines.append("    with R.dataflow():")
    taken = {t.name for call in graph.calls for t in (*call.arguments, *call.results)}
    for call in graph.calls:
        lines += [f"        {line}" for line in _call_lines(call, taken, graph.scalars)]
    names = ", ".join(t.name for t in graph.results)
    returned = names if len(graph.results) == 1 else f"({names})"
    return "\n".join([*lines, f"        R.output({names})", f"    return {returned}"]) + "\n"


def _open_sizes(graph: Graph) -> list[str]:
    """The names of the sizes that the graph's parameters leave open."""
    shapes = (extent for t in graph.parameters for extent in t.shape)
    return list(dict.fromkeys(v.name for extent in shapes for v in sorted(free_vars(extent), key=lambda v: v.name)))


def _call_lines(call: KernelCall, taken: set[str], scalars: Mapping[GraphTensor, float | int | bool]) -> list[str]:
    arguments = _tuple([f'R.const({scalars[t]!r}, "{t.dtype}")' if t in scalars else t.name for t in call.arguments])
    between = f"inplace_indices={list(call.in_place)}, " if call.in_place else ""
    after = f", tir_vars=R.shape([{', '.join(map(extent_text, call.scalars))}])" if call.scalars else ""
    operator = "R.call_tir_inplace" if call.in_place else "R.call_tir"
    types = [_type(t) for t in call.results]
    if len(call.results) == 1:
        return [
            f"{call.results[0].name} = {operator}(cls.{call.kernel}, {arguments}, {between}out_ty={types[0]}{after})"
        ]
    # The reader calls the results of `lv` lv_0, lv_1, and so on.
    name = call.results[0].name.removesuffix("_0")
    while name in taken:
        name += "_all"
    taken.add(name)
    lines = [f"{name} = {operator}(cls.{call.kernel}, {arguments}, {between}out_ty=[{', '.join(types)}]{after})"]
    return lines + [f"{t.name} = {name}[{at}]" for at, t in enumerate(call.results)]


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _type(tensor: GraphTensor, *, quoted: bool = False) -> str:
    """The type; `quoted` sizes that are not numbers are strings, because a signature is evaluated by Python."""
    shape = [f'"{size}"' if quoted and not size.isdecimal() else size for size in map(extent_text, tensor.shape)]
    return f'R.Tensor({_tuple(shape)}, "{tensor.dtype}")'


def extent_text(extent: Expr) -> str:
    """The extent as relax prints it: numbers without their type, which is int64 in every shape."""
    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", expr_text(extent))
