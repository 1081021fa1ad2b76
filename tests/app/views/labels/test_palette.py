"""Buffer colours agree in Python and CSS, and survive the addition or removal of buffers."""

from __future__ import annotations

import re

from support.programs.sources import MATMUL_RELU

from tilewright.app.components.esm import style
from tilewright.app.views.labels.palette import BUFFER_COLOURS, buffer_colours, colour, colours_by_name
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def test_the_style_sheet_has_the_canvas_colours():
    found = re.findall(r"--tw-buffer-(\d+): light-dark\((#\w{6}), (#\w{6})\);", style("tilewright.css"))
    assert [(light, dark) for _, light, dark in found] == list(BUFFER_COLOURS)
    assert [int(n) for n, _, _ in found] == list(range(len(BUFFER_COLOURS)))


def test_buffer_colours_are_distinct_and_survive_edits():
    sch = Schedule(parse(MATMUL_RELU).program)
    seen: dict[str, int] = {}
    caches = (("matmul", 0, "local"), ("matmul", 1, "local"), ("relu", 0, "shared"))
    programs = [sch.func]
    for block, number, scope in caches:
        sch.cache_read(block, number, scope)
        programs.append(sch.func)
    for func in (*programs, *programs[::-1], programs[0], programs[2]):
        colours = {b.name: n for b, n in buffer_colours(func).items()}
        assert len(set(colours.values())) == len(colours)
        assert all(seen.setdefault(name, colour) == colour for name, colour in colours.items())
    assert len(seen) == 7


def test_buffer_colours_do_not_depend_on_session_or_order():
    whole = Schedule(parse(MATMUL_RELU).program)
    whole.cache_read("matmul", 0, "local")
    whole.cache_read("matmul", 1, "local")
    alone = Schedule(parse(MATMUL_RELU).program)
    alone.cache_read("matmul", 1, "local")
    first, second = (colours_by_name(sch.func) for sch in (whole, alone))
    assert second.items() <= first.items()


def test_more_buffers_than_colours_each_get_one():
    sch = Schedule(parse(MATMUL_RELU).program)
    block = "relu"
    for _ in range(14):
        sch.cache_read(block, 0, "local")
    colours = buffer_colours(sch.func)
    assert len(colours) == 18 and set(colours.values()) == set(range(len(BUFFER_COLOURS)))


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio of two "#rrggbb"."""

    def luminance(text: str) -> float:
        parts = [int(text[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_marks_contrast_with_the_background_in_both_themes():
    for index in range(len(BUFFER_COLOURS)):
        assert contrast(colour(index, dark=False), "#ffffff") >= 3
        assert contrast(colour(index, dark=True), "#17191f") >= 3


def test_text_is_legible_in_both_themes():
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


def test_parameters_get_the_first_colours():
    lines = [f"    X{n} = T.alloc_buffer((4,))" for n in range(1, 40)]
    for n in range(40):
        source, target = "A" if n == 0 else f"X{n}", "B" if n == 39 else f"X{n + 1}"
        lines += ["    for i in range(4):", f'        with T.block("b{n}"):', "            v = T.axis.spatial(4, i)",
                  f"            {target}[v] = {source}[v]"]  # fmt: skip
    head = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
    func = parse(head + "\n".join(lines)).program
    assert isinstance(func, PrimFunc)
    colours = buffer_colours(func)
    assert [colours[buffer] for buffer in func.buffers] == [0, 1]
    assert len(colours) == 41
    assert set(list(colours.values())[:12]) == set(range(12)), "no colour repeats before all are used"
