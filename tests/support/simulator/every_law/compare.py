"""A program on a machine: each task of the engine beside the same task of the oracle."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tilewright.engine.hwsim import Machine, Report, simulate_tasks, tasks_of
from tilewright.engine.hwsim.replay.steady import replay_tasks
from tilewright.engine.hwsim.tasks.variants import TaskVariant
from tilewright.engine.ir import PrimFunc

from .laws import laws_of
from .machine_tasks import Done, Run, run_all

EVERYTHING = 10**9
MOST_TASKS = 20_000
MOST_ELEMENTS = 200_000


class Compared(NamedTuple):
    """The number of tasks of a program, in total and by kind of engine; of those that the simulator replays if it skips repeats; the laws
    that apply, and whether a task stalled on a port; the first difference, or "".
    """

    tasks: int
    replayed: int
    waited: bool
    kinds: Counter[str]
    laws: set[str]
    difference: str


def compare(func: PrimFunc, machine: Machine, most_elements: int = MOST_ELEMENTS) -> Compared:
    """Compares both. Raises MachineError and TooManyElementsError."""
    program = tasks_of(func, machine)
    run = run_all(program, most_elements)
    every = replay_tasks(program, MOST_TASKS, EVERYTHING)
    clocks = every.clocks
    engine = [
        (program.variants[number], start, end)
        for number, start, end in zip(clocks.numbers, clocks.starts, clocks.ends, strict=True)
    ]
    kinds = Counter(type(program.machine.engines[program.templates[d.template].engine]).__name__ for d in run.tasks)
    waited = any(d.end > d.start + d.timed.duration for d in run.tasks)
    few = simulate_tasks(program, MOST_TASKS, whole=0)
    difference = _difference(engine, run.tasks) or _totals(every.cycles, few, run)
    return Compared(len(run.tasks), len(few.segments), waited, kinds, laws_of(program), difference)


def _difference(engine: list[tuple[TaskVariant, int, int]], tasks: list[Done]) -> str:
    if len(engine) != len(tasks):
        return f"{len(engine)} tasks, not {len(tasks)}"
    for n, ((variant, start, end), done) in enumerate(zip(engine, tasks, strict=True)):
        for what, found, expected in _figures(variant, start, end, done):
            if found != expected:
                return f"task {n}, template {done.template}: {what} {found}, not {expected}"
    return ""


def _figures(variant: TaskVariant, start: int, end: int, done: Done) -> list[tuple[str, object, object]]:
    cost, replay, timed = variant.cost, variant.replay, done.timed
    touched: Counter[tuple[str, bool]] = Counter()
    for t in cost.touched:
        touched[t.buffer.name, t.written] += t.size_bytes
    demands = Counter((p.bytes_per_cycle, p.burst_cycles, cycles) for p, cycles in cost.demands)
    return [
        ("template", variant.template, done.template),
        ("bytes", dict(touched), dict(done.cost.touched)),
        ("lost on banks", sum(c.cycles for c in cost.conflicts), done.cost.lost),
        ("port cycles", demands, Counter((p.bytes_per_cycle, p.grant, cycles) for p, cycles in timed.demands.items())),
        ("duration", replay.duration, timed.duration),
        ("setup", replay.setup, timed.setup),
        ("latency", replay.latency, timed.latency),
        ("reads", set(replay.reads), set(timed.reads)),
        ("writes", set(replay.writes), set(timed.writes)),
        ("preloads", dict(replay.preloads), timed.ahead),
        ("start", start, done.start),
        ("end", end, done.end),
    ]


def _totals(cycles: int, few: Report, run: Run) -> str:
    """The first total that differs, of a replay of every task and of one that skips repeats."""
    busy: Counter[str] = Counter()
    for done in run.tasks:
        busy[done.engine] += done.timed.duration
    figures = [
        ("cycles", cycles, run.cycles),
        ("cycles where repeats are skipped", few.cycles, run.cycles),
        ("cycles lost on banks", sum(row.cycles for row in few.conflicts), sum(d.cost.lost for d in run.tasks)),
        ("busy cycles", {name: e.busy for name, e in few.engines.items() if e.busy}, dict(busy)),
    ]
    return next((f"{what} {found}, not {expected}" for what, found, expected in figures if found != expected), "")
