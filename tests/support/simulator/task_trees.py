"""Random trees of tasks as input of a replay: loops with edges and alternating slots, tasks on several engines, shared ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from random import Random
from types import SimpleNamespace
from typing import Any

from tilewright.engine.hwsim.replay.clocks import Variant
from tilewright.engine.hwsim.tasks.periodicity import Run
from tilewright.engine.hwsim.tasks.tree import LoopPiece, TaskLoop
from tilewright.engine.hwsim.tasks.variants import NOTHING

LONG = (1, 2, 3, 5, 8, 17, 40)


class Task:
    """A task whose variant `find` derives from the loops around it."""

    def __init__(self, engine: int, cells: tuple[int, ...], find: Callable[[Mapping[Any, int]], int]) -> None:
        self.engine = engine
        self.cells = cells
        self.blocks = ()
        self.turns: list[tuple[Any, int]] = []
        self.edges: list[Any] = []
        self.variants = SimpleNamespace(at=find, costs=0)


class Loop(TaskLoop, frozen=True):
    """A loop that knows its equal iterations from the construction of its tasks."""

    @property
    def turns(self) -> list[tuple[Any, int]]:
        return [turn for child in self.children for turn in child.turns]  # type: ignore[union-attr]

    @property
    def edges(self) -> list[Any]:
        return [edge for child in self.children for edge in child.edges]  # type: ignore[union-attr]

    @property
    def used(self) -> set[Any]:
        """The loops that its tasks depend on."""
        return {turning for turning, _ in self.turns} | set(self.edges)

    def pieces(self, at: Mapping[Any, int]) -> tuple[LoopPiece, ...]:
        return tuple(LoopPiece(run, (run,)) for run in self._runs())

    def _runs(self) -> tuple[Run, ...]:
        first, *inner = self.loops
        if inner:
            return (Run(0, self.extent, 1),)
        var, extent = first.var, first.extent
        period = lcm(1, *(count for turning, count in self.turns if turning is var))
        if any(edge is var for edge in self.edges) and extent > 1:
            return Run(0, extent - 1, min(period, extent - 1)), Run(extent - 1, extent, 1)
        return (Run(0, extent, min(period, extent)),)


def task_program(rng: Random, *, ports: int = 0, demands: bool = True) -> Any:
    """A program for `steady.replay_tasks`, with all ports that its tasks request."""
    return TreeMaker(rng, ports, demands=demands).program()


class TreeMaker:
    def __init__(self, rng: Random, ports: int, *, demands: bool) -> None:
        self.rng = rng
        self.ports = ports
        self.demands = demands
        self.engines = rng.randint(1, 4)
        self.buffers: list[tuple[int, int]] = []
        for _ in range(rng.randint(1, 5)):
            slots = rng.choice([1, 1, 2, 2, 3, 4])
            self.buffers.append((sum(s for _, s in self.buffers), slots))
        self.longest = rng.choice([5, 20, 100])
        self.variants: list[Any] = []
        self.numbers: dict[Variant, int] = {}

    def program(self, depth: int = 3, outer: Sequence[tuple[Any, int]] = ()) -> Any:
        """Returns a program with up to so many nested loops, inside of the loops `outer`."""
        return SimpleNamespace(
            tree=tuple(self.nodes(depth, [*outer])),
            variants=self.variants,
            counts={},
            machine=SimpleNamespace(
                queues=tuple(self.rng.choice([1, 2, 4, 16]) for _ in range(self.engines)),
                longest_preload=self.longest,
                cores_around=lambda _: 1,
                links=(),
            ),
            places=SimpleNamespace(of_cell=[None] * sum(s for _, s in self.buffers)),
            ports=[
                SimpleNamespace(burst_cycles=self.rng.choice([1, 2, 5, 16]), level="", link="", elements=False)
                for _ in range(self.ports)
            ],
        )

    def nodes(self, depth: int, outer: list[tuple[Any, int]], *, lone: bool = False) -> list[Any]:
        found: list[Any] = []
        for _ in range(1 if lone else self.rng.randint(1, 3)):
            if depth and (lone or self.rng.random() < 0.55):
                var = object()
                extent = self.rng.choice([2, 3, 9, 20] if depth == 3 else [*LONG, self.rng.randint(2, 90)])
                # Some loops affect no task, some contain only a loop.
                seen = outer if self.rng.random() < 0.4 else [*outer, (var, extent)]
                children = self.nodes(depth - 1, seen, lone=depth > 1 and self.rng.random() < 0.4)
                engines = sorted({e for c in children for e in (c.engines if isinstance(c, Loop) else (c.engine,))})
                cells = sorted({cell for c in children for cell in c.cells})
                loop = (SimpleNamespace(var=var, extent=extent, grid=False),)
                only = children[0] if len(children) == 1 else None
                if isinstance(only, Loop) and not {var, *(n.var for n in only.loops)} & only.used:
                    loop, children = (*loop, *only.loops), list(only.children)
                found.append(Loop(loop, tuple(children), tuple(engines), tuple(cells), None, (), None, {}))  # type: ignore[arg-type]
            else:
                found.append(self.task(outer))
        return found

    def task(self, outer: list[tuple[Any, int]]) -> Task:
        rng = self.rng
        engine = rng.randrange(self.engines)
        usual = rng.randint(1, self.longest)
        at_edge = rng.choice([usual, rng.randint(1, self.longest)])
        least = min(usual, at_edge)
        latency = rng.choice([0, 0, rng.randint(0, self.longest)])
        setup = rng.choice([0, 0, rng.randint(0, least - 1)])
        demands = tuple(
            (port, rng.randint(1, least - setup))
            for port in range(self.ports if self.demands else 0)
            if rng.random() < 0.6
        )
        reads, writes = (
            [(b, rng.choice([None, *outer])) for b in self.buffers if rng.random() < 0.35] for _ in range(2)
        )
        edge = rng.choice([None, *outer, *outer]) if outer else None
        idle_at_edge = rng.random() < 0.05
        ahead = {b: rng.randint(1, self.longest) for b, _ in reads if rng.random() < 0.2}

        def find(at: Mapping[Any, int]) -> int:
            last = edge is not None and at[edge[0]] == edge[1] - 1
            if last and idle_at_edge:
                return NOTHING
            written = tuple(dict.fromkeys(_cell(b, turn, at) for b, turn in writes))
            read = tuple(c for c in dict.fromkeys(_cell(b, turn, at) for b, turn in reads) if c not in written)
            duration = at_edge if last else usual
            early = {_cell(b, turn, at): ahead[b] for b, turn in reads if b in ahead}
            preloads = tuple((cell, early[cell]) for cell in read if cell in early)
            return self.number(Variant(engine, duration, latency, read, written, setup, demands, preloads))

        cells = tuple(first + n for (first, slots), _ in [*reads, *writes] for n in range(slots))
        task = Task(engine, cells, find)
        task.turns = [(turn[0], b[1]) for b, turn in [*reads, *writes] if turn is not None]
        task.edges = [edge[0]] if edge is not None else []
        return task

    def number(self, variant: Variant) -> int:
        if variant not in self.numbers:
            self.numbers[variant] = len(self.variants)
            self.variants.append(SimpleNamespace(replay=variant, template=0))
        return self.numbers[variant]


def _cell(buffer: tuple[int, int], turn: tuple[Any, int] | None, at: Mapping[Any, int]) -> int:
    first, slots = buffer
    return first + (at[turn[0]] % slots if turn is not None else 0)
