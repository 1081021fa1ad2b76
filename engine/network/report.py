"""The cost of a network: each distinct kernel is simulated once, and an inference is the sum over its calls.

A kernel begins when the one before it has ended, as TVM's virtual machine runs them; the sum therefore equals a replay of all tasks with a
barrier between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from ..cancellation import checkpoint
from ..hwsim import Machine, Report, simulate
from ..ir import Network, PrimFunc, Refusal, TilewrightError
from .kernels import Kernel, distinct_kernels, prepared_calls


class KernelCost(msgspec.Struct, frozen=True, eq=False):
    """A kernel with its report, or the reason why the machine cannot run it. `calls` are the positions of the calls of one inference,
    `prepared` counts those that one run serves for every inference."""

    kernel: Kernel
    report: Report | None
    refusal: Refusal | None
    calls: tuple[int, ...]
    prepared: int

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
            "runs": self.runs,
            "prepared": self.prepared,
            "cycles_per_call": self.report.cycles if self.report is not None else None,
            "cycles": self.cycles,
            "overflow_bytes": self.report.overflow_bytes if self.report is not None else None,
            "error": self.refusal.message if self.refusal is not None else None,
        }


class NetworkReport(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The cost of a network on a machine, by kernel in the order of their first call."""

    machine: Machine
    kernels: tuple[KernelCost, ...]

    @cached_property
    def cycles(self) -> int:
        """Cycles of one inference, without the calls that prepare weights and without kernels that the machine refuses."""
        return sum(cost.cycles for cost in self.kernels)

    @cached_property
    def preparation_cycles(self) -> int:
        """Cycles of the calls that depend on weights alone."""
        return sum(c.report.cycles * c.prepared for c in self.kernels if c.report is not None)

    @cached_property
    def refused(self) -> tuple[KernelCost, ...]:
        return tuple(c for c in self.kernels if c.refusal is not None)

    def share(self, cost: KernelCost) -> float:
        """The kernel's part of an inference, from 0 to 1."""
        return cost.cycles / self.cycles if self.cycles else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, the kernels in the order of their first call."""
        return {
            "machine": self.machine.name,
            "cycles": self.cycles,
            "preparation_cycles": self.preparation_cycles,
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
    watch: Callable[[KernelCost], object] | None = None,
) -> NetworkReport:
    """Simulate each distinct kernel of a network on a machine, and call `watch` after each.

    `scheduled` are programs of kernels after their schedule, by name of the kernel; others run as they are. A kernel that the machine
    cannot run has a refusal in place of a report. Raises TilewrightError "missing-size" if a size of the model is not in `sizes`.
    """
    prepared = prepared_calls(network.graph)
    found: list[KernelCost] = []
    for kernel in distinct_kernels(network, sizes):
        checkpoint()
        cost = kernel_cost(kernel, kernel.program(scheduled or {}), machine, prepared)
        found.append(cost)
        if watch is not None:
            watch(cost)
    return NetworkReport(machine, tuple(found))


def kernel_cost(kernel: Kernel, program: PrimFunc, machine: Machine, prepared: frozenset[int]) -> KernelCost:
    """Simulate one kernel, with `program` as its program with constant sizes. `prepared` are the calls that depend on weights alone."""
    calls = tuple(at for at in kernel.calls if at not in prepared)
    before = len(kernel.calls) - len(calls)
    try:
        return KernelCost(kernel, simulate(program, machine), None, calls, before)
    except TilewrightError as error:
        return KernelCost(kernel, None, error.refusal, calls, before)
