"""Evaluation of a candidate: apply its calls, compute its lower bounds, and simulate it only if they are good enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from propcache.api import cached_property

from ...hwsim import Machine, MachineError, lower_bound_of, row_name, simulate_tasks, tasks_of
from ...ir import TilewrightError
from ...lower import with_sizes
from ..search.estimator import Estimator
from ..search.local_search import EstimatedPoint, LocalSearch, estimates_of
from ..space.model import Point, Space
from ..space.prefixes import Refused
from .early_bounds import EarlyBounds
from .outcome import CYCLES, Figures, Outcome, figures_of, overflow_of, vector

MAX_ACCESSES = 1 << 25


class EvaluationLimits(msgspec.Struct, frozen=True):
    """Limits of one evaluation. `tasks` and `accesses` are counted, so that a candidate fails on every machine alike; `seconds` and
    `memory_bytes` (0: unlimited) end only the worker that evaluates it."""

    tasks: int = 300_000
    accesses: int = MAX_ACCESSES
    seconds: float = 60.0
    memory_bytes: int = 1 << 30


class EvaluationRequest(msgspec.Struct, frozen=True, tag=True):
    """A candidate to evaluate. It is pruned without a simulation if a vector of `known`, objective figures of other candidates, is at most
    its lower bound in every objective: at best it would be equal."""

    number: int
    point: Point
    known: tuple[tuple[float, ...], ...] = ()


Task = EvaluationRequest | LocalSearch
Answer = Outcome | tuple[EstimatedPoint, ...]
"""The outcome of a candidate, or the points that a local search estimated."""


class Evaluator:
    """Evaluates and estimates candidates of one space on one machine. Lines that they share are applied once."""

    def __init__(
        self,
        space: Space,
        machine: Machine,
        objectives: Sequence[str],
        budgets: Mapping[str, float] | None = None,
        limits: EvaluationLimits | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        self._space = space
        self._machine = machine
        self._objectives = tuple(objectives)
        self._budgets = dict(budgets or {})
        self._limits = limits or EvaluationLimits()
        self._far = machine.far.scope
        self._estimator = estimator or Estimator(space, machine)
        self._early = EarlyBounds(space, machine, self._estimator.prefixes, self._limits.tasks)

    def answer(self, task: Task) -> Answer:
        """The answer to a task."""
        return tuple(self.estimates(task)) if isinstance(task, LocalSearch) else self.tried(task)

    def tried(self, question: EvaluationRequest) -> Outcome:
        """The outcome of a candidate. Never raises because of the candidate."""
        try:
            return self._tried(question)
        except MachineError as error:
            status = "failed" if error.code in TOO_MUCH else "refused"
            return Outcome(status, None, error.code, error.bare_refusal.message)
        except TilewrightError as error:
            return Outcome("refused", None, error.code, error.bare_refusal.message)
        except (MemoryError, RecursionError) as error:
            return Outcome("failed", None, "too-large", f"the memory limit was exceeded ({type(error).__name__})")
        except Exception as error:
            # An internal bug must neither end a study of hours nor be hidden: the outcome names it.
            return Outcome("failed", None, "internal-error", f"{type(error).__name__}: {error}")

    def estimates(self, walk: LocalSearch) -> Iterator[EstimatedPoint]:
        """Yields the points that a local search estimates."""
        return estimates_of(walk, self._estimator)

    def _tried(self, question: EvaluationRequest) -> Outcome:
        known = [k for (k,) in question.known] if self._objectives == (CYCLES,) else []
        rejected = self._early.rejected(question.point, known)
        if rejected is not None:
            return rejected
        state = self._estimator.prefixes.at(question.point)
        if isinstance(state, Refused):
            return Outcome("refused", None, state.error.code, state.error.bare_refusal.message, state.line)
        func = with_sizes(state.schedule.described, self._space.sizes).func
        plan = state.schedule.plan if func is state.schedule.described else None
        program = tasks_of(func, self._machine, plan, self._limits.accesses)
        refused = program.cached.refused
        if refused is not None:
            return Outcome("failed", None, refused.code, refused.refusal.message)
        over = overflow_of(program.places.peaks, self._capacities)
        if over is not None:
            return over  # before the tasks are counted
        least = figures_of(lower_bound_of(program, self._limits.tasks), self._far)
        over = self._over_budget(least)
        if over is not None:
            return over
        bounds = vector(least, self._objectives)
        if any(all(k <= b for k, b in zip(known, bounds, strict=True)) for known in question.known):
            return Outcome("pruned", least, "bound", f"at least {least.cycles:,} cycles, by {least.bound_by}")
        report = simulate_tasks(program, self._limits.tasks)
        figures = figures_of(report, self._far)
        errors = [f for f in report.observed if f.severity == "error"]
        if errors:
            return Outcome("over", figures, errors[0].code, errors[0].message)
        return self._over_budget(figures) or Outcome("fits", figures)

    def _over_budget(self, figures: Figures) -> Outcome | None:
        """The outcome if these figures exceed a budget, else None."""
        for name, most in self._budgets.items():
            if figures.figure(name) > most:
                message = f"{name} of {figures.figure(name):,.0f}, at most {most:,.0f}"
                return Outcome("over", figures, "budget", message)
        return None

    @cached_property
    def _capacities(self) -> dict[str, int]:
        return {
            row_name(memory, block): memory.capacity_bytes // memory.blocks
            for memory in self._machine.memories
            for block in range(memory.blocks)
        }


def failed(task: Task, code: str, message: str) -> Answer:
    """The answer to a task that no worker could complete."""
    return () if isinstance(task, LocalSearch) else Outcome("failed", None, code, message)


TOO_MUCH = frozenset({"too-many-tasks", "too-many-accesses", "too-large"})
"""Refusals of the simulator because of the amount of work, not because the machine cannot run the candidate."""
