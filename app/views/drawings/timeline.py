"""The timeline as a drawing: engines with their stalls, banks with their tiles, bytes against capacity, over real time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..labels.numbers import grouped, percent_text
from ..timeline.causes import CAUSES
from ..timeline.value import TaskTemplate, Timeline
from ..timeline.window import BinnedWindow, ExactWindow, Intervals, MemoryLine, TaskColumns
from .bins import draw_bins
from .canvas import Canvas, TextPiece, Theme, shortened, text_width
from .frame import GUTTER, RIGHT, SLOTS, TimelineFrame

LEAST_WIDTH = 560
EMPTY_HEIGHT = 64

WORTH_SAYING = 9
"""The number of characters that identify a tile; a label shortened below it is omitted."""

WORTH_A_TIP = 1.5
"""The width in pixels below which tasks are drawn together, without labels and tooltips."""


def timeline_svg(
    value: Timeline,
    window: ExactWindow | BinnedWindow | None,
    *,
    title: str = "",
    theme: Theme = "auto",
    width: int = 960,
) -> str:
    """The drawing of `timeline_value` and `drawn_window`: the whole run in real time. Without a report it shows the reason."""
    canvas = Canvas(theme)
    if window is None or not value.cycles:
        note = value.note or "nothing runs"
        canvas.text(title or "Timeline", 12, 20, size=13, bold=True)
        canvas.text(shortened(note, max(width, LEAST_WIDTH) - 24, 11), 12, 42, "muted")
        return canvas.finished(
            max(width, LEAST_WIDTH), EMPTY_HEIGHT, f"Timeline{f' of {title}' if title else ''}: {note}"
        )
    frame = TimelineFrame(value, max(width, LEAST_WIDTH))
    _head(canvas, value, frame, title)
    _grounds(canvas, frame)
    if isinstance(window, ExactWindow):
        _overlaps(canvas, window.overlaps, frame)
        _tasks(canvas, value, window.tasks, frame)
        _waits(canvas, value, window.waits, frame)
        _tiles(canvas, value, window, frame)
    else:
        draw_bins(canvas, value, window.bins, frame)
    for number, line in enumerate(window.bytes):
        _bytes(canvas, value, number, line, frame)
    _axis(canvas, frame)
    _gutter(canvas, value, frame)
    bottom = _legend(canvas, value, frame)
    engines = ", ".join(f"{engine.name} busy {grouped(engine.busy)}" for engine in value.engines)
    label = f"Timeline{f' of {title}' if title else ''}: {grouped(value.cycles)} cycles; {engines}"
    return canvas.finished(frame.width, bottom, label)


def _head(canvas: Canvas, value: Timeline, frame: TimelineFrame, title: str) -> None:
    words = [TextPiece(title, size=13, bold=True, gap=18)] if title else []
    for name, figure in (("Cycles", grouped(value.cycles)), *value.figures):
        if sum(word.width + word.gap for word in words) + 120 > frame.width:
            break
        words += [TextPiece(name, "muted", gap=6), TextPiece(figure, bold=True, gap=18)]
    canvas.words(words, 12, 17)


def _grounds(canvas: Canvas, frame: TimelineFrame) -> None:
    for at in ticks(frame):
        canvas.line(frame.x(at), frame.top, frame.x(at), frame.bottom, "line")
    for row in frame.rows:
        canvas.rect(GUTTER, row.top, frame.width - GUTTER - RIGHT, row.height, "sunken", opacity=0.6)


def ticks(frame: TimelineFrame) -> list[float]:
    """The labelled positions of the axis in cycles, at round numbers."""
    about = frame.length / max(1.0, (frame.width - GUTTER) / 95)
    power = 10 ** math.floor(math.log10(max(about, 1)))
    step = next(n for n in (power, 2 * power, 5 * power, 10 * power) if n >= about)
    return [n * step for n in range(int(frame.length // step) + 1)]


def _overlaps(canvas: Canvas, pieces: Intervals, frame: TimelineFrame) -> None:
    """Draw the cycles with at least two busy engines: a faint background and a line under the lanes."""
    spans = [(start, start + length) for start, length in zip(pieces.start, pieces.length, strict=True)]
    ground = "".join(frame.box(a, b, frame.top, frame.lanes_end - frame.top) for a, b in spans)
    line = "".join(frame.box(a, b, frame.lanes_end - 1, 2) for a, b in spans)
    if spans:
        with canvas.group("At least two engines are busy", overlap=sum(b - a for a, b in spans)):
            canvas.path(ground, "accent", opacity=0.08)
            canvas.path(line, "accent", opacity=0.75)


def _tasks(canvas: Canvas, value: Timeline, tasks: TaskColumns, frame: TimelineFrame) -> None:
    for lane, engine in enumerate(value.engines):
        place = frame.lanes[lane]
        narrow: dict[int, str] = {}
        with canvas.group(engine=engine.name, busy=engine.busy, tasks=engine.tasks):
            for kind, start, length, indices in zip(tasks.kind, tasks.start, tasks.length, tasks.place, strict=True):
                template = value.templates[value.kinds[kind].template]
                if template.lane != lane:
                    continue
                wide = length * frame.scale
                colour = template.colour
                if wide < WORTH_A_TIP:
                    narrow[colour] = narrow.get(colour, "") + frame.box(start, start + length, place.top, frame.bar)
                    continue
                data: dict[str, object] = {"start": start, "cycles": length}
                gap = 0.8 if wide > 3 else 0
                canvas.rect(frame.x(start), place.top, wide - gap, frame.bar, f"buffer-{colour}", opacity=0.92,
                            tip=_task_tip(template, indices, start, length), data=data)  # fmt: skip
                words = _task_words(template, indices, wide - 7)
                if wide >= 26 and words:
                    canvas.text(words, frame.x(start) + 4, place.top + frame.bar / 2, "surface", size=10.5)
            for colour, boxes in narrow.items():
                canvas.path(boxes, f"buffer-{colour}", opacity=0.92)


def _indices(template: TaskTemplate, place: Sequence[int]) -> str:
    return ", ".join(f"{loop.name} = {at}" for loop, at in zip(template.loops, place, strict=False))


def _task_tip(template: TaskTemplate, place: Sequence[int], start: int, length: int) -> str:
    where = _indices(template, place)
    return f"{template.block}{f' at {where}' if where else ''}: {grouped(length)} cycles from {grouped(start)} on"


def _task_words(template: TaskTemplate, place: Sequence[int], width: float) -> str:
    """The block's name, and the innermost index if both fit."""
    if template.loops:
        loop = template.loops[-1].name
        both = f"{template.block} {loop}={place[len(template.loops) - 1]}"
        if text_width(both, 10.5) <= width:
            return both
    return shortened(template.block, width, 10.5)


