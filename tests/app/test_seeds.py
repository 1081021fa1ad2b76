"""The five discussions, end to end: docs/seeds.md is true."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.record.seeds import SEEDS, Case, made, seeds_page

import tilewright
from tilewright.app.cli import main
from tilewright.engine.lower import allocations, with_sizes

PAGE = Path(__file__).parents[2] / "docs" / "seeds.md"
READ = [case for seed in SEEDS for case in seed.cases if case.title != "the two lines that the post quotes"]


@pytest.mark.slow
def test_the_page_matches_this_version() -> None:
    pytest.importorskip("islpy")  # the page names the proved verdicts
    assert PAGE.read_text(encoding="utf-8") == seeds_page(), "run `make seeds` and look at what changed"


def test_no_discussion_exceeds_a_screen() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    assert len(sections) == 1 + len(SEEDS) == 6
    assert max(section.count("\n") for section in sections) <= 50


SAMPLED = [
    pytest.param(case, id=case.title, marks=pytest.mark.slow if number % 8 else ()) for number, case in enumerate(READ)
]


@pytest.mark.parametrize("case", SAMPLED)
def test_the_command_line_agrees_with_the_page(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "post.py"
    file.write_text(case.text, encoding="utf-8")
    sizes = ["--size", ",".join(f"{k}={v}" for k, v in case.sizes.items())] if case.sizes else []
    code = main(["run", str(file), *sizes])
    document, notebook = made(case)
    if document.stopped is not None:
        assert code == 2
        return
    assert code == 0
    report = tilewright.simulate(notebook, sizes={} if document.sizes_used else case.sizes)
    assert capsys.readouterr().out.startswith(f"{report.cycles:,} cycles")


def lowered(seed: int, case: int) -> dict[str, tuple[tuple[int, ...], list[str], int]]:
    """By buffer: the live tile, the flat shape, the slots."""
    found = SEEDS[seed].cases[case]
    document, notebook = made(found)
    assert notebook.schedule is not None
    func = with_sizes(notebook.schedule.func, {} if document.sizes_used else found.sizes).func
    return {a.buffer.name: (tuple(a.tile), [str(e.value) for e in a.lowered.shape], a.slots) for a in allocations(func)}  # type: ignore[attr-defined]


def test_tiles_of_the_two_blocks_are_two_by_4096() -> None:
    flat, halves, slots = lowered(2, 0), lowered(2, 2), lowered(2, 3)
    assert flat["A_local.vtcm"][1] == flat["B_local.vtcm"][1] == ["8192"], "the IR that the post shows"
    for name in ("A_local.vtcm", "B_local.vtcm"):
        assert halves[name][1:] == (["2", "4096"], 1)
        assert slots[name][1:] == (["2", "4096"], 2)
    assert lowered(2, 4)["C"][1] == ["2", "2048"], "the shape that the answer names"


def test_the_box_blur_holds_three_rows() -> None:
    for case in (0, 1):
        tile, _, _ = lowered(4, case)["x_blur"]
        assert sorted(tile) == [1, 3, 3]


def test_the_shared_intermediate_stays_on_chip() -> None:
    (posted, _), (kept, _) = ((tilewright.simulate(made(SEEDS[3].cases[n])[1]), None) for n in (0, 2))
    assert [t.bytes for t in posted.traffic if t.buffer == "matmul_intermediate"] == [256]
    assert not [t for t in kept.traffic if t.buffer == "matmul_intermediate"] and kept.cycles < posted.cycles
