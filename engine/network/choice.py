"""The choice of tensors that stay on chip: those that win most cycles first, each kept if it fits and makes the whole inference faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..cancellation import checkpoint
from ..hwsim import Machine
from ..ir import GraphTensor, Network, PrimFunc, TilewrightError
from .kernels import prepared_calls
from .onchip import Simulations
from .report import NetworkReport, simulate_network


def choose_on_chip(
    network: Network,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    scheduled: Mapping[str, PrimFunc] | None = None,
    known: Simulations | None = None,
    watch: Callable[[NetworkReport], object] | None = None,
) -> tuple[dict[str, str], NetworkReport]:
    """Return tensors to keep on chip, by name, with their scopes, and the report with them.

    Every tensor is tried alone in every on-chip memory (each physical block of it). Then they are added one by one, those with most cycles
    won first; a tensor stays if the plan fits and the inference takes fewer cycles. `watch` is called with each better report.
    """
    simulations = known if known is not None else Simulations(machine)

    def report_of(choice: Mapping[str, str]) -> NetworkReport | None:
        checkpoint()
        try:
            found = simulate_network(network, machine, sizes, scheduled=scheduled, on_chip=choice, known=simulations)
        except TilewrightError:
            return None
        return None if len(found.refused) > refused else found

    refused = 0
    best = simulate_network(network, machine, sizes, scheduled=scheduled, known=simulations)
    refused = len(best.refused)
    gains: list[tuple[int, str, str]] = []
    for tensor in _candidates(network):
        for scope in _scopes(machine):
            found = report_of({tensor.name: scope})
            if found is not None and found.cycles < best.cycles:
                gains.append((best.cycles - found.cycles, tensor.name, scope))
    choice: dict[str, str] = {}
    for _, name, scope in sorted(gains, key=lambda gain: -gain[0]):
        if name in choice:
            continue
        found = report_of({**choice, name: scope})
        if found is not None and found.cycles < best.cycles:
            choice[name], best = scope, found
            if watch is not None:
                watch(best)
    return choice, best


def _candidates(network: Network) -> list[GraphTensor]:
    """The tensors that calls of an inference read, without results of the model."""
    graph = network.graph
    prepared = prepared_calls(graph)
    read = (t for at, call in enumerate(graph.calls) if at not in prepared for t in call.arguments)
    return [t for t in dict.fromkeys(read) if t not in graph.results]


def _scopes(machine: Machine) -> list[str]:
    """A scope of each physical block of the on-chip memories."""
    inner = [m for m in machine.memories if m is not machine.far]
    return [scope for m in inner for scope in (m.block_scopes[: m.blocks] if m.blocks > 1 else m.scopes[:1])]


__all__ = ["choose_on_chip"]