def _waits(canvas: Canvas, value: Timeline, pieces: Intervals, frame: TimelineFrame) -> None:
    """Draw the stalls below each lane, hatched by cause; pieces of one kind form one path."""
    boxes: dict[int, str] = {}
    cycles: dict[int, int] = {}
    for of, start, length in zip(pieces.of, pieces.start, pieces.length, strict=True):
        y = frame.lanes[value.waits[of].lane].top + frame.bar + 1
        boxes[of] = boxes.get(of, "") + frame.box(start, start + length, y, frame.stall)
        cycles[of] = cycles.get(of, 0) + length
    for of, path in boxes.items():
        wait = value.waits[of]
        engine, cause = value.engines[wait.lane].name, wait.cause
        tip = f"{engine} is done" if cause == "idle" else f"{engine} stalled on {CAUSES[cause].word} {wait.what}"
        with canvas.group(tip, wait=cause, of=engine, cycles=cycles[of]):
            canvas.path(path, f"stall-{cause}", hatch=CAUSES[cause].hatch)


def _tiles(canvas: Canvas, value: Timeline, window: ExactWindow, frame: TimelineFrame) -> None:
    for number, cell in enumerate(value.cells):
        top, height = frame.band(cell)
        with canvas.group(f"{cell.label}: {cell.bytes}", cell=cell.label):
            for pieces, hatch, opacity in ((window.fills, "forward", 0.8), (window.lives, "", 0.88)):
                spans = [
                    (start, start + length)
                    for of, start, length in zip(pieces.of, pieces.start, pieces.length, strict=True)
                    if of == number
                ]
                boxes = "".join(frame.box(a, b, top, height, gap=0 if hatch else 0.8) for a, b in spans)
                if boxes:
                    canvas.path(boxes, f"buffer-{cell.colour}", hatch=hatch, opacity=opacity)
                for a, b in () if hatch or height < 11 else spans:
                    words = shortened(cell.label, (b - a) * frame.scale - 7, 10)
                    if len(words) >= min(len(cell.label), WORTH_SAYING):
                        canvas.text(words, frame.x(a) + 4, top + height / 2, "surface", size=10)


