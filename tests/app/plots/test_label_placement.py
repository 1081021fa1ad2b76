"""Labels in a figure: apart from one another, from the marks, and within the frame."""

from __future__ import annotations

from itertools import combinations

import pytest

from tilewright.app.plots.placement import Label, _Box, _box, along_line, beside_mark, place_labels

FRAME = _Box(0, 0, 380, 225)


@pytest.mark.parametrize(
    ("points", "lines"),
    [
        ([(200, 100), (203, 104), (205, 98)], [60, 66]),
        ([(375, 30), (370, 33)], [28, 34, 40]),
        ([(5, 5), (5, 220), (378, 220)], [3, 150]),
    ],
)
def test_labels_are_apart_and_inside(points: list[tuple[float, float]], lines: list[float]) -> None:
    marks = [Label(x, y, "before the last step", [*beside_mark()]) for x, y in points]
    labels = [*marks, *(Label(380, y, "scalar 0.5 (no work)", [*along_line()]) for y in lines)]
    boxes = [_box(label, at) for label, at in zip(labels, place_labels(labels, points, 380, 225), strict=True)]
    assert not [(a, b) for a, b in combinations(boxes, 2) if a.overlap(b)]
    assert not [box for box in boxes if box.overlap(FRAME) < box.area]


def test_without_room_the_least_is_covered() -> None:
    labels = [Label(20, 5, "a long label", [*beside_mark()]) for _ in range(2)]
    assert len(place_labels(labels, [(20, 5)], 40, 10)) == 2
