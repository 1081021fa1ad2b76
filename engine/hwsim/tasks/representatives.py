"""One iteration for all that are equivalent for a task: tasks beside it may need more iterations apart than the task itself does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...arith import Analyzer
from ...ir import Var
from .nest import Loop
from .periodicity import IterationClass, Run, runs_of, using


class Representatives:
    """The first equivalent iteration for each iteration of the loops around a task, by the task's own class."""

    def __init__(self, loops: Iterable[Loop], iteration_class: IterationClass, analyzer: Analyzer) -> None:
        self._loops = {loop.var: loop.extent for loop in loops}
        self._own = {var: using(var, iteration_class) for var in self._loops}
        self._around = {var: own.variables() for var, own in self._own.items()}
        self._analyzer = analyzer
        self._runs: dict[tuple[Var, tuple[int, ...]], tuple[Run, ...]] = {}

    def of(self, iterations: Sequence[int]) -> dict[Var, int]:
        """Returns the loops at the first iterations that are equivalent to these."""
        found: dict[Var, int] = {}
        for (var, extent), iteration in zip(self._loops.items(), iterations, strict=True):
            around = var, tuple(n for v, n in found.items() if v in self._around[var])
            runs = self._runs.get(around)
            if runs is None:
                runs = self._runs[around] = runs_of(var, extent, self._own[var], found, self._analyzer)
            found[var] = next(run for run in runs if iteration < run.stop).like(iteration)
        return found
