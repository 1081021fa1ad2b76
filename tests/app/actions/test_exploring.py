"""Actions of a search: begin, stop, resume, open a candidate as a branch; and their refusals."""

from __future__ import annotations

from functools import cache

import pytest
from msgspec.structs import replace
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.searching import DOUBLE, HOLES, SMALL_HOLES, with_holes

from tilewright.app.actions.cell_actions import ChooseBranch, RemoveItem
from tilewright.app.actions.exploring import (
    EndDerivation,
    EndSearch,
    Explore,
    MakeFast,
    OpenPoint,
    ResumeExploring,
    SetDefault,
    ShowTrial,
    StopExploring,
    schedule_text,
)
from tilewright.app.actions.machine_actions import PickMachine
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import Undo, act
from tilewright.app.document import DocumentError
from tilewright.app.document.editing.branches import branches, current_branch
from tilewright.app.document.holes import derived_start
from tilewright.app.state.derived import Store
from tilewright.app.state.model import DerivedSchedule, State
from tilewright.app.state.search_results import Found, Improved
from tilewright.app.views.explore.value import explore_value
from tilewright.app.views.shell.gallery import FOLDER
from tilewright.engine.explore import Figures, Outcome, Trial, pins_of
from tilewright.engine.ir import Refusal


def text_of(state: State) -> str:
    assert state.notebook is not None
    return state.notebook.document.text


def test_the_space_is_that_of_the_notebook() -> None:
    state = act(with_holes(), Explore(("cycles",), {"peak": 1e6}, 10, 3))
    assert state.notice is None and state.exploration is not None
    request = state.exploration.request
    assert request.space.size == 12 == request.planned
    assert request.settings.objectives == ("cycles",) and request.settings.budgets == {"peak": 1e6}
    assert act(state, Explore()).exploration.request.serial == request.serial + 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("search", "code"),
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
def test_an_impossible_search_is_refused(search: Explore, code: str) -> None:
    state = act(with_holes(), search)
    assert state.notice is not None and state.notice.code == code
    assert state.exploration is None


def test_a_notebook_without_holes_has_no_space() -> None:
    state = act(act(State(), OpenText(MATMUL_NOTEBOOK)), Explore())
    assert state.notice is not None and state.notice.code == "no-holes"


def test_a_stopped_search_resumes_and_a_candidate_opens() -> None:
    state = act(act(with_holes(), Explore()), StopExploring())
    assert state.exploration is not None and not state.exploration.going
    state = act(act(state, ResumeExploring()), ShowTrial(3))
    assert state.exploration is not None and state.exploration.going and state.exploration.trial == 3


def test_a_point_opens_as_a_compared_branch() -> None:
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


def test_a_point_of_another_schedule_is_refused() -> None:
    state = act(act(with_holes(), Explore()), RemoveItem(13))
    assert text_of(state) != HOLES
    after = act(state, OpenPoint((1, 1, 1)))
    assert after.notice is not None and after.notice.code == "other-schedule"
    assert text_of(after) == text_of(state)


def test_a_new_default_comes_first_in_its_line() -> None:
    state = act(with_holes(), SetDefault(7, 2))
    assert state.notice is not None and state.notice.code == "no-such-hole"
    (step,) = (s for s in state.notebook.steps if s.text.startswith("place"))  # type: ignore[union-attr]
    state = act(with_holes(), SetDefault(step.index, 1))
    assert state.notice is None
    assert 'place = tilewright.choose("A at", ["mo", "ko", "nowhere"])' in text_of(state)
    assert text_of(act(with_holes(), SetDefault(step.index, 0))) == HOLES


def test_pins_are_kept_by_the_search_and_its_branch() -> None:
    state = act(with_holes(), Explore(keep={"tile": ("32",), "A at": ('"ko"', '"mo"')}))
    assert state.notice is None and state.exploration is not None
    request = state.exploration.request
    assert request.space.size == request.planned == 4
    assert pins_of(request.space) == {"tile": ("32",), "A at": ('"ko"', '"mo"')}
    state = act(state, OpenPoint((0, 1, 0)))
    assert state.notice is None and state.notebook is not None
    assert current_branch(state.notebook.document) == "tile 32, A at mo, slots 1"
    assert "\ntile = 32\n" in text_of(state).partition("# %% branch")[0]


