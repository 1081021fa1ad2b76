"""The drop targets of all blocks of a schedule."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.app.jobs.drop_targets import targets_of
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.tree.targets import DropTarget
from tilewright.engine.schedule import Schedule


def drop_targets(schedule: Schedule, blocks: Iterable[str] | None = None) -> dict[str, list[DropTarget]]:
    """Row id of each block (or of each of `blocks`, by name) -> its drop targets, one entry for each loop."""
    ids = row_ids(schedule.func)
    wanted = [name for name in ids.values() if isinstance(name, str)] if blocks is None else blocks
    return {(row := ids.of(block)): targets_of(schedule, [row]) for block in wanted}
