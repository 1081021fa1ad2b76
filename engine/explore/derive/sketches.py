"""Sketches of a derivation: schedules with holes, one for each way to group the blocks and to choose the loops to tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

import msgspec

from ...analysis import ProgramIndex
from ...hwsim import Machine
from ...ir import IRModule, PrimFunc, TilewrightError
from ...lower import with_sizes
from ...schedule import Intrinsics, Schedule
from ...script import CallStep
from ..database.record import TuningRecord
from ..database.renamed import SCHEDULE, renamed_lines
from ..database.target import target_of
from ..database.transfer import record_points
from ..database.workload import Workload, workload_of
from ..search.local_search import LocalSearch, estimates_of, rank_of
from ..space.model import Point, Space, SpaceError, space_of
from ..space.pins import Pins, pinned
from ..space.schedule_lines import BuiltLine, lines_of
from ..space.tiling_target import TilingTargetError
from ..trials.point_trials import PointTrials
from .draft import Group, ScheduleDraft, executes_threads
from .groups import MAIN_BLOCK, Partition, SketchChoice, are_plain, choice_of, partitions, tilings
from .main_block import main_group
from .table import MAIN_RULES, ScheduleRule, apply_rules

ESTIMATES = 32
"""Estimates of a sketch, at least."""

PER_HOLE = 4
"""Estimates of a sketch for each of its holes, at least."""

MOST_SKETCHES = 12
"""Sketches of one way to group the blocks."""

FOUND = "the schedule found before"

WHOLE = SketchChoice(MAIN_BLOCK)
"""The choice of the sketch that tiles the main block alone."""


class Sketch(msgspec.Struct, frozen=True, eq=False):
    """A schedule with holes, and its points, the best by estimate first; `rank` is the estimated rank of the first.
    `kind` is the number of groups; 0 for tiles of the main block alone, -1 for no schedule. `starts` are points of earlier searches, to be
    simulated first. `is_pinned` says that its holes have the values to keep: its space has only those."""

    title: str
    lines: tuple[BuiltLine, ...]
    space: Space
    trials: PointTrials
    points: tuple[Point, ...]
    rank: float
    kind: int
    decisions: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()
    choice: SketchChoice | None = None
    starts: tuple[Point, ...] = ()
    is_pinned: bool = True


Estimated = tuple[Space, PointTrials, tuple[Point, ...], float, bool]
"""The space, trials, points and rank of a sketch, and whether it has the values to keep."""


class Sketches:
    """The sketches of a program on a machine, each drafted once."""

    def __init__(
        self,
        program: IRModule | PrimFunc,
        machine: Machine,
        sizes: Mapping[str, int],
        name: str,
        intrinsics: Intrinsics | None,
        rules: tuple[ScheduleRule, ...],
        stop: Callable[[], bool],
        keep: Pins | None = None,
    ) -> None:
        self.program, self.machine, self.sizes, self.name, self.intrinsics = program, machine, sizes, name, intrinsics
        self.rules, self.stop, self.keep = rules, stop, keep or {}
        self.index = ProgramIndex(with_sizes(Schedule(program, intrinsics=intrinsics).func, sizes).func)
        self._sketches: dict[SketchChoice, Sketch] = {}
        self._estimates: dict[tuple[str, ...], Estimated] = {}

    def recorded(self, records: Sequence[TuningRecord]) -> Iterator[Sketch]:
        """Yields the sketches of records, those of this very program and machine first, each with the points to simulate first."""
        if not records:
            return
        workload, target = workload_of(self.program, self.sizes), target_of(self.machine)
        for record in records:
            if record.is_for(workload, target) and (exact := self._written(record, workload)) is not None:
                yield exact
        starts: dict[SketchChoice, list[Point]] = {}
        for record in records:
            if record.choice is None or record.is_for(workload, target):
                continue
            sketch = self._of_choice(record.choice)
            if sketch is not None and sketch.choice is not None:
                starts.setdefault(sketch.choice, []).extend(record_points(sketch.space, workload, record))
        for choice, points in starts.items():
            if points:
                first = tuple(dict.fromkeys(points))
                self._sketches[choice] = msgspec.structs.replace(self._sketches[choice], starts=first)
                yield self._sketches[choice]

    def _written(self, record: TuningRecord, workload: Workload) -> Sketch | None:
        """The sketch with the lines of a record, under the names of the program; None if a line is refused."""
        names = record.names_for(workload)
        text = renamed_lines(record.text, names, SCHEDULE, self.name)
        kind = 0 if record.choice is None else len(record.choice.tiled)
        try:
            lines = lines_of(text)
            decided = (FOUND, *(line.text.removeprefix("# ") for line in lines if line.statement is None))
            sketch = self._estimated(FOUND, kind, lines, decided, (), record.choice)
            sketch.space.schedule_at(sketch.space.default)
        except TilewrightError:
            return None
        return msgspec.structs.replace(sketch, starts=(sketch.space.default,))

    def _of_choice(self, choice: SketchChoice) -> Sketch | None:
        """The sketch of a choice; None if the program has no such blocks and loops."""
        if choice == WHOLE or not are_plain(self.index):
            return self._main() if choice == WHOLE else None
        found = choice.found_in(self.index)
        if found is None or any(loops not in tilings(self.index, group) for group, loops in zip(*found, strict=True)):
            return None
        return self._of_groups(choice.partition, *found, inner=choice.inner)

    def _main(self) -> Sketch | None:
        """The sketch of the main block alone; None if there is none."""
        if WHOLE not in self._sketches:
            try:
                draft = self._main_draft()
            except TilingTargetError:
                return None
            self._sketches[WHOLE] = self._drafted("tiles of the main block", 0, draft, WHOLE)
        return self._sketches[WHOLE]

    def _main_draft(self) -> ScheduleDraft:
        """The draft of the main block. Raises TilingTargetError."""
        draft = self._draft()
        apply_rules(draft, [main_group(draft)], MAIN_RULES)
        return draft

    def _draft(self, *, tiles_inside: bool = False) -> ScheduleDraft:
        return ScheduleDraft(
            self.program, self.machine, self.sizes, self.name, self.intrinsics, tiles_inside=tiles_inside
        )

    def batches(self, choice: SketchChoice | None = None) -> Iterator[Iterator[Sketch]]:
        """Yields the sketches of each way to group the blocks, or the one of a choice. Raises TilingTargetError if there is none."""
        plain = are_plain(self.index)
        known = choice.found_in(self.index) if choice is not None and plain and self.rules else None
        if choice is not None and known is not None:
            yield iter([self._of_groups(choice.partition, *known, inner=choice.inner)])
            return
        main = None if plain and self.rules and executes_threads(self.machine) else self._main()
        if main is not None:
            yield iter([main])
            if choice == WHOLE:
                return
        elif not plain or not self.rules:
            main_group(self._draft())
        if plain and self.rules:
            for number, partition in enumerate(partitions(self.index)):
                yield self._of_partition(number, partition)

    def unscheduled(self) -> Sketch:
        """The program as it is, for machines where no sketch fits."""
        return self._estimated("the program as it is", -1, (), ("the program as it is: no derived schedule fits",))

    def _of_partition(self, number: int, partition: Partition) -> Iterator[Sketch]:
        """Yields sketches of a partition: one with the first tiling of each group, then, group by group, those with its other tilings
        beside the best ones so far, and with tiles inside of tiles the best of them
        and those that do not fit."""
        options = [tilings(self.index, group) for group in partition]
        if not all(options):
            return
        chosen = [some[0] for some in options]
        best = self._of_groups(number, partition, chosen)
        yield best
        left = MOST_SKETCHES
        for n, some in enumerate(options):
            for other in some[1:]:
                if not left or self.stop():
                    return
                left -= 1
                trial = [*chosen[:n], other, *chosen[n + 1 :]]
                sketch = self._of_groups(number, partition, trial)
                yield sketch
                if not _fits(sketch):
                    yield from self._with_tiles_inside(number, partition, trial)
                if sketch.rank < best.rank:
                    best, chosen = sketch, trial
        yield from self._with_tiles_inside(number, partition, chosen)

    def _with_tiles_inside(
        self, number: int, partition: Partition, tiled: Sequence[tuple[str, ...]]
    ) -> Iterator[Sketch]:
        """Yields the sketch of these groups and loops with tiles inside of tiles, unless it is the one without."""
        plain = self._of_groups(number, partition, tiled)
        inside = self._of_groups(number, partition, tiled, inner=True)
        if inside.space is not plain.space:
            yield inside

    def _of_groups(
        self, number: int, partition: Partition, tiled: Sequence[tuple[str, ...]], *, inner: bool = False
    ) -> Sketch:
        """The sketch that the rules write for the groups of the partition of this number and the loops to tile of each."""
        choice = choice_of(self.index, number, partition, tiled, inner=inner)
        if choice in self._sketches:
            return self._sketches[choice]
        draft = self._draft(tiles_inside=inner)
        groups = [Group(one.blocks, loops, one.after) for one, loops in zip(partition, tiled, strict=True)]
        apply_rules(draft, groups, self.rules)
        title = "; ".join(f"{group.last} by {', '.join(group.tiled)}" for group in groups)
        title = f"tiles of {title}{', with tiles inside' if inner else ''}"
        self._sketches[choice] = self._drafted(title, len(partition), draft, choice)
        return self._sketches[choice]

    def _drafted(self, title: str, kind: int, draft: ScheduleDraft, choice: SketchChoice) -> Sketch:
        decisions, omissions = tuple(draft.decisions), tuple(draft.omissions)
        return self._estimated(title, kind, draft.builder.lines, decisions, omissions, choice)

    def _estimated(
        self,
        title: str,
        kind: int,
        lines: tuple[BuiltLine, ...],
        decisions: tuple[str, ...] = (),
        omissions: tuple[str, ...] = (),
        choice: SketchChoice | None = None,
    ) -> Sketch:
        calls = tuple(line.statement for line in lines if line.statement is not None)
        texts = tuple(call.text for call in calls)
        if texts not in self._estimates:  # several choices have the same lines where loops are too short to tile
            self._estimates[texts] = self._estimated_space(calls)
        space, trials, points, rank, is_pinned = self._estimates[texts]
        return Sketch(
            title, lines, space, trials, points, rank, kind, decisions, omissions, choice, is_pinned=is_pinned
        )

    def _estimated_space(self, calls: Sequence[CallStep]) -> Estimated:
        space = space_of(self.program, calls, schedule_name=self.name, sizes=self.sizes, intrinsics=self.intrinsics)
        is_pinned = True
        try:
            space = pinned(space, self.keep)
        except SpaceError:
            is_pinned = False
        trials = PointTrials(space, self.machine)
        estimates = max(ESTIMATES, PER_HOLE * len(space.holes)) if self.rules else 0
        search = LocalSearch(space.default, estimates, 0)
        estimated = estimates_of(search, trials.estimator)
        ranked = sorted((rank_of(e), p) for p, e in estimated if e is not None)
        points = tuple(dict.fromkeys([*(p for _, p in ranked), space.default]))
        rank = ranked[0][0] if ranked else inf
        return space, trials, points, rank, is_pinned


def _fits(sketch: Sketch) -> bool:
    """Whether the first point of a sketch fits by estimate."""
    estimate = sketch.trials.estimator.at(sketch.points[0])
    return estimate is not None and estimate.fits


__all__ = ["Sketch", "Sketches"]
