"""One colour per buffer in every view. `static/styles/tilewright.css` has the same values as `--tw-buffer-N`, outside canvases."""

from __future__ import annotations

from collections.abc import Set
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


LEAST_DISTANCE = 62
"""The distance in RGB from which two light colours are told apart in a picture."""


def buffer_colours(func: PrimFunc, known: dict[str, int] | None = None) -> dict[Buffer, int]:
    """The colour index of each buffer, by its name. New names are added to `known`, the colours of a session, and keep their colour.

    Parameters have the first colours. The colour of an allocated buffer depends on its name, so that it is the same after a reload, unless
    another buffer has it. With more buffers than colours, colours repeat; a colour is never the only identification of a buffer.
    """
    known = {} if known is None else known
    count = len(BUFFER_COLOURS)
    found = {buffer: n % count for n, buffer in enumerate(func.buffers)}
    allocated = allocated_buffers(func.body)
    parameters = frozenset(found.values())
    for buffer in allocated:
        colour = known.get(buffer.name)
        if colour is not None and (colour not in parameters or len(parameters) == count):
            found[buffer] = colour
    used, given = set(found.values()), set(known.values())
    for buffer in allocated:
        if buffer not in found:
            index = _free_colour(buffer.name, used, given)
            found[buffer] = known[buffer.name] = index
            used.add(index)
            given.add(index)
    return found


def _free_colour(name: str, used: Set[int], given: Set[int]) -> int:
    """A colour that no other buffer of the program uses: if possible unlike all of those, and none that the session has given."""
    count = len(BUFFER_COLOURS)
    preferred = [(crc32(name.encode()) + n) % count for n in range(count)]
    unused = [n for n in preferred if n not in used]
    distinct = [n for n in unused if not any(_are_alike(n, other) for other in used)] or unused or preferred
    return next((n for n in distinct if n not in given), distinct[0])


def _are_alike(one: int, other: int) -> bool:
    """Whether two colours are close in RGB, such as two shades of purple."""
    pairs = zip(*(bytes.fromhex(BUFFER_COLOURS[n][0][1:]) for n in (one, other)), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) < LEAST_DISTANCE**2


def colours_by_name(func: PrimFunc, known: dict[str, int] | None = None) -> dict[str, int]:
    """The colour index of each name of a buffer."""
    return {buffer.name: index for buffer, index in buffer_colours(func, known).items()}


def colour(index: int, *, dark: bool) -> str:
    """The colour "#rrggbb" of a colour index."""
    return BUFFER_COLOURS[index][dark]