@pytest.mark.parametrize(
    ("keep", "code"),
    [({"tile": ("48",)}, "no-such-value"), ({"rows": ("64",)}, "no-such-hole"), ({"tile": ()}, "no-such-value")],
)
def test_pins_of_another_text_are_refused(keep: dict[str, tuple[str, ...]], code: str) -> None:
    state = act(with_holes(), Explore(keep=keep))
    assert state.notice is not None and state.notice.code == code and state.exploration is None


def test_make_fast_requests_a_derivation_and_writes_nothing() -> None:
    state = act(with_holes(), MakeFast())
    assert state.derivation is not None and text_of(state) == HOLES and state.pane == "explore"
    assert act(state, StopExploring()).derivation is None
    for wrong in (MakeFast(0.0), MakeFast(-1.0), MakeFast(1e9)):
        refused = act(with_holes(), wrong)
        assert refused.notice is not None and refused.notice.code == "bad-search" and refused.derivation is None
    nothing = act(State(), MakeFast())
    assert nothing.notice is not None and nothing.notice.code == "no-workload"


@cache
def derived() -> tuple[State, EndDerivation]:
    """A state that requests a derivation, and its result."""
    state = act(act(State(), OpenText(SMALL_HOLES)), MakeFast())
    assert state.derivation is not None
    space = derived_start(state.derivation.notebook, state.derivation.machine).space
    figures = Figures(1000, 900, "dma", 1.0, 10, {})
    return state, EndDerivation(state.derivation, DerivedSchedule(space, Outcome("fits", figures), 1.0))


@pytest.mark.slow
def test_a_derived_start_is_a_branch_that_is_searched() -> None:
    requested, end = derived()
    state = act(requested, end)
    assert state.notice is None and state.derivation is None and state.notebook is not None
    assert current_branch(state.notebook.document) == "auto" and state.notebook.error is None
    assert state.exploration is not None and state.exploration.request.derived is end.found
    assert state.exploration.request.space.size > 1
    twice = act(state, MakeFast())
    assert twice.derivation is not None
    again = act(twice, replace(end, derivation=twice.derivation))
    assert again.notebook is not None and current_branch(again.notebook.document) == "auto 2"
    assert text_of(act(state, Undo())) == SMALL_HOLES


def ended(state: State, cycles: int, own: int | None, last: bool = False) -> EndSearch:
    """The end of the search of `state`, whose best candidate is that with the first or the last values."""
    assert state.exploration is not None
    request = state.exploration.request
    point = tuple(len(hole.values) - 1 if last else 0 for hole in request.space.holes)
    trial = Trial(7, point, Outcome("fits", Figures(cycles, 1, "dma", 1.0, 1, {})))
    return EndSearch(request, Found("ended", (trial,), front=(7,), own=own))


def schedule_of(state: State) -> tuple[str, str]:
    """The current branch, and the text of its schedule."""
    assert state.notebook is not None
    document = state.notebook.document
    return current_branch(document), schedule_text(document)


def test_a_search_ends_with_its_best_schedule() -> None:
    requested, end = derived()
    state = act(requested, end)
    first = act(state, ended(state, 900, 1000))
    branch, text = schedule_of(first)
    assert branch == "fastest" and "choose(" not in text and first.notice is None
    assert text_of(act(first, Undo())) == SMALL_HOLES
    second = act(first, ended(first, 800, 1000, last=True))
    assert schedule_of(second)[0] == "fastest" and schedule_of(second)[1] != text
    names = [branch.name for branch in branches(second.notebook.document)]  # type: ignore[union-attr]
    assert sorted(names) == ["auto", "fastest", "main"]
    edited = act(first, ChooseBranch("main"))
    assert act(edited, ended(edited, 800, 1000)) is edited


def test_what_next_steps_made_of_the_best_candidate_opens() -> None:
    requested, end = derived()
    state = act(requested, end)
    done = ended(state, 900, 890)
    text = "# %% schedule\nsch = tilewright.Schedule(gemm)\n"
    faster = act(state, replace(done, found=replace(done.found, improved=Improved(text, 880))))
    assert schedule_of(faster) == ("fastest", "sch = tilewright.Schedule(gemm)")


def test_a_faster_schedule_of_ones_own_stays() -> None:
    requested, end = derived()
    state = act(requested, end)
    after = act(state, ended(state, 900, 900))
    assert schedule_of(after) == ("main", schedule_of(requested)[1])
    assert after.notice is not None and after.notice.code == "own-schedule"
    assert schedule_of(act(state, ended(state, 900, None)))[0] == "fastest"


