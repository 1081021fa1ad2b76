"""Binned drawing of a timeline with too many tasks: the occupied share of each time bin, as height or as opacity."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np

from ..timeline.causes import CAUSES
from ..timeline.value import Timeline
from ..timeline.window import Bins
from .canvas import Canvas
from .frame import TimelineFrame

SHADES = 6
"""The number of opacity levels; each level is drawn as one path."""


def draw_bins(canvas: Canvas, value: Timeline, bins: Bins, frame: TimelineFrame) -> None:
    step = frame.length / max(1, bins.count)
    for _, packed in bins.overlap:
        for shade, spans in _shades(_levels(packed)):
            ground = "".join(frame.box(a * step, b * step, frame.top, frame.lanes_end - frame.top) for a, b in spans)
            line = "".join(frame.box(a * step, b * step, frame.lanes_end - 1, 2) for a, b in spans)
            canvas.path(ground, "accent", opacity=0.08 * shade)
            canvas.path(line, "accent", opacity=0.75 * shade)
    _heights(canvas, value, bins, frame, step)
    for number, packed in bins.wait:
        wait = value.waits[number]
        y = frame.lanes[wait.lane].top + frame.bar + 1
        with canvas.group(wait=wait.cause, of=value.engines[wait.lane].name):
            for shade, spans in _shades(np.sqrt(_levels(packed))):
                boxes = "".join(frame.box(a * step, b * step, y, frame.stall) for a, b in spans)
                canvas.path(boxes, f"stall-{wait.cause}", hatch=CAUSES[wait.cause].hatch, opacity=shade)
    for bands, hatch in ((bins.fill, "forward"), (bins.live, "")):
        for number, packed in bands:
            cell = value.cells[number]
            top, height = frame.band(cell)
            with canvas.group(f"{cell.label}: {cell.bytes}", cell=cell.label):
                for shade, spans in _shades(np.sqrt(_levels(packed))):
                    boxes = "".join(frame.box(a * step, b * step, top, height) for a, b in spans)
                    canvas.path(boxes, f"buffer-{cell.colour}", hatch=hatch, opacity=0.88 * shade)


def _heights(canvas: Canvas, value: Timeline, bins: Bins, frame: TimelineFrame, step: float) -> None:
    """The busy share of each engine in each bin, stacked by block."""
    heights = np.zeros((len(value.engines), bins.count))
    for number, packed in bins.task:
        template = value.templates[number]
        lane = template.lane
        engine = value.engines[lane]
        levels = _levels(packed)
        top = np.minimum(1, heights[lane] + levels)
        boxes = "".join(
            frame.box(
                n * step, (n + 1) * step, frame.lanes[lane].top + frame.bar * (1 - high), frame.bar * (high - low)
            )
            for n, (low, high) in enumerate(zip(heights[lane].tolist(), top.tolist(), strict=True))
            if high > low
        )
        heights[lane] = top
        with canvas.group(template.block, engine=engine.name, busy=engine.busy, tasks=engine.tasks):
            canvas.path(boxes, f"buffer-{template.colour}", opacity=0.92)


def _levels(packed: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Shares from 0 to 1, decoded from the bytes that `lens.packed` encodes."""
    return np.frombuffer(base64.b64decode(packed), np.uint8) / 255


def _shades(levels: np.ndarray[Any, np.dtype[np.float64]]) -> list[tuple[float, list[tuple[int, int]]]]:
    """Pairs of an opacity level (rounded up) and the runs of bins with it."""
    rounded = np.ceil(levels * SHADES - 1e-9).astype(int)
    cuts = [0, *(np.flatnonzero(np.diff(rounded)) + 1).tolist(), len(rounded)]
    found: dict[int, list[tuple[int, int]]] = {}
    for a, b in pairwise(cuts):
        if b > a and rounded[a]:
            found.setdefault(int(rounded[a]), []).append((a, b))
    return [(shade / SHADES, spans) for shade, spans in sorted(found.items())]
