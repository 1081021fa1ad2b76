"""Rule: tile a block for the engine that suits it."""

from __future__ import annotations

from collections.abc import Iterator

from ..explore import Space, TilingTargetError, derive_space
from ..explore.space.tiling_target import find_tiling_target
from ..hwsim import MatrixEngine, SystolicEngine
from ..ir import IndexMap, ScheduleCall, TilewrightError, replay
from ..lint.subject import Subject
from .rule import RuleProposal


def tiled(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block whose iterators are its loops, and none that is tiled. Calls: those of the derived space (`explore`) with its
    defaults: `split` and `reorder` for the engine, copies of the operands with two slots, what computes an operand and what processes the
    result tile by tile on chip."""
    try:
        target = find_tiling_target(subject.index, subject.machine)
        space = derive_space(subject.schedule.func, subject.machine, sizes=subject.sizes, rules=()).space
        steps = changing_steps(space)
    except TilingTargetError:
        return
    except TilewrightError:
        yield RuleProposal("", None)
        return
    unit = "matrix unit" if isinstance(target.engine, MatrixEngine | SystolicEngine) else "vector unit"
    yield RuleProposal(f"Tile {target.block} for the {unit}", subject.then(lambda sch: replay(steps, sch.make)))


def changing_steps(space: Space) -> list[ScheduleCall]:
    """The steps of a space's default schedule, without layouts that change nothing."""
    return [s for s in space.schedule_at(space.default).schedule.trace.steps if not _keeps_layout(s)]


def _keeps_layout(step: ScheduleCall) -> bool:
    """Whether a step is a `transform_layout` that changes nothing."""
    if step.method != "transform_layout":
        return False
    index_map = step.argument("index_map")
    return isinstance(index_map, IndexMap) and not index_map.separators and index_map.indices == index_map.params
