"""One inference over time: its calls one after another, with the load of the engines and of the on-chip memories during each."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..arith import simplify
from ..hwsim import Machine, Report
from ..ir import Graph, GraphTensor, Var, build, free_vars, substitute
from ..script.relax import extent_text
from .report import KernelCost, NetworkReport


class CallSpan(msgspec.Struct, frozen=True, eq=False):
    """A call of an inference, from cycle `start` to `end`, exclusive. `call` is its position in the graph."""

    call: int
    start: int
    end: int
    cost: KernelCost


def inference_spans(report: NetworkReport) -> tuple[CallSpan, ...]:
    """Return the calls of one inference in order; the last one ends at the report's `cycles`.

    Calls that depend on weights alone, and those of kernels without a report, are left out.
    """
    costs = {at: cost for cost in report.kernels if cost.report is not None for at in cost.calls}
    return tuple(CallSpan(at, start, end, costs[at]) for at, start, end in report.spans if at in costs)


def engine_loads(report: Report) -> dict[str, float]:
    """The busy part of each engine during a kernel, from 0 to 1."""
    return {name: engine.busy / report.cycles if report.cycles else 0.0 for name, engine in report.engines.items()}


def on_chip_bytes(report: Report, machine: Machine) -> dict[str, tuple[int, int]]:
    """The peak and the capacity of each on-chip memory during a kernel, in bytes: all memories but the largest."""
    far = machine.far.scopes
    return {name: (m.peak_bytes, m.capacity_bytes) for name, m in report.memory.items() if m.scope not in far}


def tensor_text(tensor: GraphTensor, sizes: Mapping[str, int]) -> str:
    """The shape and type of a tensor, such as "1×64×56×56 float32". Sizes of the model without a value are written by their names."""
    variables: set[Var] = {v for extent in tensor.shape for v in free_vars(extent)}
    known = {v: build.const(sizes[v.name], v.dtype) for v in variables if v.name in sizes}
    extents = (extent_text(simplify(substitute(extent, known))) for extent in tensor.shape)
    return f"{'×'.join(f'({text})' if ' ' in text else text for text in extents)} {tensor.dtype}".strip()


def reading_calls(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Return, for each call of a graph, the positions of the calls whose results it reads, each once and in order."""
    maker = {tensor: at for at, call in enumerate(graph.calls) for tensor in call.results}
    return tuple(tuple(sorted({maker[tensor] for tensor in call.arguments if tensor in maker})) for call in graph.calls)
