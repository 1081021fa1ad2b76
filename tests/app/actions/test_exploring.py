"""What a person does with a search: begun, stopped, opened as a branch, gone on with; and what is refused."""

from __future__ import annotations

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.searching import HOLES, with_holes

from tilewright.app.actions.cell_actions import RemoveItem
from tilewright.app.actions.exploring import (
    AutoSpace,
    Explore,
    OpenPoint,
    ResumeExploring,
    SetDefault,
    ShowTrial,
    StopExploring,
)
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Undo, act
from tilewright.app.document.editing.branches import branches, current_branch
from tilewright.app.state.model import State


def text_of(state: State) -> str:
    assert state.notebook is not None
    return state.notebook.document.text


def test_given_holes_when_explored_then_the_space_is_of_the_notebook_as_it_is() -> None:
    state = act(with_holes(), Explore(("cycles",), {"peak": 1e6}, 10, 3))
    assert state.notice is None and state.exploration is not None
    request = state.exploration.request
    assert request.space.size == 12 == request.planned
    assert request.settings.objectives == ("cycles",) and request.settings.budgets == {"peak": 1e6}
    assert act(state, Explore()).exploration.request.serial == request.serial + 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (Explore(("speed",)), "unknown-objective"),
        (Explore((), {}), "bad-search"),
        (Explore(seed=-1), "bad-search"),
        (Explore(seconds=-1.0), "bad-search"),
        (Explore(trials=0), "bad-trials"),
        (Explore(trials=10**9), "bad-trials"),
        (Explore(budgets={"peak nowhere": 1.0}), "unknown-objective"),
    ],
)
def test_given_a_search_that_cannot_be_then_it_is_refused_and_nothing_is_searched(asked: Explore, code: str) -> None:
    state = act(with_holes(), asked)
    assert state.notice is not None and state.notice.code == code
    assert state.exploration is None


def test_given_no_holes_then_there_is_nothing_to_search() -> None:
    state = act(act(State(), OpenText(MATMUL_NOTEBOOK)), Explore())
    assert state.notice is not None and state.notice.code == "no-holes"


def test_given_a_stop_then_it_can_be_gone_on_with_and_a_candidate_is_looked_at() -> None:
    state = act(act(with_holes(), Explore()), StopExploring())
    assert state.exploration is not None and not state.exploration.going
    state = act(act(state, ResumeExploring()), ShowTrial(3))
    assert state.exploration is not None and state.exploration.going and state.exploration.trial == 3


def test_given_a_point_then_it_is_a_branch_with_the_holes_filled_compared_with_what_was_there() -> None:
    state = act(act(with_holes(), Explore()), OpenPoint((1, 1, 1)))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    assert current_branch(state.notebook.document) == "tile 32, A at mo, slots 2"
    shown = text_of(state).partition("# %% branch")[0]
    assert "\ntile = 32\n" in shown and '\nplace = "mo"\n' in shown and "choose" not in shown
    assert state.comparison is not None and state.comparison.b.key == "now"
    again = act(state, OpenPoint((0, 0, 0)))
    assert again.notice is None and again.notebook is not None
    assert len(branches(again.notebook.document)) == 3
    twice = act(again, OpenPoint((0, 0, 0)))
    assert twice.notebook is not None and current_branch(twice.notebook.document).endswith(" 2")
    assert text_of(act(state, Undo())) == HOLES


def test_given_another_schedule_by_now_then_a_point_is_not_opened_and_says_why() -> None:
    state = act(act(with_holes(), Explore()), RemoveItem(13))
    assert text_of(state) != HOLES
    after = act(state, OpenPoint((1, 1, 1)))
    assert after.notice is not None and after.notice.code == "other-schedule"
    assert text_of(after) == text_of(state)


def test_given_another_default_then_it_stands_in_front_and_the_rest_keeps_its_order() -> None:
    state = act(with_holes(), SetDefault(7, 2))
    assert state.notice is not None and state.notice.code == "no-such-hole"
    (step,) = (s for s in state.notebook.steps if s.text.startswith("place"))  # type: ignore[union-attr]
    state = act(with_holes(), SetDefault(step.index, 1))
    assert state.notice is None
    assert 'place = tilewright.choose("A at", ["mo", "ko", "nowhere"])' in text_of(state)
    assert text_of(act(with_holes(), SetDefault(step.index, 0))) == HOLES


def test_given_a_program_then_a_space_is_derived_as_a_branch_and_can_be_searched() -> None:
    state = act(act(State(), OpenText(HOLES)), AutoSpace())
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    assert current_branch(state.notebook.document) == "auto"
    state = act(state, Explore())
    assert state.exploration is not None and state.exploration.request.space.size > 12
    assert act(state, AutoSpace()).notice is None
