"""The graph of a model as nodes and edges: the calls of an inference, its inputs and its results. Weights and their preparation are left
out, as they are the same for each inference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from ....engine.ir import GraphTensor
from ....engine.network import tensor_text
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ...state.open_model import OpenModel
from ..labels.palette import BUFFER_COLOURS
from ..labels.values import Value

_GRAPH = Derived[str]("graph of a model")


class GraphNode(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A node of the graph. A call also has its position in the graph, the `key` of its kernel, and the tensors that it reads and writes."""

    id: str
    kind: Literal["input", "call", "result"]
    label: str
    shape: str
    call: int | None = None
    key: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class GraphEdge(Value, frozen=True):
    """A tensor from one node to another, by their ids."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    shape: str


class ModelGraph(Value, frozen=True):
    """The calls of an inference, its inputs and its results."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


def graph_now(state: State, store: Store) -> str:
    """The graph of the visible model as JSON, the same text while the graph is the same; "" without a model."""
    if state.model is None:
        return ""
    model = state.model
    return store.remember(
        _GRAPH(model.network, model.kernels[0]), lambda: msgspec.json.encode(graph_value(model)).decode()
    )


def graph_value(model: OpenModel) -> ModelGraph:
    """The graph of a model."""
    graph, sizes = model.network.graph, model.sizes
    keys = {at: entry.key for entry in model.kernels for at in entry.kernel.calls}
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    made: dict[GraphTensor, str] = {}
    for number, tensor in enumerate(graph.inputs):
        made[tensor] = f"in{number}"
        shape = tensor_text(tensor, sizes)
        nodes.append(GraphNode(id=made[tensor], kind="input", label=tensor.name, shape=shape))
    for at, call in enumerate(graph.calls):
        if at in model.prepared:
            continue
        nodes.append(
            GraphNode(
                id=f"call{at}",
                kind="call",
                label=operators_of(call.kernel),
                shape=", ".join(tensor_text(t, sizes) for t in call.results),
                call=at,
                key=keys[at],
                reads=tuple(f"{t.name} {tensor_text(t, sizes)}" for t in call.arguments),
                writes=tuple(f"{t.name} {tensor_text(t, sizes)}" for t in call.results),
            )
        )
        edges += _edges(call.arguments, made, f"call{at}", model)
        made.update(dict.fromkeys(call.results, f"call{at}"))
    for number, tensor in enumerate(graph.results):
        shape = tensor_text(tensor, sizes)
        nodes.append(GraphNode(id=f"out{number}", kind="result", label=tensor.name, shape=shape))
        edges += _edges((tensor,), made, f"out{number}", model)
    return ModelGraph(nodes, edges)


def _edges(
    tensors: tuple[GraphTensor, ...], made: dict[GraphTensor, str], target: str, model: OpenModel
) -> Iterator[GraphEdge]:
    """An edge from each node that makes a tensor, once for each node."""
    sources: dict[str, GraphTensor] = {}
    for tensor in tensors:
        if tensor in made:
            sources.setdefault(made[tensor], tensor)
    for source, tensor in sources.items():
        yield GraphEdge(source, target, tensor_text(tensor, model.sizes))


def operators_of(kernel: str) -> str:
    """The operators in the name of a kernel: "conv2d add relu" for fused_conv2d17_add9_relu9."""
    parts = (re.sub(r"(?<=[a-z])\d+$", "", part) for part in kernel.removeprefix("fused_").split("_"))
    return " ".join(part for part in parts if part and not part.isdecimal()) or kernel


def hues_of(model: OpenModel) -> dict[str, int]:
    """The colour index of each kernel that an inference calls more than once, by key. With more of them than colours, colours repeat."""
    counts = {entry.key: len(set(entry.kernel.calls) - model.prepared) for entry in model.kernels}
    repeated = [key for key, count in counts.items() if count > 1]
    return {key: number % len(BUFFER_COLOURS) for number, key in enumerate(repeated)}


__all__ = ["graph_now", "graph_value", "hues_of", "operators_of"]
