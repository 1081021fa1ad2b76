"""Holes in a notebook: kept byte for byte, replayed with their first values, filled when a point opens as a branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.searching import DOUBLE

from tilewright.app.document import branches, evaluate, read_document, with_branch
from tilewright.app.document.holes import (
    branch_at,
    derived_start,
    hand_tiles,
    has_holes,
    notebook_space,
    with_derived,
    with_point,
)
from tilewright.engine.explore import TilingTargetError, pinned
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import TilewrightError

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"
PLAIN = (EXAMPLES / "gemmini_gemm.py").read_text().replace("512", "128")
HOLES = (
    PLAIN.replace(
        "io, ii = sch.split(i, [None, 64]",
        'tile = tilewright.choose(  # rows\n    "tile", [64, 32]\n)\n'
        'order = choose("order", [["io", "jo", "ko"],["jo","io","ko"]]); n = 64\nio, ii = sch.split(i, [None, tile]',
    )
    .replace("sch.split(j, [None, 64]", "sch.split(j, [None, n]")
    .replace("sch.reorder(io, jo, ko, ii, ji, ki)", "sch.reorder(*order, ii, ji, ki)")
)


@pytest.mark.slow
def test_a_notebook_with_holes_uses_their_first_values() -> None:
    plain, holes = (evaluate(read_document(text)) for text in (PLAIN, HOLES))
    assert (
        holes.error is None and plain.schedule is not None and holes.schedule is not None and holes.machine is not None
    )
    assert holes.document.text == HOLES and has_holes(holes) and not has_holes(plain)
    assert len(holes.steps) == len(plain.steps) + 3 and holes.names["tile"] == 64
    assert (
        simulate(plain.schedule.described, holes.machine).cycles
        == simulate(holes.schedule.described, holes.machine).cycles
    )


def test_a_point_changes_only_the_lines_of_the_holes() -> None:
    notebook = evaluate(read_document(HOLES))
    space = notebook_space(notebook)
    assert space.size == 4 and notebook_space(evaluate(read_document(PLAIN))).size == 1
    filled = with_point(notebook.document, space, (1, 1))
    assert filled.text == HOLES.replace(
        'tile = tilewright.choose(  # rows\n    "tile", [64, 32]\n)', "tile = 32"
    ).replace('choose("order", [["io", "jo", "ko"],["jo","io","ko"]])', '["jo","io","ko"]')
    after = evaluate(filled)
    assert after.error is None and not has_holes(after) and after.names["tile"] == 32


@pytest.mark.sample(1)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_branch_keeps_the_schedule_with_its_holes(newline: str) -> None:
    notebook = evaluate(read_document(HOLES.replace("\n", newline)))
    space = notebook_space(notebook)
    branched = branch_at(notebook.document, space, (1, 0), "found")
    assert [b.name for b in branches(branched)] == ["main", "found"]
    assert "tile = 32" in branched.text.partition("# %% branch")[0]
    back = evaluate(with_branch(branched, "main"))
    assert has_holes(back) and notebook_space(back).size == 4 and back.error is None


def test_a_refused_default_still_leaves_a_space() -> None:
    notebook = evaluate(read_document(HOLES.replace('"tile", [64, 32]', '"tile", [0, 64]')))
    assert notebook.error is not None
    space = notebook_space(notebook)
    assert evaluate(with_point(notebook.document, space, (1, 0))).error is None


@pytest.mark.parametrize("line", ['tile = choose("tile", [])', 'choose("tile", [1])', 'tile = choose("tile", values)'])
def test_an_invalid_hole_is_an_error_at_its_place(line: str) -> None:
    text = PLAIN.replace("io, ii = ", f"{line}\nio, ii = ", 1)
    notebook = evaluate(read_document(text))
    assert notebook.error is not None and notebook.error.code == "bad-hole"
    assert notebook.error.refusal.place is not None
    assert text.splitlines()[notebook.error.refusal.place.line - 1] == line


@pytest.mark.sample(1)
@pytest.mark.parametrize("machine", ["gemmini", "dual-bank-npu"])
def test_a_derived_start_is_a_branch_beside_the_schedule(machine: str) -> None:
    notebook = evaluate(read_document(DOUBLE))
    document = with_derived(notebook, derived_start(notebook, load_machine(machine)).space)
    derived = evaluate(document, notebook)
    assert derived.error is None and has_holes(derived) and notebook_space(derived).size > 20
    assert [(b.name, b.current) for b in branches(document)] == [("main", False), ("auto", True)]
    back = evaluate(with_branch(document, "main"))
    assert [s.text for s in back.steps] == [s.text for s in notebook.steps]


@pytest.mark.slow
def test_a_derived_start_becomes_the_schedule_if_there_is_none() -> None:
    head = DOUBLE[: DOUBLE.index("# %% schedule")]
    for text in (head, head.rstrip("\n"), head + "# %% schedule\nsch = tilewright.Schedule(double)\n"):
        notebook = evaluate(read_document(text))
        document = with_derived(notebook, derived_start(notebook, load_machine("gemmini")).space)
        derived = evaluate(document)
        assert derived.error is None and has_holes(derived) and not branches(document)
        assert document.text.startswith(text.rstrip("\n")) and document.text.count("# %% schedule") == 1


@pytest.mark.slow
def test_a_derivation_keeps_the_tiles_of_manual_splits() -> None:
    notebook = evaluate(read_document(DOUBLE))
    tiles = hand_tiles(notebook)
    assert tiles == {"tile i": 16}
    machine = load_machine("dual-bank-npu")
    free = derived_start(notebook, machine).space.space
    assert tuple(free.values_at(free.default)[name] for name in tiles) != (16,), "else nothing is to be kept"
    derived = derived_start(notebook, machine, keep=tiles).space
    values = derived.space.values_at(derived.space.default)
    assert {name: values[name] for name in tiles} == tiles
    assert derived.space.whole is None and len(derived.space.holes) > len(tiles)
    assert all(len(hole.values) > 1 for hole in derived.space.holes if hole.name in tiles), "the text has all values"
    branch = evaluate(with_derived(notebook, derived))
    assert pinned(notebook_space(branch), tiles).size < notebook_space(branch).size


@pytest.mark.parametrize(
    ("line", "tiles"),
    [
        ("io, ii = sch.split(i, [None, 32])", {"tile i": 32}),
        ("io, ii = sch.split(i, [4, None])", {}),
        ("io, im, ii = sch.split(i, [None, 4, 8])", {}),
        ("io, ii = sch.split(i, [None, 32])\niio, iii = sch.split(ii, [None, 8])", {"tile i": 32}),
        ('t = choose("t", [32, 16])\nio, ii = sch.split(i, [None, t])', {}),
    ],
)
def test_only_two_part_splits_of_program_loops_are_tiles(line: str, tiles: dict[str, int]) -> None:
    head = PLAIN[: PLAIN.index("# %% schedule")]
    lines = f'sch = tilewright.Schedule(gemm)\nC = sch.get_block("C")\ni, j, k = sch.get_loops(C)\n{line}\n'
    notebook = evaluate(read_document(f"{head}# %% schedule\n{lines}"))
    assert notebook.error is None and hand_tiles(notebook) == tiles


@pytest.mark.slow
def test_tiles_that_no_derived_schedule_has_are_ignored() -> None:
    notebook = evaluate(read_document(DOUBLE))
    machine = load_machine("dual-bank-npu")
    found = derived_start(notebook, machine, keep={"tile i": 48}).space
    assert found.text == derived_start(notebook, machine).space.text


def test_deriving_without_a_program_is_refused() -> None:
    for attempt in (notebook_space, lambda notebook: derived_start(notebook, load_machine("gemmini"))):
        with pytest.raises((TilewrightError, TilingTargetError), match="no-workload"):
            attempt(evaluate(read_document("# %% machine\n")))


values = st.recursive(
    st.integers(-8, 512) | st.sampled_from(["local", "größe", "a\"b'c"]) | st.none(),
    lambda inner: st.lists(inner, max_size=3),
)


@given(st.lists(values, min_size=1, max_size=4))
def test_a_written_choice_evaluates_to_the_chosen_value(found: list[object]) -> None:
    line = f'x = tilewright.choose("x", {found!r})'
    text = DOUBLE.replace("io, ii = ", f"{line}\nio, ii = ", 1)
    notebook = evaluate(read_document(text))
    assert notebook.error is None and notebook.names["x"] == found[0]
    space = notebook_space(notebook)
    for position, value in enumerate(found):
        filled = evaluate(with_point(notebook.document, space, (position,)))
        assert filled.error is None and filled.names["x"] == value
