"""The search of a network: slices of time go to the kernels with the most cycles to win.

The first slice of a kernel derives a space and its first schedule, in the order of what the kernels can win. Of kernels that differ in
sizes and types alone, one is derived completely; the others begin with its sketch, and are derived completely if that is further from
their bound. The remaining time goes to the kernels whose cycles exceed their lower bound by most; a slice that finds nothing better
halves a kernel's claim.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from zlib import crc32

import msgspec

from ...cancellation import checkpoint
from ...explore import SketchChoice, program_bound, workload_of
from ...hwsim import Machine, simulate
from ...ir import Network, PrimFunc, TilewrightError
from ...script import to_script
from ..report import KernelCost, NetworkReport, simulate_network
from .study import KernelStudy, KernelTask, scheduled_program
from .workers import ProcessWorker, SliceWorker, ThreadWorker

POLL_SECONDS = 0.2
"""Polling interval of the stop condition while slices run."""

FIRST_SECONDS = 3.0
"""The shortest soft limit of a first slice."""

SLICE_SECONDS = 8.0
"""The second slice of a kernel; each further one is longer by as much, up to MOST_SECONDS."""

MOST_SECONDS = 60.0

LEAST_SECONDS = 1.0
"""A slice shorter than this is not started."""

ALIKE = 1.25
"""Multiple of its bound that a kernel may take with the sketch of another one, relative to that one's multiple."""

CHOICES = 3
"""Sketches of a structure that are remembered, the latest first."""

CLOSE = 1.02
"""Kernels within this factor of their bound are not searched any further."""


class KernelState(msgspec.Struct, frozen=True, eq=False):
    """A kernel of the search: its calls and cycles of one inference, for all sizes together.

    `before` are the cycles without a schedule, `cycles` those with the best one, `bound` a lower bound on them. `study` is what the search
    found, `is_kept` says that it has a schedule from elsewhere.
    """

    name: str
    runs: int
    before: int
    cycles: int
    bound: int
    study: KernelStudy | None = None
    is_kept: bool = False

    @property
    def is_scheduled(self) -> bool:
        """Whether the search or somebody else scheduled the kernel."""
        return self.is_kept or (self.study is not None and bool(self.study.lines))


class NetworkProgress(msgspec.Struct, frozen=True, eq=False):
    """The progress of a search, after each slice. `done` of `total` kernels are scheduled or refused; `cycles` are those of an inference
    now, `bound` is their lower bound; `last` is the kernel of the slice."""

    done: int
    total: int
    cycles: int
    bound: int
    seconds_left: float
    last: KernelState


class NetworkStudy(msgspec.Struct, frozen=True, eq=False):
    """The result of a search: the state of each kernel that an inference runs, and the report with the schedules found. `seconds` is the
    time that it took, `ended` whether no kernel is left to search."""

    machine: Machine
    kernels: tuple[KernelState, ...]
    report: NetworkReport
    seconds: float
    ended: bool

    @property
    def before(self) -> int:
        """Cycles of an inference without schedules that the search found."""
        return sum(k.before for k in self.kernels)

    @property
    def cycles(self) -> int:
        """Cycles of an inference with the schedules found."""
        return sum(k.cycles for k in self.kernels)

    @property
    def bound(self) -> int:
        """Lower bound on the cycles of an inference whose kernels run one after another."""
        return sum(k.bound for k in self.kernels)

    @property
    def refused(self) -> tuple[KernelState, ...]:
        """The kernels without a schedule for which there is a reason."""
        return tuple(k for k in self.kernels if not k.is_scheduled and k.study is not None and k.study.code)


Watch = Callable[[NetworkProgress], object]


