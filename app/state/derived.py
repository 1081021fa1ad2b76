"""Derived results of the state: reports, verdicts, texts. Each is computed once per program and cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar, TypeVarTuple, Unpack

from msgspec.structs import replace

from ...engine.analysis import ProgramIndex
from ...engine.execute import Verdict
from ...engine.export import to_tvm_python
from ...engine.hwsim import MAX_TASKS as ALL_TASKS
from ...engine.hwsim import Machine, Report, load_machine, simulate
from ...engine.ir import PrimFunc, Refusal, TilewrightError
from ...engine.lower import Plan, RewriteResult, planned, with_sizes
from ...engine.measure import Compared
from ...engine.processes import here_or_isolated
from ...engine.schedule import Schedule
from ...engine.script import Printed, print_program
from ..document import DEFAULT_MACHINE, sizes_for
from ..document import State as Moment
from ..limits import LIMITS
from .entries import Derived, Entry, result_of
from .model import State

Result = TypeVar("Result")
Inputs = TypeVarTuple("Inputs")

MAX_TASKS = LIMITS.tasks
"""The limit on simulated tasks: about a second of simulation, during which the server answers no request. The command line has a higher
limit."""


CHECK_STOPPED = "The verification was stopped"
"""The detail of a verdict for a check that the user stopped."""


REPORT = Derived[Report | TilewrightError]("report")
"""Of a program with sizes and a machine."""

PLAN = Derived[Plan | TilewrightError]("plan")
"""The buffer allocations of a program."""

VERDICT = Derived[Verdict]("verdict")
"""Whether a program is equivalent to its original at the given sizes."""

MEASURED = Derived[Compared | TilewrightError]("measured")
"""The times of a scheduled program and of that before the schedule, with the sizes and the machine that predicts."""

_MACHINE = Derived[Machine]("machine")
_SCRIPT = Derived[Printed]("script")
_PYTHON = Derived[str | TilewrightError]("python")


class Store:
    """Derived values of one session, each made once. The oldest entries are evicted."""

    def __init__(self, limit: int = 2_000) -> None:
        self._known: OrderedDict[Hashable, tuple[Entry[Any], Any]] = OrderedDict()
        self._limit = limit
        self._lock = threading.Lock()  # the answers of the API are made in threads
        self._machines: dict[Machine, Machine] = {}

    def remember(self, entry: Entry[Result], compute: Callable[[], Result]) -> Result:
        """The value of the entry, made by `compute` the first time."""
        with self._lock:
            found = self._known.get(entry.key)
            if found is not None:
                self._known.move_to_end(entry.key)
                return found[1]
        return self.keep(entry, compute())

    def once(self, function: Callable[[Unpack[Inputs]], Result], *inputs: *Inputs) -> Result:
        """The result of a pure function of the inputs, made once."""
        return self.remember(result_of(function, *inputs), lambda: function(*inputs))

    def known(self, entry: Entry[Result] | None) -> Result | None:
        """The value of the entry; None if it is not made, and for no entry."""
        found = None if entry is None else self._known.get(entry.key)
        return None if found is None else found[1]

    def has(self, entry: Entry[Any]) -> bool:
        """Whether the value of the entry is made."""
        return entry.key in self._known

    def keep(self, entry: Entry[Result], value: Result) -> Result:
        """Keep a value, with the inputs of its entry, whose identity then stays unique."""
        with self._lock:
            self._known[entry.key] = (entry, value)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return value

    def forget(self, entry: Entry[Any]) -> None:
        """Evict a value."""
        self._known.pop(entry.key, None)

    def machine(self, state: State) -> Machine | TilewrightError:
        """The machine of the notebook, else the default one. Equal machines become one object, so that cached reports match."""
        if state.shown is not None and state.shown.machine is not None:
            machine = state.shown.machine
        else:
            loaded = self.once(_default_machine)
            if isinstance(loaded, TilewrightError):
                return loaded
            machine = loaded
        return self.same_machine(machine)

    def same_machine(self, machine: Machine) -> Machine:
        """The first machine of the session that is equal to this one."""
        # The same object as last time needs no comparison of all its parameters.
        return self.remember(_MACHINE(machine), lambda: self._machines.setdefault(machine, machine))

    def report(self, func: PrimFunc, machine: Machine | TilewrightError) -> Report | TilewrightError:
        """The report of the program on the machine, or the error that prevents it."""
        if isinstance(machine, TilewrightError):
            return machine
        return self.remember(REPORT(func, machine), lambda: report_of(func, machine, self.plan(func)))

    def foreseen(
        self,
        func: PrimFunc,
        sizes: Mapping[str, int],
        sized: RewriteResult,
        plan: Plan | TilewrightError,
        machine: Machine,
        report: Report | TilewrightError,
    ) -> None:
        """Keep the results of a program before it is shown: `sized` is `with_sizes(func, sizes)`, with its plan and report."""
        self.keep(result_of(with_sizes, func, sizes), sized)
        self.keep(PLAN(sized.func), plan)
        self.keep(REPORT(sized.func, machine), report)

    def plan(self, func: PrimFunc) -> Plan | TilewrightError:
        """The plan of the program's buffer allocations, from which the report and the sizes follow."""
        return self.remember(PLAN(func), lambda: attempt("plan", lambda: planned(func)))

    def simulated(self, state: State) -> Report | TilewrightError | None:
        """The report of the visible program, made here if it is not known; None without a program."""
        if state.moment is None:
            return None
        return self.report(self.costed(state, state.moment.schedule), self.machine(state))

    def known_report(self, state: State, schedule: Schedule | None = None) -> Report | TilewrightError | None:
        """The report of `schedule` (the visible one by default), or the error that prevents it; None if it is not available. Does not
        simulate."""
        if schedule is None:
            if state.moment is None:
                return None
            schedule = state.moment.schedule
        machine = self.machine(state)
        if isinstance(machine, TilewrightError):
            return machine
        return self.known(REPORT(self.costed(state, schedule), machine))

    def no_report(self, state: State) -> str:
        """The reason why the visible program has no report."""
        if state.moment is None:
            return "The notebook has no program"
        report = self.known_report(state)
        return report.refusal.message if isinstance(report, TilewrightError) else "Simulation in progress"

    def sized(self, state: State, func: PrimFunc) -> RewriteResult:
        """The program with the notebook's values for its symbolic sizes, and the mapping of its buffers."""
        return self.once(with_sizes, func, sizes_of(state, func))

    def costed(self, state: State, schedule: Schedule) -> PrimFunc:
        """The program that is simulated for a schedule of the notebook."""
        return self.sized(state, schedule.described).func

    def verdict(self, state: State, schedule: Schedule) -> Verdict | None:
        """Whether the program is equivalent to the original; None until it was checked."""
        func = schedule.func
        return self.known(VERDICT(func, sizes_of(state, func)))

    def index(self, func: PrimFunc) -> ProgramIndex:
        """The index of writers, readers and containment in the program."""
        return self.once(ProgramIndex, func)

    def script(self, schedule: Schedule) -> str:
        """The program as TVMScript."""
        return self.printed(schedule).text

    def printed(self, schedule: Schedule) -> Printed:
        """The TVMScript text with the positions of loops and blocks."""
        return self.remember(_SCRIPT(schedule.func), lambda: print_program(schedule.mod))

    def exported(self, moment: Moment) -> str | TilewrightError:
        """The schedule as Python for TVM, with the notebook's variable names."""
        schedule = moment.schedule
        return self.remember(
            _PYTHON(schedule.trace, moment.names),
            lambda: attempt("export", lambda: to_tvm_python(schedule, moment.names)),
        )


