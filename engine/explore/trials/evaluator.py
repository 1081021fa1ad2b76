"""A candidate tried: its calls made, its least cost looked at, and only if that may be good enough, replayed on the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from ...hwsim import Machine, MachineError, first_peaks, lower_bound_of, row_name, simulate_tasks, tasks_of
from ...ir import TilewrightError
from ...lower import with_sizes
from ..search.estimator import Estimator
from ..search.local_search import EstimatedPoint, LocalSearch, sights_of
from ..space.model import Point, Space
from ..space.prefixes import Refused
from .outcome import Figures, Outcome, figures_of, least_figures, vector

MAX_ACCESSES = 1 << 23


class Limits(msgspec.Struct, frozen=True):
    """How much one candidate may ask for. The first two are counted, so that the same candidate fails everywhere; `seconds` and
    `memory_bytes` (0: without limit) end the worker that it is in, and only it."""

    tasks: int = 300_000
    accesses: int = MAX_ACCESSES
    seconds: float = 60.0
    memory_bytes: int = 1 << 30


class EvaluationRequest(msgspec.Struct, frozen=True, tag=True):
    """A candidate to be tried. It need not be replayed when one of `known`, figures that others reached in the objectives, is as good as
    its own lower bounds in all of them: at best it would come to the same."""

    number: int
    point: Point
    known: tuple[tuple[float, ...], ...] = ()


Task = EvaluationRequest | LocalSearch
Answer = Outcome | tuple[EstimatedPoint, ...]
"""What comes of a candidate, or what a walk comes by."""


class Evaluator:
    """Tries candidates of one space on one machine, and looks at others. Lines that they have in common are applied once."""

    def __init__(
        self,
        space: Space,
        machine: Machine,
        objectives: Sequence[str],
        budgets: Mapping[str, float] | None = None,
        limits: Limits | None = None,
        looking: Estimator | None = None,
    ) -> None:
        self._space = space
        self._machine = machine
        self._objectives = tuple(objectives)
        self._budgets = dict(budgets or {})
        self._limits = limits or Limits()
        self._far = machine.far.scope
        self._looking = looking or Estimator(space, machine)

    def tried(self, question: EvaluationRequest) -> Outcome:
        """What comes of a candidate. Never raises for what the candidate is."""
        try:
            return self._tried(question)
        except MachineError as error:
            status = "failed" if error.code in TOO_MUCH else "refused"
            return Outcome(status, None, error.code, error.refusal.message)
        except TilewrightError as error:
            return Outcome("refused", None, error.code, error.refusal.message)
        except (MemoryError, RecursionError) as error:
            return Outcome("failed", None, "too-large", f"it takes more memory than it may ({type(error).__name__})")
        except Exception as error:
            # A fault of ours. It must not end a study of hours, nor be passed over: it is told with what it is.
            return Outcome("failed", None, "internal-error", f"{type(error).__name__}: {error}")

    def sights(self, walk: LocalSearch) -> Iterator[EstimatedPoint]:
        """What a walk comes by, one after the other."""
        return sights_of(walk, self._looking)

    def _tried(self, question: EvaluationRequest) -> Outcome:
        state = self._looking.prefixes.at(question.point)
        if isinstance(state, Refused):
            return Outcome("refused", None, state.error.code, state.error.refusal.message, state.line)
        func = with_sizes(state.schedule.described, self._space.sizes).func
        plan = state.schedule.plan if func is state.schedule.described else None
        program = tasks_of(func, self._machine, plan, self._limits.accesses)
        refused = program.cached.refused
        if refused is not None:
            return Outcome("failed", None, refused.code, refused.refusal.message)
        over = self._overflow(first_peaks(program))
        if over is not None:
            return over  # most of those that do not fit, without counting their tasks
        least = least_figures(lower_bound_of(program, self._limits.tasks), self._far)
        over = self._over(least)
        if over is not None:
            return over
        bounds = vector(least, self._objectives)
        if any(all(k <= b for k, b in zip(known, bounds, strict=True)) for known in question.known):
            return Outcome("pruned", least, "bound", f"at least {least.cycles:,} cycles, by {least.bound_by}")
        report = simulate_tasks(program, self._limits.tasks)
        figures = figures_of(report, self._far)
        errors = [f for f in report.findings if f.severity == "error"]
        if errors:
            return Outcome("over", figures, errors[0].code, errors[0].message, full=self._full(figures.peaks))
        return self._over(figures) or Outcome("fits", figures)

    def _over(self, figures: Figures) -> Outcome | None:
        """Why these figures are too much for the machine or the budgets, if they are."""
        over = self._overflow(figures.peaks, figures)
        if over is not None:
            return over
        for name, most in self._budgets.items():
            if figures.figure(name) > most:
                message = f"{name} of {figures.figure(name):,.0f}, at most {most:,.0f}"
                return Outcome("over", figures, "budget", message)
        return None

    def _overflow(self, peaks: Mapping[str, int], figures: Figures | None = None) -> Outcome | None:
        """What comes of it where a row of memory would have to hold more than it has."""
        row = self._full(peaks)
        if not row:
            return None
        message = f"{row} would have to hold {peaks[row]:,} bytes, and has {self._capacities[row]:,}"
        return Outcome("over", figures, "capacity-overflow", message, full=row)

    def _full(self, peaks: Mapping[str, int]) -> str:
        """The first row of memory that would have to hold more than it has; "" where none would."""
        return next((row for row, capacity in self._capacities.items() if peaks.get(row, 0) > capacity), "")

    @cached_property
    def _capacities(self) -> dict[str, int]:
        return {
            row_name(memory, block): memory.capacity_bytes // memory.blocks
            for memory in self._machine.memories
            for block in range(memory.blocks)
        }


def failed(task: Task, code: str, message: str) -> Answer:
    """The answer to a task that nobody could do."""
    return () if isinstance(task, LocalSearch) else Outcome("failed", None, code, message)


TOO_MUCH = frozenset({"too-many-tasks", "too-many-accesses", "too-large"})
"""Refusals of the simulator that say how much work a candidate is, not that the machine cannot run it."""
