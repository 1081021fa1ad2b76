"""Thumbnails of models: the calls of one inference, the engines and the on-chip memories over its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ....engine.network import CallSpan, NetworkReport, engine_loads, inference_spans, on_chip_bytes
from ...document.networks import load_network
from ..labels.palette import OTHER
from .thumbnails import COLUMNS, HEIGHT, MAX_ROWS, WIDTH, Bar, FillLevel, Lane, Thumbnail, digest


def model_thumbnail(path: Path) -> Thumbnail:
    """The thumbnail of the model at `path`, with its schedules; it is stored under the text of the model's file. Raises the errors of
    `load_network`."""
    model = load_network(path)
    report = model.simulate()
    spans = inference_spans(report)
    colours = _colours(report)
    rows = tuple((0, 0, colours[span.cost.kernel.name]) for span in spans)
    return Thumbnail(
        digest(model.document.text),
        rows[:MAX_ROWS],
        cycles=report.cycles,
        engines=tuple(_lanes(report, spans, colours)),
        memories=tuple(_levels(report, spans)),
    )


def _colours(report: NetworkReport) -> dict[str, int]:
    """A colour index for each kernel, those with most cycles first; the last ones share the grey."""
    names = list(dict.fromkeys(cost.kernel.name for cost in report.ranked()))
    return {name: min(number, OTHER) for number, name in enumerate(names)}


def _lanes(report: NetworkReport, spans: Sequence[CallSpan], colours: Mapping[str, int]) -> Iterator[Lane]:
    """The busy part of each engine during each call."""
    loads = {span.call: engine_loads(span.cost.report) for span in spans if span.cost.report is not None}
    for engine in report.machine.engines:
        bars: list[Bar] = []
        for span in spans:
            share = round(HEIGHT * loads[span.call].get(engine.name, 0.0))
            if share:
                start, end = (WIDTH * cycle // max(1, report.cycles) for cycle in (span.start, span.end))
                bars.append((start, max(end, start + 1), colours[span.cost.kernel.name], share))
        yield Lane(engine.name, tuple(bars))


def _levels(report: NetworkReport, spans: Sequence[CallSpan]) -> Iterator[FillLevel]:
    """The peak of each on-chip memory during the calls within each column."""
    peaks = {s.call: on_chip_bytes(s.cost.report, report.machine) for s in spans if s.cost.report is not None}
    for name in dict.fromkeys(name for found in peaks.values() for name in found):
        fill = [0] * COLUMNS
        for span in spans:
            peak, capacity = peaks[span.call].get(name, (0, 1))
            first, last = (
                COLUMNS * cycle // max(1, report.cycles) for cycle in (span.start, max(span.start, span.end - 1))
            )
            for column in range(first, last + 1):
                fill[column] = max(fill[column], round(HEIGHT * peak / capacity))
        yield FillLevel(name, tuple(fill), HEIGHT, max(fill) > HEIGHT)


__all__ = ["model_thumbnail"]