def _default_machine() -> Machine | TilewrightError:
    return attempt("machine", lambda: load_machine(DEFAULT_MACHINE))


def sizes_of(state: State, func: PrimFunc) -> dict[str, int]:
    """The notebook's values for the symbolic sizes of `func`."""
    return {} if state.shown is None else sizes_for(func, state.shown.sizes)


def report_of(
    func: PrimFunc, machine: Machine | TilewrightError, plan: Plan | TilewrightError | None = None
) -> Report | TilewrightError:
    """The report, or the error that prevents it, as a value."""
    if isinstance(machine, TilewrightError):
        return machine
    if isinstance(plan, TilewrightError):
        return plan
    found = attempt(
        "simulate",
        lambda: here_or_isolated(
            _simulated,
            func,
            machine,
            plan,
            here_seconds=LIMITS.here_seconds,
            seconds=LIMITS.change_seconds,
            what="the simulation",
            alike=(func.name, machine.name),
        ),
    )
    if not isinstance(found, TilewrightError):
        report, explained = found
        report.know(explained)
        return report
    if found.code == "too-many-tasks":
        expected = f"{found.refusal.expected}; `tilewright run` simulates up to {ALL_TASKS} of them"
        return TilewrightError(replace(found.refusal, expected=expected))
    return found


def _simulated(func: PrimFunc, machine: Machine, plan: Plan | None) -> tuple[Report, Any]:
    """The report, and what it finds on first use, which the event loop must not."""
    report = simulate(func, machine, MAX_TASKS, known_plan=plan)
    return report, report.explained


def attempt(what: str, work: Callable[[], Result]) -> Result | TilewrightError:
    """The result of `work()`, or its error as a value. An internal error becomes a value too, so that the page stays up."""
    try:
        return work()
    except TilewrightError as error:
        return error
    except RecursionError:
        return TilewrightError(Refusal("too-deep", f"{what}: the program is nested too deeply"))
    except Exception as error:
        return TilewrightError(Refusal("internal-error", f"{what} failed: {type(error).__name__}: {error}"))
