"""Derives a space from a program and a machine.

Rules write sketches: schedules with holes, one for each way to group the blocks and to choose the loops to tile. Estimates order
the points of a sketch, and the first of them are simulated. Of the fastest sketches more points are estimated and simulated, and the
fastest one becomes the space, with its values as defaults:

    tile_i = tilewright.choose("tile i", [64, 16, 32, 128])
    i_o, i_i = sch.split(i, factors=[None, tile_i], names=["i_o", "i_i"])
    sch.compute_at("power", i_o)
    sch.set_scope("power", 0, "local.vtcm")
    X_in = sch.cache_read("power", "X", "local.vtcm")
    sch.compute_at(X_in, i_o)
    stages = tilewright.choose("stages of i_o", [[0, 1, 1], [0, 0, 0]])
    sch.pipeline(i_o, stages)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, prod

import msgspec

from ...cancellation import checkpoint, cut_short
from ...hwsim import Machine
from ...ir import IRModule, PrimFunc
from ...schedule import Intrinsics
from ..database.record import TuningRecord
from ..database.warm_start import SpaceOrigin
from ..search.local_search import LocalSearch, estimates_of, smaller_points
from ..space.model import Point, Space, space_of
from ..space.pins import Pins, unpinned
from .groups import SketchChoice
from .sketches import Sketch, Sketches
from .table import SCHEDULE_RULES, ScheduleRule

REFINED = 128
"""Estimates of a sketch of which points are simulated, from its best point on."""

SIMULATED = 3
"""Points of a sketch that are simulated."""

SKETCHES = 6
"""Sketches whose points are refined: those with the fastest first points."""


NEAR = 1.5
"""The most that a sketch which is refined needs of the cycles of the fastest one, by its first points or by its estimate."""


class DerivedSpace(msgspec.Struct, frozen=True, eq=False):
    """A space, and its lines as text with comments, without the line that creates the schedule. `decisions` says what the lines do,
    `left_out` what was not done, and why; `choice` is that of its sketch, None for the program as it is and for a schedule that a person
    wrote."""

    space: Space
    text: str
    decisions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    choice: SketchChoice | None = None

    @property
    def origin(self) -> SpaceOrigin:
        """What a database records of the derivation."""
        return SpaceOrigin(self.text, self.choice)

    @property
    def explanation(self) -> str:
        """The decisions and what was left out, as text."""
        holes = f"{len(self.space.holes)} choices, {self.space.size:,} schedules"
        lines = [f"{holes}; {len(self.decisions)} decisions:", *(f"  {d}" for d in self.decisions)]
        return "\n".join([*lines, *(["left out:"] if self.left_out else []), *(f"  {o}" for o in self.left_out)])


def derive_space(
    program: IRModule | PrimFunc,
    machine: Machine,
    *,
    sizes: Mapping[str, int] | None = None,
    schedule_name: str = "sch",
    intrinsics: Intrinsics | None = None,
    rules: Sequence[ScheduleRule] = SCHEDULE_RULES,
    records: Sequence[TuningRecord] = (),
    stop: Callable[[], bool] | None = None,
    choice: SketchChoice | None = None,
    keep: Pins | None = None,
) -> DerivedSpace:
    """Derives a schedule with holes for `program` on `machine`. Each of its lines was tried. `rules` are applied in order to each group of
    blocks; without any, only the main block is tiled, and nothing is simulated. The schedules of `records` are simulated first: for this
    very program and machine their lines, else those that the rules write for the same groups, with the nearest values.

    `stop` is polled once a schedule fits, after each sketch and at each checkpoint of a simulation: True ends the derivation with the
    best so far, of at least one sketch for each way to group the blocks. With `choice`, that of a program of equal structure, only its
    sketch is written, if the program has it. With `keep`, the values of pinned holes, only sketches that have them are tried, with these
    values; if there is none, the pins are ignored. Raises TilingTargetError "no-main-block" if no block can be tiled.
    """
    found: DerivedSpace | None = None
    for now in deriving_space(
        program,
        machine,
        sizes=sizes,
        schedule_name=schedule_name,
        intrinsics=intrinsics,
        rules=rules,
        records=records,
        stop=stop or (lambda: False),
        choice=choice,
        keep=keep,
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
    records: Sequence[TuningRecord] = (),
    stop: Callable[[], bool] = lambda: False,
    choice: SketchChoice | None = None,
    keep: Pins | None = None,
) -> Iterator[DerivedSpace | None]:
    """Runs `derive_space` step by step: yields the space of the fastest schedule so far whenever there is a faster one, and the result
    last; None after each sketch, so that the caller can stop."""
    deriving = _Deriving(Sketches(program, machine, sizes or {}, schedule_name, intrinsics, tuple(rules), stop, keep))
    sketches: list[Sketch] = []
    for sketch in deriving.sketches.recorded(records) if rules else ():
        if not sketch.is_pinned:
            continue
        sketches.append(sketch)
        yield deriving.simulate_starts(sketch)
    for batch in deriving.sketches.batches(choice):
        begun = len(sketches)
        for sketch in batch:
            if not sketch.is_pinned or any(sketch is known for known in sketches):
                continue
            sketches.append(sketch)
            is_early = choice is None and len(sketches) == begun + 1 and not deriving.fits()
            if not rules:
                yield None
            elif is_early:
                yield deriving.simulate(sketch, until_fit=True)
            else:
                yield deriving.try_first(sketch)
        best = min(sketches[begun:], key=deriving.first_cycles, default=None)
        if rules and best is not None and not stop() and not deriving.is_simulated(best):
            yield deriving.simulate(best)
    if not sketches and keep:
        yield from deriving_space(
            program, machine, sizes=sizes, schedule_name=schedule_name, intrinsics=intrinsics, rules=rules,
            records=records, stop=stop, choice=choice,
        )  # fmt: skip
        return
    sketches.sort(key=_rank)
    if not rules:
        yield _derived(sketches[0], sketches[0].space.default)
        return
    for sketch in deriving.to_simulate(sketches):
        yield deriving.simulate(sketch, is_best=sketch is sketches[0])
    yield deriving.result(sketches)


def _rank(sketch: Sketch) -> float:
    return sketch.rank


def _cycles(cycles: float) -> str:
    return "no tried point is faster" if cycles == inf else f"{cycles:,} cycles"


class _Deriving:
    def __init__(self, sketches: Sketches) -> None:
        self.sketches, self.stop = sketches, sketches.stop
        sketches.stop = lambda: self.fits() and self.stop()
        self.results: list[tuple[float, Point, Sketch]] = []
        self.simulated: list[Sketch] = []
        self.first: dict[Sketch, float] = {}

    def to_simulate(self, sketches: Sequence[Sketch]) -> Iterator[Sketch]:
        """Yields the sketches to simulate that are not simulated yet: those with the fastest first points, and the best of each kind, if
        they are near the fastest schedule; if nothing fits, further ones, and the program as it is. `sketches` are the best first."""
        first_of_kind = {s.kind: s for s in reversed(sketches)}
        fastest = sorted(sketches, key=self.first_cycles)[:SKETCHES]
        most = NEAR * self._least()
        wanted = [
            s for s in sketches if (s in fastest or s is first_of_kind[s.kind]) and min(self.first_cycles(s)) <= most
        ]
        for sketch in wanted:
            if sketch is not wanted[0] and self.fits() and self.stop():
                return
            if not self.is_simulated(sketch):
                yield sketch
        spare = [*[s for s in sketches if s not in wanted][:SIMULATED], self.sketches.unscheduled()]
        while spare and not self.fits():
            yield spare.pop(0)

    def first_cycles(self, sketch: Sketch) -> tuple[float, float]:
        """The cycles of the first points of a sketch, and its estimate."""
        return self.first.get(sketch, inf), sketch.rank

    def try_first(self, sketch: Sketch) -> DerivedSpace | None:
        """Simulates the first points of a sketch by estimate. Returns its space if it has the fastest schedule so far."""
        known = self._least()
        tried: list[tuple[float, Point]] = []
        with cut_short(lambda: self.fits() and self.stop()):
            for cycles, point in _costs(sketch, sketch.points, inf, SIMULATED):
                tried.append((cycles, point))
        cycles, point = min(tried, key=lambda one: one[0], default=(inf, sketch.points[0]))
        self.first[sketch] = cycles
        self.results.append((cycles, point, sketch))
        return _derived(sketch, point) if cycles < known else None

    def _least(self) -> float:
        """The cycles of the fastest schedule so far."""
        return min((cycles for cycles, _, _ in self.results), default=inf)

    def fits(self) -> bool:
        """Whether a simulated schedule fits."""
        return self._least() < inf

    def is_simulated(self, sketch: Sketch) -> bool:
        return any(s is sketch for s in self.simulated)

    def simulate(self, sketch: Sketch, *, until_fit: bool = False, is_best: bool = False) -> DerivedSpace | None:
        """Simulates points of a sketch, or only those up to the first that fits. Returns its space if it has the fastest schedule so far.
        Of the best sketch by estimate, a point is simulated even if the derivation is stopped."""
        known = self._least()
        tried: list[tuple[float, Point]] = []

        def is_due() -> bool:
            fits = known < inf or any(cycles < inf for cycles, _ in tried)
            return fits and (bool(tried) or not is_best) and self.stop()

        with cut_short(is_due):
            for cycles, point in _tried(sketch, known):
                tried.append((cycles, point))
                if until_fit and cycles < inf:
                    break
        cycles, point = min(tried, key=lambda one: one[0], default=(inf, sketch.points[0]))
        self.results.append((cycles, point, sketch))
        if not until_fit:
            self.simulated.append(sketch)
        return None if cycles == inf else _derived(sketch, point)

    def simulate_starts(self, sketch: Sketch) -> DerivedSpace | None:
        """Simulates the points of a sketch that earlier searches found. Returns its space if it has the fastest schedule so far."""
        known = self._least()
        tried: list[tuple[float, Point]] = []
        with cut_short(lambda: self.fits() and self.stop()):
            for one in _costs(sketch, _start_points(sketch, tried), known):
                tried += [one]
        cycles, point = min(tried, default=(inf, sketch.starts[0]))
        self.results.append((cycles, point, sketch))
        return None if cycles == inf else _derived(sketch, point)

    def result(self, sketches: Sequence[Sketch]) -> DerivedSpace:
        """The space of the fastest schedule, with what was left out."""
        _, point, best = min(self.results, key=lambda result: result[0])
        least = {s: min(c for c, _, other in self.results if other is s) for _, _, s in self.results if s is not best}
        others = [f"{s.title}: {_cycles(c)}" for s, c in least.items()]
        others += [f"{s.title}: a higher estimate" for s in sketches if s is not best and s not in least]
        return msgspec.structs.replace(_derived(best, point), left_out=(*best.omissions, *others))


def _tried(sketch: Sketch, known: float) -> Iterator[tuple[float, Point]]:
    """Simulates points of a sketch; if none of them fits, smaller and smaller ones up to the first that does. Yields each with its cycles,
    infinite if it does not fit or is not faster than `known` and the points before it."""
    is_too_large = True
    for cycles, point in _costs(sketch, _points(sketch), known, 2 * SIMULATED):
        is_too_large = is_too_large and sketch.trials.is_too_large(point)
        yield cycles, point
    smaller = smaller_points(sketch.trials.estimator, sketch.points[0]) if is_too_large else ()
    for cycles, point in _costs(sketch, smaller, known):
        yield cycles, point
        if not sketch.trials.is_too_large(point):
            return


def _costs(sketch: Sketch, points: Iterable[Point], known: float, most: float = inf) -> Iterator[tuple[float, Point]]:
    """Simulates up to `most` of the points, without those that are too large or too slow by estimate; a first one in any case."""
    limit, count = known, 0
    for point in points:
        if count >= most:
            return
        if count and not sketch.trials.estimator.is_promising(point, limit):
            continue
        checkpoint()
        count += 1
        cycles = sketch.trials.cycles(point, limit)
        yield cycles, point
        limit = min(limit, cycles)


def _points(sketch: Sketch) -> Iterator[Point]:
    """Yields the points of a sketch, the best by estimate first, without those of earlier searches, which are simulated before."""
    for point in dict.fromkeys([*_refined(sketch, sketch.points[0]), *sketch.points]):
        if point not in sketch.starts:
            yield point


def _refined(sketch: Sketch, start: Point) -> list[Point]:
    """The points that a local search from a point estimates, the best first."""
    estimated = estimates_of(LocalSearch(start, REFINED, 0), sketch.trials.estimator)
    return [point for _, point in sorted((e.rank, point) for point, e in estimated if e is not None)]


def _start_points(sketch: Sketch, tried: Sequence[tuple[float, Point]]) -> Iterator[Point]:
    """Yields the points of earlier searches; if none of those `tried` is faster, a few near the first one with a lower fill of the
    memories that were too small."""
    yield from sketch.starts
    near = _refined(sketch, sketch.starts[0])
    for _ in range(SIMULATED):
        seen = [point for _, point in tried]
        point = next((p for p in near if p not in seen and sketch.trials.estimator.is_promising(p)), None)
        if point is None or any(cycles < inf for cycles, _ in tried):
            return
        yield point


def _derived(sketch: Sketch, point: Point) -> DerivedSpace:
    """The space of a sketch with the values of a point in front."""
    return DerivedSpace(*_with_default(sketch, point), sketch.decisions, choice=sketch.choice)


def _with_default(sketch: Sketch, point: Point) -> tuple[Space, str]:
    """The space and its text, without pins, with the values of a point in front."""
    lines = sketch.lines
    whole, point = unpinned(sketch.space, point)
    if point != whole.default:
        first = {hole.target: at for hole, at in zip(whole.holes, point, strict=True)}
        lines = [line.with_default(first) for line in lines]
    space = space_of(
        whole.program, [line.statement for line in lines if line.statement is not None], schedule_name=whole.schedule_name,
        sizes=whole.sizes, intrinsics=whole.intrinsics,
    )  # fmt: skip
    assert space.size == prod(len(hole.values) for hole in whole.holes)
    return space, "".join(f"{line.text}\n" for line in lines)


__all__ = ["DerivedSpace", "derive_space", "deriving_space"]
