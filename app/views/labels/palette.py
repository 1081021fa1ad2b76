"""One colour per buffer in every view. `static/styles/tilewright.css` has the same values as `--tw-buffer-N`, outside canvases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import cache
from zlib import crc32

from ....engine.ir import Buffer, PrimFunc, allocated_buffers

BUFFER_COLOURS: tuple[tuple[str, str], ...] = (
    ("#3b6fd4", "#7aa5f5"),
    ("#c96a1b", "#eb9a56"),
    ("#12857b", "#4cc2b4"),
    ("#c2417f", "#ee86b4"),
    ("#4f8a2b", "#8cc265"),
    ("#7a55d0", "#ad92f2"),
    ("#a07c10", "#d9b64a"),
    ("#1682a8", "#5fbbe0"),
    ("#c4453f", "#f08a82"),
    ("#6b7688", "#a3aec0"),
    ("#93603a", "#cf9f78"),
    ("#9a4bb5", "#d390e6"),
)
"""Pairs (light, dark) by colour index."""

OTHER = 9
"""The colour index of what belongs to no buffer of the program."""

LEAST_DISTANCE = 62
"""The distance in RGB from which two light colours are told apart in a picture."""


def buffer_colours(func: PrimFunc) -> dict[Buffer, int]:
    """The colour index of each buffer of a program: the same in every view, in Jupyter and after a reload.

    Parameters have the first colours. The colour of an allocated buffer depends on its name, unless an earlier buffer has it: schedule
    calls add buffers after the existing ones. With more buffers than colours, colours repeat; a colour is never the only identification
    of a buffer.
    """
    found = {buffer: n % len(BUFFER_COLOURS) for n, buffer in enumerate(func.buffers)}
    used = set(found.values())
    for buffer in allocated_buffers(func.body):
        if buffer not in found:
            found[buffer] = _free_colour(buffer.name, used)
            used.add(found[buffer])
    return found


def _free_colour(name: str, used: Set[int]) -> int:
    """A colour that no earlier buffer uses, if possible unlike all of those."""
    count = len(BUFFER_COLOURS)
    preferred = [(crc32(name.encode()) + n) % count for n in range(count)]
    unused = [n for n in preferred if n not in used]
    distinct = [n for n in unused if not any(_are_alike(n, other) for other in used)]
    return (distinct or unused or preferred)[0]


@cache
def _are_alike(one: int, other: int) -> bool:
    """Whether two colours are close in RGB, such as two shades of purple."""
    pairs = zip(*(bytes.fromhex(BUFFER_COLOURS[n][0][1:]) for n in (one, other)), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) < LEAST_DISTANCE**2


Colours = Mapping[str, int]
"""The colour index of each name of a buffer."""


def colours_by_name(func: PrimFunc) -> dict[str, int]:
    """The colour index of each name of a buffer."""
    return {buffer.name: index for buffer, index in buffer_colours(func).items()}


def colour_of_slots(labels: Iterable[str], colours: Colours) -> int:
    """The colour index of a task that writes and reads slots with these labels: that of the first buffer with a colour."""
    names = (label.partition("#")[0] for label in labels)
    return next((colours[name] for name in names if name in colours), OTHER)


def colour(index: int, *, dark: bool) -> str:
    """The colour "#rrggbb" of a colour index."""
    return BUFFER_COLOURS[index][dark]
