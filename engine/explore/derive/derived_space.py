"""Derives a space from a program and a machine.

Rules write sketches: schedules with holes, one for each way to group the blocks and to choose the loops to tile. Estimates order
sketches and their points; the best are simulated, and the fastest one becomes the space, with its values as defaults:

    tile_i = tilewright.choose("tile i", [64, 16, 32, 128])
    i_o, i_i = sch.split(i, [None, tile_i], names=["i_o", "i_i"])
    sch.compute_at("power", i_o)
    sch.set_scope("power", 0, "local.vtcm")
    X_in = sch.cache_read("power", "X", "local.vtcm")
    sch.compute_at(X_in, i_o)
    stages = tilewright.choose("stages of i_o", [[0, 1, 1], [0, 0, 0]])
    sch.pipeline(i_o, stages=stages)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, prod

import msgspec

from ...analysis import ProgramIndex
from ...cancellation import checkpoint, cut_short
from ...hwsim import Machine
from ...ir import IRModule, PrimFunc
from ...lower import with_sizes
from ...schedule import Intrinsics, Schedule
from ..search.estimator import Estimator
from ..search.local_search import LocalSearch, estimates_of, rank_of
from ..space.model import Point, Space, space_of
from ..space.schedule_builder import ScheduleBuilder
from ..space.tiling_target import TilingTargetError
from ..trials.evaluator import EvaluationRequest, Evaluator
from .draft import Draft, Group
from .groups import MAIN_BLOCK, Partition, SketchChoice, are_plain, choice_of, partitions, tilings
from .main_block import MainBlock
from .rule import ScheduleRule
from .table import SCHEDULE_RULES, apply_rules, comment

ESTIMATES = 32
"""Estimates of a sketch."""

REFINED = 64
"""Estimates of a sketch of which points are simulated, from its best point on."""

SIMULATED = 3
"""Points of a sketch that are simulated."""

SKETCHES = 6
"""Sketches of which points are simulated."""

MOST_SKETCHES = 12
"""Sketches of one way to group the blocks."""


class DerivedSpace(msgspec.Struct, frozen=True, eq=False):
    """A space, and its lines as text with comments, without the line that creates the schedule. `decisions` says what the lines do,
    `left_out` what was not done, and why; `choice` is that of its sketch, None for the program as it is."""

    space: Space
    text: str
    decisions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    choice: SketchChoice | None = None

    @property
    def explanation(self) -> str:
        """The decisions and what was left out, as text."""
        holes = f"{len(self.space.holes)} choices, {self.space.size:,} schedules"
        lines = [f"{holes}; {len(self.decisions)} decisions:", *(f"  {d}" for d in self.decisions)]
        return "\n".join([*lines, *(["left out:"] if self.left_out else []), *(f"  {o}" for o in self.left_out)])


class _Sketch(msgspec.Struct, frozen=True, eq=False):
    """A schedule with holes, and its points, the best by estimate first; `rank` is the estimated rank of the first.
    `kind` is the number of groups; 0 for tiles of the main block alone, -1 for no schedule."""

    title: str
    builder: ScheduleBuilder
    space: Space
    points: tuple[Point, ...]
    rank: float
    kind: int
    decisions: tuple[str, ...] = ()
    omissions: tuple[str, ...] = ()
    choice: SketchChoice | None = None

    def with_default(self, point: Point, left_out: tuple[str, ...] = ()) -> DerivedSpace:
        """The space with the values of a point as defaults."""
        space, text = _with_default(self, point)
        text += "".join(f"{line}\n" for one in left_out for line in comment(f"Left out: {one}."))
        return DerivedSpace(space, text, self.decisions, left_out, self.choice)


def derive_space(
    program: IRModule | PrimFunc,
    machine: Machine,
    *,
    sizes: Mapping[str, int] | None = None,
    schedule_name: str = "sch",
    intrinsics: Intrinsics | None = None,
    rules: Sequence[ScheduleRule] = SCHEDULE_RULES,
    stop: Callable[[], bool] | None = None,
    choice: SketchChoice | None = None,
) -> DerivedSpace:
    """Derives a schedule with holes for `program` on `machine`. Each of its lines was tried. `rules` are applied in order to each group of
    blocks; without any, only the main block is tiled, and nothing is simulated.

    `stop` is polled after each sketch and, once a schedule fits, at each checkpoint of a simulation: True ends the derivation with the
    best so far, of at least one sketch for each way to group the blocks. With `choice`, that of a program of equal structure, only its
    sketch is written, if the program has it. Raises TilingTargetError "no-main-block" if no block can be tiled.
    """
    found: DerivedSpace | None = None
    for now in deriving_space(
        program,
        machine,
        sizes=sizes,
        schedule_name=schedule_name,
        intrinsics=intrinsics,
        rules=rules,
        stop=stop or (lambda: False),
        choice=choice,
    ):
        found = found if now is None else now
    assert found is not None
    return found


def deriving_space(
    program: IRModule | PrimFunc,
    machine: Machine,
    *,
    sizes: Mapping[str, int] | None = None,
    schedule_name: str = "sch",
    intrinsics: Intrinsics | None = None,
    rules: Sequence[ScheduleRule] = SCHEDULE_RULES,
    stop: Callable[[], bool] = lambda: False,
    choice: SketchChoice | None = None,
) -> Iterator[DerivedSpace | None]:
    """Runs `derive_space` step by step: yields the space of the fastest schedule so far whenever there is a faster one, and the result
    last; None after each sketch, so that the caller can stop."""
    deriving = _Deriving(program, machine, sizes or {}, schedule_name, intrinsics, tuple(rules), stop)
    sketches: list[_Sketch] = []
    for batch in deriving.batches(choice):
        begun = len(sketches)
        for sketch in batch:
            sketches.append(sketch)
            is_early = rules and choice is None and len(sketches) == begun + 1 and not deriving.fits()
            yield deriving.simulate(sketch, until_fit=True) if is_early else None
        best = min(sketches[begun:], key=_rank, default=None)
        if rules and best is not None and not stop() and not deriving.is_simulated(best):
            yield deriving.simulate(best)
    sketches.sort(key=_rank)
    if not rules:
        yield sketches[0].with_default(sketches[0].space.default)
        return
    for sketch in deriving.to_simulate(sketches):
        yield deriving.simulate(sketch, is_best=sketch is sketches[0])
    yield deriving.result(sketches)


def _rank(sketch: _Sketch) -> float:
    return sketch.rank


def _cycles(cycles: float) -> str:
    return "no tried point is faster" if cycles == inf else f"{cycles:,} cycles"


class _Deriving:
    def __init__(
        self,
        program: IRModule | PrimFunc,
        machine: Machine,
        sizes: Mapping[str, int],
        name: str,
        intrinsics: Intrinsics | None,
        rules: tuple[ScheduleRule, ...],
        stop: Callable[[], bool],
    ) -> None:
        self.program, self.machine, self.sizes, self.name, self.intrinsics = program, machine, sizes, name, intrinsics
        self.rules, self.stop = rules, stop
        self.results: list[tuple[float, Point, _Sketch]] = []
        self.simulated: list[_Sketch] = []
        self.index = ProgramIndex(with_sizes(Schedule(program, intrinsics=intrinsics).func, sizes).func)

    def batches(self, choice: SketchChoice | None = None) -> Iterator[Iterator[_Sketch]]:
        """Yields the sketches of each way to group the blocks, or the one of a choice. Raises TilingTargetError if there is none."""
        plain = are_plain(self.index)
        known = choice.found_in(self.index) if choice is not None and plain and self.rules else None
        if choice is not None and known is not None:
            yield iter([self._sketch(choice.partition, *known)])
            return
        try:
            builder = MainBlock(self.program, self.machine, self.sizes, self.name, self.intrinsics).written()
        except TilingTargetError:
            if not plain or not self.rules:
                raise
        else:
            decisions = tuple(line.removeprefix("# ") for line in builder.lines if line.startswith("#"))
            whole = SketchChoice(MAIN_BLOCK)
            yield iter([self._estimated("tiles of the main block", 0, builder, decisions, choice=whole)])
            if choice == whole:
                return
        if plain and self.rules:
            for number, partition in enumerate(partitions(self.index)):
                yield self._of_partition(number, partition)

    def to_simulate(self, sketches: Sequence[_Sketch]) -> Iterator[_Sketch]:
        """Yields the sketches to simulate that are not simulated yet: the first ones and the best of each kind; if nothing fits, further
        ones, and the program as it is. `sketches` are the best first."""
        first_of_kind = {s.kind: s for s in reversed(sketches)}
        wanted = [s for n, s in enumerate(sketches) if n < SKETCHES or s is first_of_kind[s.kind]]
        for sketch in wanted:
            if sketch is not wanted[0] and self.fits() and self.stop():
                return
            if not self.is_simulated(sketch):
                yield sketch
        spare = [*[s for s in sketches if s not in wanted][:SIMULATED], self.unscheduled()]
        while spare and not self.fits():
            yield spare.pop(0)

    def fits(self) -> bool:
        """Whether a simulated schedule fits."""
        return any(cycles < inf for cycles, _, _ in self.results)

    def is_simulated(self, sketch: _Sketch) -> bool:
        return any(s is sketch for s in self.simulated)

    def simulate(self, sketch: _Sketch, *, until_fit: bool = False, is_best: bool = False) -> DerivedSpace | None:
        """Simulates points of a sketch, or only those up to the first that fits. Returns its space if it has the fastest schedule so far.
        Of the best sketch by estimate, a point is simulated even if the derivation is stopped."""
        known = min((cycles for cycles, _, _ in self.results), default=inf)
        tried: list[tuple[float, Point]] = []

        def is_due() -> bool:
            fits = known < inf or any(cycles < inf for cycles, _ in tried)
            return fits and (bool(tried) or not is_best) and self.stop()

        with cut_short(is_due):
            for cycles, point in self._tried(sketch, known):
                tried.append((cycles, point))
                if until_fit and cycles < inf:
                    break
        cycles, point = min(tried, key=lambda one: one[0], default=(inf, sketch.points[0]))
        self.results.append((cycles, point, sketch))
        if not until_fit:
            self.simulated.append(sketch)
        return None if cycles == inf else sketch.with_default(point)

    def result(self, sketches: Sequence[_Sketch]) -> DerivedSpace:
        """The space of the fastest schedule, with what was left out."""
        _, point, best = min(self.results, key=lambda result: result[0])
        least = {s: min(c for c, _, other in self.results if other is s) for _, _, s in self.results if s is not best}
        others = [f"{s.title}: {_cycles(c)}" for s, c in least.items()]
        others += [f"{s.title}: a higher estimate" for s in sketches if s is not best and s not in least]
        return best.with_default(point, (*best.omissions, *others))

    def unscheduled(self) -> _Sketch:
        """The program as it is, for machines where no sketch fits."""
        builder = ScheduleBuilder(self.program, self.name, self.intrinsics)
        return self._estimated("the program as it is", -1, builder, ("the program as it is: no derived schedule fits",))

    def _of_partition(self, number: int, partition: Partition) -> Iterator[_Sketch]:
        """Yields sketches of a partition: one with the first tiling of each group, then, group by group, those with its other tilings
        beside the best ones so far."""
        options = [tilings(self.index, members[-1]) for members in partition]
        if not all(options):
            return
        chosen = [some[0] for some in options]
        best = self._sketch(number, partition, chosen)
        yield best
        left = MOST_SKETCHES
        for n, some in enumerate(options):
            for other in some[1:]:
                if not left or self.stop():
                    return
                left -= 1
                trial = [*chosen[:n], other, *chosen[n + 1 :]]
                sketch = self._sketch(number, partition, trial)
                yield sketch
                if sketch.rank < best.rank:
                    best, chosen = sketch, trial

    def _sketch(self, number: int, partition: Partition, tiled: Sequence[tuple[str, ...]]) -> _Sketch:
        draft = Draft(self.program, self.machine, self.sizes, self.name, self.intrinsics)
        apply_rules(draft, [Group(members, loops) for members, loops in zip(partition, tiled, strict=True)], self.rules)
        title = "; ".join(
            f"{members[-1]} by {', '.join(loops)}" for members, loops in zip(partition, tiled, strict=True)
        )
        return self._estimated(
            f"tiles of {title}",
            len(partition),
            draft.builder,
            tuple(draft.decisions),
            tuple(draft.omissions),
            choice_of(self.index, number, partition, tiled),
        )

    def _estimated(
        self,
        title: str,
        kind: int,
        builder: ScheduleBuilder,
        decisions: tuple[str, ...] = (),
        omissions: tuple[str, ...] = (),
        choice: SketchChoice | None = None,
    ) -> _Sketch:
        space = space_of(
            self.program, builder.calls, schedule_name=self.name, sizes=self.sizes, intrinsics=self.intrinsics
        )
        estimator = Estimator(space, self.machine)
        estimated = estimates_of(LocalSearch(space.default, ESTIMATES if self.rules else 0, 0), estimator)
        ranked = sorted((rank_of(e), p) for p, e in estimated if e is not None)
        points = tuple(dict.fromkeys([*(p for _, p in ranked), space.default]))
        rank = ranked[0][0] if ranked else inf
        return _Sketch(title, builder, space, points, rank, kind, decisions, omissions, choice)

    def _tried(self, sketch: _Sketch, known: float) -> Iterator[tuple[float, Point]]:
        """Simulates points of a sketch. Yields each with its cycles, infinite if it does not fit or is not faster than `known` and the
        points before it."""
        estimator = Estimator(sketch.space, self.machine)
        evaluator = Evaluator(sketch.space, self.machine, ("cycles",), estimator=estimator)
        refined = estimates_of(LocalSearch(sketch.points[0], REFINED, 0), estimator)
        first = [p for _, p in sorted((rank_of(e), p) for p, e in refined if e is not None)]
        limit = known
        for number, point in enumerate(_spread(list(dict.fromkeys([*first, *sketch.points])))):
            checkpoint()
            outcome = evaluator.tried(EvaluationRequest(number, point, ((limit,),) if limit < inf else ()))
            cycles = outcome.figures.cycles if outcome.fits and outcome.figures is not None else inf
            yield cycles if cycles < limit else inf, point
            limit = min(limit, cycles)


def _spread(points: Sequence[Point]) -> Sequence[Point]:
    """The first points, and some of those further on, which fit if the first are too large."""
    return list(dict.fromkeys([*points[:SIMULATED], *points[SIMULATED :: max(1, len(points) // SIMULATED)]]))


def _with_default(sketch: _Sketch, point: Point) -> tuple[Space, str]:
    """The space and its text with the values of a point in front."""
    builder = sketch.builder
    if point != sketch.space.default:
        builder = builder.reordered(dict(zip((h.target for h in sketch.space.holes), point, strict=True)))
    space = space_of(
        sketch.space.program, builder.calls, schedule_name=sketch.space.schedule_name, sizes=sketch.space.sizes,
        intrinsics=sketch.space.intrinsics,
    )  # fmt: skip
    assert space.size == prod(len(hole.values) for hole in sketch.space.holes)
    return space, "\n".join(builder.lines) + "\n"


__all__ = ["DerivedSpace", "derive_space", "deriving_space"]