def test_pinned_tiles_carry_over_to_the_derived_schedule() -> None:
    requested = act(act(State(), OpenText(DOUBLE)), MakeFast(keep_tiles=True))
    assert requested.derivation is not None and requested.derivation.keep == {"tile i": 16}
    assert explore_value(requested, Store()).offer.tiles == "i 16"
    keep = {"tile i": 16, "tile z": 8}
    derivation = replace(requested.derivation, keep=keep)
    space = derived_start(derivation.notebook, derivation.machine, keep={"tile i": 16}).space
    outcome = Outcome("fits", Figures(1, 1, "", 1.0, 1, {}))
    end = EndDerivation(derivation, DerivedSchedule(space, outcome, 1.0, keep))
    state = act(replace(requested, derivation=derivation), end)
    assert state.notice is None and state.exploration is not None
    request = state.exploration.request
    assert pins_of(request.space) == {"tile i": ("16",)} and request.space.default == (0,) * len(request.space.holes)
    lost = explore_value(state, Store()).search.lost
    assert lost == ["tile z 8: the loop is not tiled"]
    other = replace(derivation, keep={"tile i": 48})
    ended = EndDerivation(other, DerivedSchedule(space, outcome, 1.0, other.keep))
    lost = explore_value(act(replace(requested, derivation=other), ended), Store()).search.lost
    assert len(lost) == 1 and lost[0].startswith("tile i 48: its values are ")
    free = act(act(State(), OpenText(DOUBLE)), MakeFast())
    assert free.derivation is not None and free.derivation.keep == {}


def test_a_derivation_for_another_program_or_machine_is_not_written() -> None:
    requested, end = derived()
    for change in (PickMachine("gemmini"), OpenText(HOLES)):
        other = act(requested, change)
        other = replace(other, derivation=end.derivation)
        after = act(other, end)
        assert after.notice is not None and after.notice.code == "changed-meanwhile"
        assert after.derivation is None and text_of(after) == text_of(other)
    renamed = act(requested, RemoveItem(13))
    after = act(renamed, end)
    assert after.notice is None and after.notebook is not None and current_branch(after.notebook.document) == "auto"


def test_a_program_that_no_derived_schedule_fits_stays_as_it_is() -> None:
    requested, end = derived()
    assert end.found is not None
    space = replace(end.found.space.space, holes=())
    nothing = replace(end.found.space, space=space, text="", left_out=("tiles of C: no tried point is faster",))
    after = act(requested, replace(end, found=replace(end.found, space=nothing)))
    assert after.notice is not None and after.notice.code == "no-schedule" and "fits" in after.notice.message
    assert text_of(after) == SMALL_HOLES


def test_no_schedule_to_derive_shows_the_reason() -> None:
    requested = act(with_holes(), MakeFast())
    assert requested.derivation is not None
    error = DocumentError(Refusal("no-main-block", "no block can be tiled", expected="a loop"))
    after = act(requested, EndDerivation(requested.derivation, None, error))
    assert after.notice is not None and (after.notice.code, after.notice.expected) == ("no-main-block", "a loop")
    assert after.derivation is None and after.notebook is requested.notebook


def test_make_fast_of_a_kernel_opens_its_text_with_other_literals() -> None:
    text = (FOLDER / "tilelang_gemm.py").read_text().replace("M=512, N=512, K=1024", "M=128, N=128, K=128")
    state = act(act(State(), OpenText(text)), MakeFast())
    assert state.derivation is not None
    offer = explore_value(state, Store()).offer
    assert offer is not None and [hole.name for hole in offer.holes][:2] == ["threads", "num_stages"]
    start = derived_start(state.derivation.notebook, state.derivation.machine)
    made = act(state, EndDerivation(state.derivation, DerivedSchedule(start.space, start.outcome, 1.0)))
    assert made.exploration is not None and text_of(made) == text
    request = made.exploration.request
    point = tuple(2 if hole.name == "num_stages" else 0 for hole in request.space.holes)
    best = Trial(0, point, Outcome("fits", Figures(5, 5, "copy", 0.0, 0, {}, exact=True)))
    opened = act(made, EndSearch(request, Found("ended", (best,), front=(0,))))
    assert "num_stages=1)\n\n# %% schedule" in text_of(opened) and "# main = gemm(" in text_of(opened)
    assert opened.notebook is not None and current_branch(opened.notebook.document) == "fastest"
    assert text_of(act(opened, Undo())) == text
