"""The cost of a network: each distinct kernel is simulated once, and an inference is the sum over its calls.

A kernel begins when the one before it has ended, as TVM's virtual machine runs them, and when the tensors that are copied on chip for it
are there; the sum therefore equals a replay of all tasks with a barrier between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from propcache.api import cached_property

from ..cancellation import checkpoint
from ..hwsim import Machine, Report
from ..ir import Graph, Network, PrimFunc, Refusal, TilewrightError
from .kernels import Kernel, distinct_kernels, prepared_calls
from .onchip import (
    CallVariant,
    OnChipPlan,
    Resident,
    Scopes,
    Simulations,
    on_chip_plan,
    plan_json,
    planned_tensors,
    scopes_of,
)


class KernelCost(msgspec.Struct, frozen=True, eq=False):
    """A kernel with its report, or the reason why the machine cannot run it. `calls` are the positions of the calls of one inference,
    `prepared` counts those that one run serves for every inference.

    A kernel whose calls have tensors on chip has an entry for each set of them: `on_chip` are these parameters, as (name, scope)."""

    kernel: Kernel
    report: Report | None
    refusal: Refusal | None
    calls: tuple[int, ...]
    prepared: int
    on_chip: tuple[tuple[str, str], ...] = ()

    @property
    def runs(self) -> int:
        """The number of calls in one inference."""
        return len(self.calls)

    @property
    def cycles(self) -> int:
        """Cycles of all its calls in one inference."""
        return self.report.cycles * self.runs if self.report is not None else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.name,
            "functions": list(self.kernel.names),
            "sizes": dict(self.kernel.sizes),
            "on_chip": dict(self.on_chip),
            "calls": list(self.calls),
            "runs": self.runs,
            "prepared": self.prepared,
            "cycles_per_call": self.report.cycles if self.report is not None else None,
            "cycles": self.cycles,
            "unknown": self.report.unknown.reason if self.report is not None and self.report.unknown else None,
            "overflow_bytes": self.report.overflow_bytes if self.report is not None else None,
            "error": self.refusal.message if self.refusal is not None else None,
        }


class NetworkReport(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The cost of a network on a machine, by kernel in the order of their first call, and the plan of the tensors on chip."""

    machine: Machine
    kernels: tuple[KernelCost, ...]
    plan: OnChipPlan = OnChipPlan()

    @cached_property
    def cycles(self) -> int:
        """Cycles of one inference, without the calls that prepare weights and without kernels that the machine refuses."""
        return sum(cost.cycles for cost in self.kernels) + self.plan.wait_cycles

    @cached_property
    def spans(self) -> tuple[tuple[int, int, int], ...]:
        """The calls of an inference in order, each with the cycles at which it begins and ends; a kernel without a report takes none."""
        cycles = {at: cost.report.cycles if cost.report else 0 for cost in self.kernels for at in cost.calls}
        found: list[tuple[int, int, int]] = []
        now = 0
        for at in sorted(cycles):
            begin = now + self.plan.waits.get(at, 0)
            now = begin + cycles[at]
            found.append((at, begin, now))
        return tuple(found)

    @cached_property
    def preparation_cycles(self) -> int:
        """Cycles of the calls that depend on weights alone."""
        return sum(c.report.cycles * c.prepared for c in self.kernels if c.report is not None)

    @cached_property
    def refused(self) -> tuple[KernelCost, ...]:
        return tuple(c for c in self.kernels if c.refusal is not None)

    @cached_property
    def unknown(self) -> tuple[KernelCost, ...]:
        """The kernels whose cycles are not known, such as those without cache misses."""
        return tuple(c for c in self.kernels if c.report is not None and c.report.unknown is not None)

    def share(self, cost: KernelCost) -> float:
        """The kernel's part of an inference, from 0 to 1."""
        return cost.cycles / self.cycles if self.cycles else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, the kernels in the order of their first call."""
        return {
            "machine": self.machine.name,
            "cycles": self.cycles,
            "unknown": sorted({cost.kernel.name for cost in self.unknown}),
            "preparation_cycles": self.preparation_cycles,
            "calls": [{"call": at, "begin": begin, "end": end} for at, begin, end in self.spans],
            "on_chip": plan_json(self.plan),
            "kernels": [cost.to_json() for cost in self.kernels],
        }

    def ranked(self) -> tuple[KernelCost, ...]:
        """The kernels, those with most cycles first."""
        return tuple(sorted(self.kernels, key=lambda c: -c.cycles))


def simulate_network(
    network: Network,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    scheduled: Mapping[str, PrimFunc] | None = None,
    on_chip: Mapping[str, str] | None = None,
    known: Simulations | None = None,
    watch: Callable[[KernelCost], object] | None = None,
) -> NetworkReport:
    """Simulate each distinct kernel of a network on a machine, and call `watch` after each.

    `scheduled` are programs of kernels after their schedule, by name of the kernel; others run as they are. `on_chip` has the tensors that
    are in on-chip memory between kernels, by name, with their scopes. `known` has programs that are simulated already, on this machine. A
    kernel that the machine cannot run has a refusal in place of a report. Raises TilewrightError "missing-size" if a size of the model is
    not in `sizes`, and the errors of `on_chip_plan`.
    """
    simulations = known if known is not None else Simulations(machine)
    graph = network.graph
    prepared = prepared_calls(graph)
    running = [at for at in range(len(graph.calls)) if at not in prepared]
    residents = planned_tensors(graph, running, machine, on_chip or {}, sizes or {})
    found: list[KernelCost] = []
    variants: dict[int, CallVariant] = {}
    for kernel in distinct_kernels(network, sizes):
        checkpoint()
        program = simulations.sized((scheduled or {}).get(kernel.name, kernel.func), kernel.sizes)
        for cost, variant in _costs(kernel, program, graph, prepared, residents, simulations):
            found.append(cost)
            variants |= dict.fromkeys(cost.calls, variant)
            if watch is not None:
                watch(cost)
    plan = on_chip_plan(graph, running, residents, variants, simulations) if residents else OnChipPlan()
    return NetworkReport(machine, tuple(found), plan)


def _costs(
    kernel: Kernel,
    program: PrimFunc,
    graph: Graph,
    prepared: frozenset[int],
    residents: Sequence[Resident],
    simulations: Simulations,
) -> Iterator[tuple[KernelCost, CallVariant]]:
    """The costs of a kernel's calls, those with the same parameters on chip together."""
    groups: dict[Scopes, list[int]] = {}
    before = 0
    for at in kernel.calls:
        if at in prepared:
            before += 1
            groups.setdefault((), [])
        else:
            groups.setdefault(scopes_of(graph.calls[at], residents) if residents else (), []).append(at)
    for scopes, calls in groups.items():
        variant = simulations.variant(program, scopes)
        names = tuple((program.buffers[at].name, scope) for at, scope in scopes)
        count = 0 if scopes else before
        yield KernelCost(kernel, variant.report, variant.refusal, tuple(calls), count, names), variant


def kernel_cost(kernel: Kernel, report: Report | TilewrightError, prepared: frozenset[int]) -> KernelCost:
    """The cost of a kernel without tensors on chip, from its report or the error that prevents one. `prepared` are the calls that depend on
    weights alone."""
    calls = tuple(at for at in kernel.calls if at not in prepared)
    before = len(kernel.calls) - len(calls)
    if isinstance(report, TilewrightError):
        return KernelCost(kernel, None, report.refusal, calls, before)
    return KernelCost(kernel, report, None, calls, before)