def explore_network(
    network: Network,
    machine: Machine,
    sizes: Mapping[str, int] | None = None,
    *,
    seconds: float = 600.0,
    workers: int = 2,
    scheduled: Mapping[str, PrimFunc] | None = None,
    known: Mapping[str, KernelStudy] | None = None,
    folder: str | Path | None = None,
    database: str | Path | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> NetworkStudy:
    """Search a schedule for each kernel of a network, within `seconds` of wall-clock time over all kernels.

    `workers` processes search different kernels at a time; 0 searches in this thread, and completes a slice that has begun. Kernels with a
    program in `scheduled` are kept. `known` is what an earlier search found, by name of the kernel, and `folder` has the outcomes of its
    candidates; the search resumes from both. `database` is a file of found schedules, with which the kernels begin. `watch` is called after
    each slice, `stop` is polled: True ends the search.

    A kernel whose derivation fails has the reason in its study and stays as it is. A schedule that is not faster for the sizes of all
    calls is dropped. Raises TilewrightError "missing-size".
    """
    begun = time.monotonic()
    kept = dict(scheduled or {})
    report = simulate_network(network, machine, sizes, scheduled=kept)
    search = _Search(network, report, kept, known or {}, begun + seconds, workers, database)
    with ExitStack() as stack:
        studies = Path(folder) if folder is not None else Path(stack.enter_context(TemporaryDirectory()))
        ended = search.run(studies, watch or (lambda _: None), stop or (lambda: False))
    final = simulate_network(network, machine, sizes, scheduled={**kept, **search.programs})
    return NetworkStudy(machine, tuple(search.states.values()), final, time.monotonic() - begun, ended)


class _Search:
    """A running search: the state of each kernel, and those on which a worker works."""

    def __init__(
        self,
        network: Network,
        report: NetworkReport,
        kept: Mapping[str, PrimFunc],
        known: Mapping[str, KernelStudy],
        until: float,
        workers: int,
        database: str | Path | None,
    ) -> None:
        self.database = "" if database is None else str(database)
        self.machine, self.until, self.workers = report.machine, until, workers
        self.functions = {f.name: f for f in network.kernels}
        self.costs: dict[str, list[KernelCost]] = {}
        for cost in report.kernels:
            if cost.runs:
                self.costs.setdefault(cost.kernel.name, []).append(cost)
        self.states: dict[str, KernelState] = {}
        self.programs: dict[str, PrimFunc] = {}
        self.claims: dict[str, float] = {}
        self.busy: set[str] = set()
        self.structures = {name: workload_of(self.functions[name]).structure for name in self.costs}
        self.choices: dict[str, tuple[SketchChoice, ...]] = {}
        self.multiples: dict[str, float] = {}
        derivations = len(set(self.structures.values()))
        self.first_seconds = max(FIRST_SECONDS, (until - time.monotonic()) * max(1, workers) / max(1, 2 * derivations))
        for name, costs in self.costs.items():
            checkpoint()
            cycles = sum(c.cycles for c in costs)
            bound = sum(c.runs * _bound(c, self.machine) for c in costs)
            self.claims[name] = 1.0
            self.states[name] = KernelState(
                name,
                sum(c.runs for c in costs),
                cycles,
                cycles,
                min(bound, cycles) if cycles else bound,
                None,
                name in kept,
            )
            if name in known and name not in kept:
                self._take(known[name])

    def run(self, folder: Path, watch: Watch, stop: Callable[[], bool]) -> bool:
        """Give slices to workers until the time is over; return whether no kernel is left to search."""
        cancelled = False

        def is_over() -> bool:
            return cancelled or stop() or time.monotonic() >= self.until

        count = max(1, self.workers)
        free: SimpleQueue[SliceWorker] = SimpleQueue()
        made: list[SliceWorker] = [ProcessWorker() if self.workers else ThreadWorker() for _ in range(count)]
        for worker in made:
            free.put(worker)

        def slice_of(task: KernelTask) -> KernelStudy | None:
            worker = free.get()
            try:
                return worker.perform(task, is_over)
            finally:
                free.put(worker)

        if not self.workers:
            return self._in_turn(folder, slice_of, watch, is_over)
        threads = ThreadPoolExecutor(count, thread_name_prefix="network")
        running: dict[Future[KernelStudy | None], str] = {}
        try:
            while not is_over():
                checkpoint()
                while len(running) < count and (task := self._next(folder)) is not None:
                    self.busy.add(task.known.kernel)
                    running[threads.submit(slice_of, task)] = task.known.kernel
                if not running:
                    break
                done, _ = wait(running, POLL_SECONDS, FIRST_COMPLETED)
                for future in done:
                    self._received(running.pop(future), future.result(), watch)
        finally:
            cancelled = True
            threads.shutdown(wait=True, cancel_futures=True)
            for worker in made:
                worker.close()
        return self._next(folder, any_time=True) is None

    def _in_turn(
        self,
        folder: Path,
        slice_of: Callable[[KernelTask], KernelStudy | None],
        watch: Watch,
        is_over: Callable[[], bool],
    ) -> bool:
        while not is_over() and (task := self._next(folder)) is not None:
            checkpoint()
            self._received(task.known.kernel, slice_of(task), watch)
        return self._next(folder, any_time=True) is None

    def _received(self, name: str, study: KernelStudy | None, watch: Watch) -> None:
        self.busy.discard(name)
        if study is None:
            return
        before = self.states[name].cycles
        self._take(study)
        if self.states[name].cycles >= before and study.slices > 1:
            self.claims[name] /= 2
        states = self.states.values()
        done = sum(s.is_kept or s.study is not None for s in states)
        cycles, bound = sum(s.cycles for s in states), sum(s.bound for s in states)
        left = max(0.0, self.until - time.monotonic())
        watch(NetworkProgress(done, len(self.states), cycles, bound, left, self.states[name]))

    def _take(self, study: KernelStudy) -> None:
        """The state with this study, whose schedule counts if it makes the calls of an inference faster."""
        name, state = study.kernel, self.states.get(study.kernel)
        if state is None:
            return
        cycles = state.cycles
        if study.lines:
            try:
                program = scheduled_program(self.functions[name], study.lines)
                found = sum(
                    c.runs * simulate(c.kernel.program({name: program}), self.machine).cycles for c in self.costs[name]
                )
            except TilewrightError as error:
                study = msgspec.structs.replace(
                    study, lines="", cycles=0, code=error.refusal.code, message=error.refusal.message
                )
            else:
                if cycles and found > cycles:
                    message = f"{found:,} cycles with the schedule, {cycles:,} without"
                    study = msgspec.structs.replace(study, lines="", cycles=0, code="not-faster", message=message)
                else:
                    cycles = found
                    self.programs[name] = program
        self.states[name] = msgspec.structs.replace(state, study=study, cycles=cycles)
        structure = self.structures[name]
        if study.lines and study.choice is not None and (study.slices == 1 or structure not in self.choices):
            self.choices[structure] = _latest_first(study.choice, self.choices.get(structure, ()))
            self.multiples[structure] = max(1.0, cycles / max(1, state.bound))

    def _next(self, folder: Path, *, any_time: bool = False) -> KernelTask | None:
        """The next slice: the first one of the kernel with the most to win, or one more of the kernel with the largest claim."""
        left = self.until - time.monotonic()
        if left < LEAST_SECONDS and not any_time:
            return None
        free = [s for s in self.states.values() if s.name not in self.busy and not s.is_kept]
        fresh = [s for s in free if s.study is None]
        derived = {self.structures[name] for name in self.busy}
        ready = [s for s in fresh if self.structures[s.name] not in derived]
        chosen = max(ready or fresh, key=_gain, default=None) or max(
            (s for s in free if _is_open(s)), key=lambda s: _gain(s) * self.claims[s.name], default=None
        )
        if chosen is None:
            return None
        known = chosen.study or KernelStudy(chosen.name)
        seconds = self.first_seconds if not known.space else min(MOST_SECONDS, SLICE_SECONDS * max(1, known.slices))
        cost = max(self.costs[chosen.name], key=lambda c: c.cycles)
        store = str(folder / f"{chosen.name}-{crc32(known.space.encode()):08x}.sqlite") if known.space else ""
        program = to_script(self.functions[chosen.name])
        structure = self.structures[chosen.name]
        return KernelTask(
            program,
            self.machine,
            dict(cost.kernel.sizes),
            max(LEAST_SECONDS, min(seconds, left)),
            known,
            store,
            self.choices.get(structure, ()),
            round(ALIKE * self.multiples.get(structure, 0.0) * _bound(cost, self.machine)),
            self.database,
        )


def _latest_first(choice: SketchChoice, others: tuple[SketchChoice, ...]) -> tuple[SketchChoice, ...]:
    return (choice, *(other for other in others if other != choice))[:CHOICES]


def _gain(state: KernelState) -> float:
    """Cycles of an inference that the kernel can win; one that the machine refuses as it is comes before all others."""
    return float("inf") if not state.cycles else state.cycles - state.bound


def _is_open(state: KernelState) -> bool:
    """Whether more candidates of the kernel are worth their time."""
    study = state.study
    assert study is not None
    return bool(study.space) and not study.ended and state.cycles > CLOSE * state.bound


def _bound(cost: KernelCost, machine: Machine) -> int:
    try:
        return program_bound(cost.kernel.program(), machine).cycles
    except TilewrightError:
        return 0


__all__ = ["KernelState", "NetworkProgress", "NetworkStudy", "explore_network"]
