"""Buffer colours are the same in Python and in CSS, and stay when a cache is added."""

from __future__ import annotations

import re

from support.programs.sources import MATMUL_RELU

from tilewright.app.components.esm import style
from tilewright.app.views.labels.palette import BUFFER_COLOURS, buffer_colours, colour
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def test_given_the_style_sheet_then_it_has_the_colours_of_the_canvases():
    found = re.findall(r"--tw-buffer-(\d+): light-dark\((#\w{6}), (#\w{6})\);", style("tilewright.css"))
    assert [(light, dark) for _, light, dark in found] == list(BUFFER_COLOURS)
    assert [int(n) for n, _, _ in found] == list(range(len(BUFFER_COLOURS)))


def test_given_a_new_cache_then_the_other_buffers_keep_their_colours():
    sch = Schedule(parse(MATMUL_RELU).program)
    before = {b.name: n for b, n in buffer_colours(sch.func).items()}
    sch.cache_read("matmul", 0, "local")
    after = {b.name: n for b, n in buffer_colours(sch.func).items()}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two "#rrggbb"."""

    def luminance(text: str) -> float:
        parts = [int(text[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_given_either_theme_then_each_mark_stands_out_from_the_ground():
    for index in range(len(BUFFER_COLOURS)):
        assert contrast(colour(index, dark=False), "#ffffff") >= 3
        assert contrast(colour(index, dark=True), "#17191f") >= 3


def test_given_either_theme_then_text_can_be_read():
    tokens = {
        name: (light, dark)
        for name, light, dark in re.findall(
            r"--tw-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", style("tilewright.css")
        )
    }
    for theme in (0, 1):
        ground = tokens["surface"][theme]
        for name in ("text", "muted", "faint", "accent", "good", "warn", "bad"):
            assert contrast(tokens[name][theme], ground) >= 4.5, name
        assert contrast(tokens["on-accent"][theme], tokens["accent"][theme]) >= 4.5
        for name in ("accent", "good", "warn", "bad"):
            assert contrast(tokens[name][theme], tokens[f"{name}-soft"][theme]) >= 4.5, name
