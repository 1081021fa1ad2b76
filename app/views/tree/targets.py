"""Drop targets of blocks and loops, as the page receives them."""

from __future__ import annotations

from collections.abc import Sequence

from ..labels.values import Answer, Value


class DropTarget(Value, frozen=True, omit_defaults=True):
    """A possible or refused drop on a loop; in an answer to the page, on the `loops` with the same answer. `reason` is the refusal, or the
    effect of a legal move; `costly`: the block runs more iterations than now; `note` is a few characters, `held` the line about memory;
    `order` has the arguments of a reorder."""

    legal: bool
    costly: bool
    primitive: str
    note: str
    reason: str
    code: str
    fix: tuple[str, ...]
    loop: str = ""
    loops: tuple[str, ...] = ()
    held: str | None = None
    order: tuple[str, ...] = ()


class DropTargets(Answer, frozen=True, tag="targets"):
    """The drop targets for `rows` together."""

    rows: Sequence[str]
    entries: list[DropTarget]
