"""Execution of a network on NumPy arrays, call by call: the reference for schedules of its kernels and for compiled code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..cancellation import checkpoint
from ..execute import run
from ..execute.frames import Array
from ..ir import GraphTensor, Network, PrimFunc, Refusal, TilewrightError
from .kernels import distinct_kernels


def run_network(
    network: Network,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    *,
    scheduled: Mapping[str, PrimFunc] | None = None,
) -> tuple[Array, ...]:
    """Run the network and return its results, in order. `arrays` are the inputs and weights by name; they are not modified.

    `sizes` are those that the model leaves open, `scheduled` programs of kernels after their schedule, by name. Raises TilewrightError
    "missing-array", and the errors of `run`.
    """
    graph = network.graph
    missing = [t.name for t in graph.parameters if t.name not in arrays]
    if missing:
        raise TilewrightError(Refusal("missing-array", f"{missing[0]} has no array", expected=", ".join(missing)))
    values: dict[GraphTensor, Array] = {t: arrays[t.name] for t in graph.parameters}
    values |= {t: np.asarray(value, dtype=t.dtype) for t, value in graph.scalars.items()}
    programs = {at: k.program(scheduled or {}) for k in distinct_kernels(network, sizes) for at in k.calls}
    for at, call in enumerate(graph.calls):
        checkpoint()
        func = programs[at]
        names = [buffer.name for buffer in func.buffers]
        done = run(func, {name: values[t] for name, t in zip(names, call.arguments, strict=False)})
        fresh = iter(names[len(call.arguments) :])
        for position, result in enumerate(call.results):
            stored = call.in_place[position] if call.in_place else -1
            values[result] = done[names[stored] if stored >= 0 else next(fresh)]
    return tuple(values[t] for t in graph.results)
