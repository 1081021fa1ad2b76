"""One colour per buffer in every view. `static/styles/tilewright.css` has the same values as `--tw-buffer-N`, outside canvases."""

from __future__ import annotations

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


def buffer_colours(func: PrimFunc) -> dict[Buffer, int]:
    """The colour index of each buffer: parameters first, then allocated buffers, so that a new cache does not recolour the others.

    With more buffers than colours, colours repeat; a colour is never the only identification of a buffer.
    """
    return {buffer: n % len(BUFFER_COLOURS) for n, buffer in enumerate((*func.buffers, *allocated_buffers(func.body)))}


def colour(index: int, *, dark: bool) -> str:
    """The colour "#rrggbb" of a colour index."""
    return BUFFER_COLOURS[index][dark]