def _bytes(canvas: Canvas, value: Timeline, number: int, line: MemoryLine, frame: TimelineFrame) -> None:
    """Draw the lines of live bytes and of the capacity; allocated bytes above the capacity are hatched."""
    row, place = value.rows[number], frame.rows[number]
    ends = [*line.at[1:], frame.length]

    def y(size: float) -> float:
        return place.top + place.height * (1 - min(1.0, size / row.scale))

    corners = [
        f"{frame.x(a):.1f} {y(v):.1f}L{frame.x(b):.1f} {y(v):.1f}"
        for a, b, v in zip(line.at, ends, line.live, strict=True)
    ]
    with canvas.group(f"{row.scope}: {row.text}", memory=row.scope, capacity=row.capacity):
        if corners:
            canvas.path(f"M{'L'.join(corners)}", stroke="text", opacity=0.55)
        over = "".join(
            frame.box(a, b, y(v), y(row.capacity) - y(v))
            for a, b, v in zip(line.at, ends, line.allocated, strict=True)
            if v > row.capacity
        )
        if over:
            canvas.path(over, "bad", hatch="forward")
        level = y(row.capacity) if row.limit else place.top
        canvas.line(GUTTER, level, frame.width - RIGHT, level, "bad" if row.over else "muted", dash="4 3")


def _axis(canvas: Canvas, frame: TimelineFrame) -> None:
    y = frame.bottom + 10
    canvas.text("cycle", GUTTER - 8, y, "faint", size=10.5, anchor="end")
    for at in ticks(frame):
        if frame.x(at) < frame.width - 34:
            canvas.text(grouped(round(at)), frame.x(at) + 3, y, "muted", size=10.5)


def _gutter(canvas: Canvas, value: Timeline, frame: TimelineFrame) -> None:
    for engine, lane in zip(value.engines, frame.lanes, strict=True):
        canvas.text(shortened(engine.name, GUTTER - 92, 11), 12, lane.top + frame.bar / 2, bold=True)
        busy = f"busy {percent_text(engine.busy / value.cycles)}"
        canvas.text(busy, GUTTER - 8, lane.top + frame.bar / 2, "muted", size=10.5, anchor="end")
    for row, place in zip(value.rows, frame.rows, strict=True):
        canvas.text(shortened(row.name, SLOTS - 14, 11), 12, place.top + 8, bold=True)
        canvas.text(shortened(row.text, SLOTS + 4, 10), 12, place.top + 22, "bad" if row.over else "muted", size=10)
        if not row.limit:  # the row is not to scale above this point
            x, y = GUTTER - 7, place.top
            canvas.path(f"M{x} {y + 2}l6-4m-6 7l6-4", stroke="muted")
    for cell in value.cells:
        if cell.shared:
            continue  # the tiles at the same address have their own labels
        top, height = frame.band(cell)
        width = GUTTER - SLOTS - 10
        canvas.rect(SLOTS, top, width, height, f"buffer-{cell.colour}", opacity=0.88, tip=f"{cell.label}: {cell.bytes}")
        if height >= 9:
            canvas.text(_slot_words(cell.label, width - 6), SLOTS + 3, top + height / 2, "surface", size=9)


def _slot_words(label: str, width: float) -> str:
    """A label shortened in the middle, because its end identifies the slot."""
    name, sign, slot = label.partition("#")
    return f"{shortened(name, width - text_width(sign + slot, 9), 9)}{sign}{slot}"


def _legend(canvas: Canvas, value: Timeline, frame: TimelineFrame) -> float:
    """Draw the legend of buffer colours and stall hatchings; return its lower end."""
    x, y = 12.0, frame.bottom + 34.0
    causes = [cause for cause in CAUSES if any(wait.cause == cause for wait in value.waits)]
    entries = [(buffer.name, f"buffer-{buffer.colour}", "") for buffer in value.buffers]
    entries += [
        (CAUSES[c].word if c == "idle" else f"stall: {CAUSES[c].word}", f"stall-{c}", CAUSES[c].hatch) for c in causes
    ]
    if len(value.engines) > 1:
        entries.append(("engines overlap", "accent", "overlap"))
    for name, ink, hatch in entries:
        wide = 16 + text_width(name, 10.5) + 14
        if x + wide > frame.width - 8 and x > 12:
            x, y = 12.0, y + 18
        if hatch == "overlap":
            canvas.rect(x, y + 1, 11, 2, ink, opacity=0.75)
        else:
            canvas.rect(x, y - 4.5, 11, 9, ink, hatch=hatch, radius=0 if hatch else 2)
        canvas.text(name, x + 16, y, "muted", size=10.5)
        x += wide
    return y + 16
