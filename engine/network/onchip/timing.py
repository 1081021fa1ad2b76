"""The plan of a choice: addresses, copies, and the waits of calls for the tensors that are copied for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import Graph
from .plan import OnChipPlan, Resident, allocated, scopes_of
from .programs import CallVariant, Simulations
from .transfers import TimedDescriptor, Transfer, TransferRoute, after_call, descriptors_of, hidden_descriptors


def on_chip_plan(
    graph: Graph,
    running: Sequence[int],
    residents: Sequence[Resident],
    variants: Mapping[int, CallVariant],
    simulations: Simulations,
) -> OnChipPlan:
    """Return the plan. `running` are the calls of an inference, `variants` their programs with the tensors on chip.

    Raises TilewrightError "capacity-overflow", and "no-dma" for a tensor that no DMA copies into its memory.
    """
    tensors, calls = allocated(residents, running, variants, graph)
    transfers: list[Transfer] = []
    waits: dict[int, int] = {}
    before = -1
    for at in running:
        copied = [r for r in residents if r.copied and r.readers[0] == at]
        if copied:
            order = graph.calls[at].arguments
            copied.sort(key=lambda r: order.index(r.tensor))
            found = _transfers(copied, before, variants, simulations)
            transfers += found
            waits[at] = max(transfer.ready for transfer in found)
        before = at
    return OnChipPlan(tensors, calls, tuple(transfers), {at: cycles for at, cycles in waits.items() if cycles})


def _transfers(
    copied: Sequence[Resident], during: int, variants: Mapping[int, CallVariant], simulations: Simulations
) -> list[Transfer]:
    """The copies of tensors during a call, one after another; -1 is the time before the first call. They use the engines and ports of
    all."""
    runs: list[tuple[Resident, TransferRoute, list[tuple[TimedDescriptor, int]]]] = []
    for resident in copied:
        route, descriptors = descriptors_of(simulations.machine, resident.bytes, resident.tensor.dtype, resident.scope)
        runs.append((resident, route, descriptors))
    route = TransferRoute(
        frozenset(e for _, r, _ in runs for e in r.engines), frozenset(p for _, r, _ in runs for p in r.ports)
    )
    every = [run for _, _, descriptors in runs for run in descriptors]
    report = variants[during].report if during >= 0 else None
    hidden = [0] * len(every)
    if report is not None:
        hidden = hidden_descriptors(simulations.idle(report, route), report.cycles, every)
    ready = after_call(every, hidden)
    found: list[Transfer] = []
    at = 0
    for resident, _, descriptors in runs:
        own = slice(at, at + len(descriptors))
        at += len(descriptors)
        count = sum(number for _, number in descriptors)
        found.append(
            Transfer(
                resident.tensor.name, resident.scope, resident.bytes, during, count, sum(hidden[own]), max(ready[own])
            )
        )
    return found


__all__ = ["on_chip_plan", "scopes_of"]
