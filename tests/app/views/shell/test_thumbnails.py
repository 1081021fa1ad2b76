"""Thumbnails of programs and reports."""

from __future__ import annotations

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import evaluate, read_document
from tilewright.app.jobs.thumbnails import thumbnail_of
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.shell.thumbnails import COLUMNS, HEIGHT, MAX_BARS, MAX_ROWS, WIDTH, digest
from tilewright.engine.hwsim import simulate

EXAMPLES = {example.name: example.text for example in load_examples()}


def test_a_thumbnail_has_the_tree_row_by_row() -> None:
    thumbnail = thumbnail_of(MATMUL_NOTEBOOK)
    assert [depth for depth, _, _ in thumbnail.rows] == [0, 1, 2, 3, 4]
    assert [width for _, width, _ in thumbnail.rows] == [8, 3, 8, 6, 0]  # 128, 4, 128, 32 trips, and the block
    assert [colour for _, _, colour in thumbnail.rows] == [-1, -1, -1, -1, 2]  # C is the third buffer
    assert thumbnail.text == digest(MATMUL_NOTEBOOK)


def test_a_thumbnail_shows_the_scheduled_program() -> None:
    thumbnail = thumbnail_of(with_lines('AL = sch.cache_read(C, 0, "local.vtcm")'))
    assert sum(width == 0 for _, width, _ in thumbnail.rows) == 2
    assert thumbnail.text != digest(MATMUL_NOTEBOOK)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_thumbnail_metrics_are_the_reports_and_marks_lie_inside(name: str) -> None:
    thumbnail = thumbnail_of(EXAMPLES[name])
    notebook = evaluate(read_document(EXAMPLES[name]))
    assert notebook.schedule is not None and notebook.machine is not None
    report = simulate(notebook.schedule.func, notebook.machine)
    assert thumbnail.cycles == report.cycles
    assert thumbnail.overlap == (round(report.overlap, 4) if report.dma_cycles else None)
    assert [lane.name for lane in thumbnail.engines] == [n for n, engine in report.engines.items() if engine.tasks]
    for lane in thumbnail.engines:
        busy = sum((end - start) * share for start, end, _, share in lane.bars) / WIDTH / HEIGHT
        engine = report.engines[lane.name]
        real = (engine.busy + engine.stall["port"]) / report.cycles  # a task includes its stall on a port
        rounding = 0.01 + 2 * len(lane.bars) / WIDTH
        assert busy == pytest.approx(real, abs=rounding), "the time axis is real"
        assert 0 < len(lane.bars) <= max(MAX_BARS, COLUMNS)
        last = 0
        for start, end, colour, share in lane.bars:
            assert last - 1 <= start < end <= WIDTH + 1 and 0 < share <= HEIGHT and 0 <= colour < 12
            last = end
    for level in thumbnail.memories:
        assert len(level.fill) == COLUMNS and 0 < max(level.fill) <= HEIGHT
        assert level.over == (report.memory[level.name].peak_bytes > report.memory[level.name].capacity_bytes)
    assert len(thumbnail.rows) <= MAX_ROWS


def test_an_overflowing_memory_is_drawn_above_its_limit() -> None:
    level = thumbnail_of(EXAMPLES["place_the_copies"]).memories[0]
    assert level.over and max(level.fill) == HEIGHT > level.limit > 0


@pytest.mark.parametrize("text", ["x = 1\n", "def f(:", "# %% schedule\nsch = nothing\n", ""])
def test_text_without_a_program_has_an_empty_thumbnail(text: str) -> None:
    thumbnail = thumbnail_of(text)
    assert (thumbnail.text, thumbnail.rows, thumbnail.cycles) == (digest(text), (), None)
