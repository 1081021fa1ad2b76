"""The Explore pane's value: the space, the progress, the explanation of the best candidate, and requested rows."""

from __future__ import annotations

import msgspec
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.searching import HOLES, searched, with_holes

from tilewright.app.actions.cell_actions import RemoveItem
from tilewright.app.actions.exploring import Explore, OpenPoint, ShowTrial
from tilewright.app.actions.machine_actions import PickMachine
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ShowPane, act
from tilewright.app.jobs.analyses.candidate import trial_analysis
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.state.search_results import Found
from tilewright.app.views.explore.value import SearchDatabase, explore_value, seconds_left, trials_value
from tilewright.app.views.notebook.steps import StepHole
from tilewright.app.views.notebook.value import notebook_value


def test_form_describes_the_space_of_the_holes() -> None:
    offer = explore_value(with_holes(), Store()).offer
    assert [(hole.name, list(hole.values)) for hole in offer.holes] == [
        ("tile", ["64", "32"]),
        ("A at", ['"ko"', '"mo"', '"nowhere"']),
        ("slots", ["1", "2"]),
    ]
    assert offer.size == 12 and offer.machine == "dual-bank-npu"
    assert [figure.key for figure in offer.figures][:4] == ["cycles", "peak", "traffic", "energy"]
    assert "peak local.vtcm[0]" in [figure.key for figure in offer.figures]


def test_the_form_without_holes_has_an_example_and_its_error() -> None:
    offer = explore_value(act(State(), OpenText(MATMUL_NOTEBOOK)), Store()).offer
    assert offer.holes == [] and offer.example.startswith("tile = tilewright.choose(")
    bad = explore_value(act(State(), OpenText(HOLES.replace("[64, 32]", "[]"))), Store()).offer
    assert "the list of values is empty" in bad.error


def test_astronomically_many_points_can_be_sent() -> None:
    lines = "".join(f'x{n} = tilewright.choose("x{n}", {list(range(9))})\n' for n in range(40))
    state = act(State(), OpenText(HOLES + lines))
    value = explore_value(act(state, Explore()), Store())
    assert value.offer.size > 1e37
    msgspec.json.encode(value)


def test_a_finished_search_explains_its_best_and_the_bound() -> None:
    state, store, found = searched()
    value = explore_value(state, store).search
    assert value.status == "ended" and value.count == value.total == 12 and value.all
    assert value.best == found.front[0] == value.card.trial and value.card.is_best
    assert value.bound.whole and value.stale == "" and value.left is None
    best = next(trial for trial in found.trials if trial.number == value.best)
    assert best.outcome.figures is not None
    assert value.bound.cycles <= best.outcome.figures.cycles
    assert best.outcome.figures.bound_by in value.card.words
    assert value.now is not None and len(value.now) == len(value.figures)
    assert value.checked[str(value.best)] in ("proved", "tested")
    visible = act(state, ShowPane("explore"))
    study = trial_analysis(visible, store)
    assert study is not None
    study.run(store)
    assert trial_analysis(visible, store) is None
    limits = explore_value(visible, store).search.card.limits
    assert limits[0].name == best.outcome.figures.bound_by
    msgspec.json.encode(explore_value(visible, store))


def test_the_card_of_a_refused_candidate_names_its_line() -> None:
    state, store, found = searched()
    refused = next(trial for trial in found.trials if trial.outcome.status == "refused")
    card = explore_value(act(state, ShowTrial(refused.number)), store).search.card
    assert card.status == "refused" and "sch.compute_at(AL, place)" in card.why and card.words == ""
    assert any(choice.changed for choice in card.choices)


def test_only_the_requested_rows_of_this_search_are_sent() -> None:
    state, store, found = searched()
    key = explore_value(state, store).search.key
    rows = trials_value(state, store, key, 4)
    assert rows is not None and len(rows.rows) == 8
    number, status, _, point, figures, _, _ = rows.rows[0]
    assert (number, status, point) == (found.trials[4].number, found.trials[4].outcome.status, found.trials[4].point)
    assert (figures is None) == (found.trials[4].outcome.figures is None)
    assert trials_value(state, store, key + 1, 0) is trials_value(state, store, key, -1) is None


def test_a_search_of_an_earlier_text_is_marked() -> None:
    state, store, _ = searched()
    changed = act(state, RemoveItem(13))
    assert explore_value(changed, store).search.stale == "of an earlier version of the schedule"
    opened = act(state, OpenPoint((0, 0, 0)))
    assert explore_value(opened, store).search.stale == "of branch main"
    moved = act(state, PickMachine("cpu-core"))
    assert explore_value(moved, store).search.stale == "for the previous machine"
    assert explore_value(changed, store).search.count == 12


def test_the_remaining_time_follows_the_rate() -> None:
    _, _, found = searched()
    running = msgspec.structs.replace(found, status="running", total=112, at=tuple(float(n) for n in range(12)))
    assert seconds_left(running) == 100.0
    assert seconds_left(Found("running")) is None and seconds_left(found) is None


def test_line_of_a_hole_has_its_values_in_order() -> None:
    state = with_holes()
    rows = [row for cell in notebook_value(state, Store(), {}).cells for row in cell.rows or ()]
    (tile,) = (row for row in rows if row.text.startswith("tile ="))
    assert tile.hole == StepHole("tile", ("64", "32"), [1, 0], target="tile")
    assert next(row for row in rows if row.text.startswith("sch.reorder")).hole is None


def test_each_derived_hole_names_its_rule() -> None:
    text = HOLES.replace("tile = tile", "# Tiles of the last block: tiles of C: loops m.\ntile = tile")
    text = text.replace("slots = tile", "# A remark of a person: two of them.\nslots = tile")
    state = act(act(State(), OpenText(text)), Explore())
    search = explore_value(state, Store()).search
    assert [hole.rule for hole in search.holes] == ["Tiles of the last block"] * 3
    plain = explore_value(act(with_holes(), Explore()), Store()).search
    assert [hole.rule for hole in plain.holes] == ["", "", ""]


def test_pins_are_named_and_restrict_the_axes() -> None:
    state = act(with_holes(), Explore(keep={"tile": ("32",)}))
    search = explore_value(state, Store()).search
    assert search.asked.endswith("all 6") and search.kept == ["tile 32"] and search.size == 6
    assert [len(hole.values) for hole in search.holes] == [1, 3, 2]
    assert search.decisions == () and search.database == SearchDatabase("", failed=False)
    assert explore_value(state, Store()).deriving is None
