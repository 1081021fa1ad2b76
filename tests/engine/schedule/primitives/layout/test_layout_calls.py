"""set_scope and transform_layout: uses of the buffer follow, only bijections are legal, separators are kept."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from support.programs.random_programs import programs
from support.programs.sources import BOX_BLUR, ELEMENTWISE_CHAIN, FUSED_MATMUL_ADD_RELU, MATMUL

from tilewright.engine.ir import AXIS_SEPARATOR, Buffer, build
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import expr_text, parse, to_script


def schedule(text: str = ELEMENTWISE_CHAIN) -> Schedule:
    return Schedule(parse(text).program)


def buffer(sch: Schedule, name: str) -> Buffer:
    return next(b for b in sch.index.buffers if b.name == name)


def shape(sch: Schedule, name: str) -> list[int | None]:
    return [build.int_value(e) for e in buffer(sch, name).shape]


def region(sch: Schedule, block: str) -> list[str]:
    return [expr_text(r.min) for r in sch.index.block(block).writes[0].region]


def test_set_scope_updates_all_uses():
    sch = schedule()
    sch.set_scope("B", 0, "local")
    assert buffer(sch, "B").scope == "local"
    assert sch.index.block("B").writes[0].buffer is sch.index.block("C").reads[0].buffer is buffer(sch, "B")
    assert sch.verify().status == "tested"


def test_set_scope_to_the_same_scope_changes_nothing():
    sch = schedule()
    func = sch.func
    sch.set_scope("B", "B", "global")
    assert sch.func is func


def test_transform_layout_permutes_indices_and_shape():
    sch = schedule(BOX_BLUR)
    sch.transform_layout("x_blur", ("write", 0), lambda y, x, c: [x, c, y])
    assert shape(sch, "x_blur") == [64, 3, 66]
    assert region(sch, "x_blur") == ["vx", "vc", "vy"]
    assert sch.verify().status == "tested"


def test_transform_layout_infers_window_regions():
    sch = schedule(BOX_BLUR)
    sch.transform_layout("y_blur", "x_blur", lambda y, x, c: [x, c, y])
    read = sch.index.block("y_blur").reads[0]
    assert [build.int_value(r.extent) for r in read.region] == [1, 1, 3]


def test_transform_layout_adds_axis_separators():
    sch = schedule(MATMUL)
    copy = sch.cache_read("C", 0, "local.vtcm")
    sch.transform_layout(copy, ("write", 0), lambda i, k: [k // 64 % 2, AXIS_SEPARATOR, i, k % 64])
    staged = buffer(sch, "A_local.vtcm")
    assert staged.axis_separators == (1,)
    assert shape(sch, staged.name) == [2, 128, 64]
    assert region(sch, copy) == ["v1 // 64", "v0", "v1 % 64"]
    assert sch.verify().status == "tested"


def test_transform_layout_of_64_bit_shapes_has_64_bit_indices():
    sch = schedule(FUSED_MATMUL_ADD_RELU)
    sch.transform_layout("T_add", ("write", 0), lambda i, j: [j // 16, i, j % 16])
    assert {e.dtype for e in buffer(sch, "T_add_intermediate").shape} == {"int64"}
    assert sch.verify().status == "tested"


def test_a_second_layout_replaces_the_separators():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), lambda i, j: [i // 32, AXIS_SEPARATOR, i % 32, j])
    sch.transform_layout("B", ("write", 0), lambda a, b, c: [a * 32 + b, c])
    assert buffer(sch, "B").axis_separators == ()
    assert shape(sch, "B") == [64, 48]
    assert region(sch, "B") == ["vi", "vj"]


REFUSALS = {
    "scope of a parameter": ("parameter-buffer", lambda s: s.set_scope("D", 0, "local")),
    "scope without a name": ("bad-scope", lambda s: s.set_scope("B", 0, "")),
    "scope of no kind of memory": ("bad-scope", lambda s: s.set_scope("B", 0, "vtcm")),
    "scope that only begins as one": ("bad-scope", lambda s: s.set_scope("B", 0, "sharedness")),
    "scope of what it does not write": ("bad-buffer-index", lambda s: s.set_scope("B", 1, "local")),
    "too few axes": ("bad-index-map", lambda s: s.transform_layout("B", "B", lambda i: [i])),
    "division by zero": ("bad-index-map", lambda s: s.transform_layout("B", "B", lambda i, j: [i // 0, j])),
    "an axis dropped": ("not-bijective", lambda s: s.transform_layout("B", "B", lambda i, j: [i])),
    "an axis twice": ("not-bijective", lambda s: s.transform_layout("B", "B", lambda i, j: [i // 2, j])),
    "gaps": ("not-bijective", lambda s: s.transform_layout("B", "B", lambda i, j: [i * 2, j])),
    "an offset": ("layout-needs-padding", lambda s: s.transform_layout("B", "B", lambda i, j: [i + 1, j])),
    "places below zero": (
        "layout-needs-padding",
        lambda s: s.transform_layout("B", "B", lambda i, j: [i + 16, j - 16]),
    ),
    "a tail": ("layout-needs-padding", lambda s: s.transform_layout("B", "B", lambda i, j: [i // 60, j, i % 60])),
    "no such side": ("bad-buffer-index", lambda s: s.transform_layout("B", ("both", 0), lambda i, j: [j, i])),
    "no such buffer": ("unknown-buffer", lambda s: s.transform_layout("B", "Z", lambda i, j: [j, i])),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_an_illegal_call_is_refused_with_its_code(name):
    code, call = REFUSALS[name]
    sch = schedule()
    before = sch.mod
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code
    assert sch.mod is before


@st.composite
def bijections(draw: st.DrawFn, extents: list[int]):
    """A map that permutes the axes, splits some by a divisor and fuses two neighbours; sometimes with a separator."""
    order = draw(st.permutations(range(len(extents))))
    factors = [draw(st.sampled_from([f for f in range(1, e + 1) if e % f == 0])) for e in extents]
    join, separator = draw(st.booleans()), draw(st.booleans())

    def index_map(*axes):
        parts = []
        for place in order:
            parts += [
                (axes[place] // factors[place], extents[place] // factors[place]),
                (axes[place] % factors[place], factors[place]),
            ]
        if join:
            (a, n), (b, m) = parts[0], parts[1]
            parts[:2] = [(a * m + b, n * m)]
        items = [value for value, _ in parts]
        if separator and len(items) > 1:
            items.insert(1, AXIS_SEPARATOR)
        return items

    return index_map


@given(programs(), st.data())
def test_law_bijective_layouts_keep_the_meaning(program, data):
    sch = Schedule(program)
    for _ in range(2):
        block = data.draw(st.sampled_from([n for n in sch.index.block_names if n != "root"]))
        target = sch.index.block(block).writes[0].buffer
        extents = [build.int_value(e) for e in target.shape]
        if sch.index.is_param(target):
            block = sch.cache_write(block, 0, "local")
            target = sch.index.block(block).reads[0].buffer
        sch.transform_layout(block, target.name, data.draw(bijections(extents)))
        note(to_script(sch.mod))
        verdict = sch.verify()
        assert verdict.status == "tested", verdict.detail
