"""The picker's value: the grid of the chosen buffer, its accesses, the candidate layouts with their metrics, and the custom map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from ....engine.explore.space.layout_choices import NOW, Candidate
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ..labels.numbers import change_of, grouped, percent_text, size_text
from ..labels.values import Trend, Value
from .controls import Control, LayoutCall, call_value, control_values
from .draft import LayoutError, error_value, with_padding
from .facts import BufferUser, accessing_blocks, fact_rows
from .grid import LayoutGrid, LayoutThumb, LayoutUse, Thumb, grid_value, thumb
from .results import DRAFT, LayoutResults, draft_reading, found_layouts
from .subject import Chosen, axis_words, chosen_buffer
from .trials import BufferFigures, LayoutTrial

_THUMB = Derived["Thumb"]("thumbnail of a layout")


class LayoutCard(Value, frozen=True, kw_only=True):
    """A candidate layout with its simulated figures: name, value, meaning, "bad" for a costly value. `call` is None for the current layout;
    `map` is the index map, or ""; `rank` are cycles, conflict cycles and bytes."""

    key: str
    title: str
    note: str
    call: LayoutCall | None
    map: str
    current: bool
    waiting: bool
    refused: LayoutError | None = None
    thumb: LayoutThumb | None = None
    rank: tuple[int, int, int] | None = None
    overflows: bool = False
    best: bool = False
    figures: Sequence[tuple[str, str, str, str]] = ()
    change: str = ""
    trend: Trend = "same"


class LayoutDraft(Value, frozen=True, kw_only=True):
    """The custom index map: its text, the names and extents of the axes, the error with its column (0 without one), the trial's card, and
    the same map with padding."""

    text: str
    example: str
    names: tuple[str, ...]
    extents: tuple[int, ...] | None
    status: Literal["empty", "wrong", "checking", "right"] = "empty"
    error: LayoutError | None = None
    column: int = 0
    card: LayoutCard | None = None
    padded: LayoutCall | None = None


class LayoutPicker(Value, frozen=True, kw_only=True):
    """A buffer: facts (name, value, meaning), the blocks that access it, and its layouts. Without a simulation
    `grid` is None, and `uses` and `draft` are not used; `uses` is None until they are computed. `fixed` is the
    reason why no layout can be applied."""

    id: str
    name: str
    dtype: str
    scope: str
    colour: int
    facts: list[tuple[str, str, str]]
    accesses: list[BufferUser]
    controls: list[Control]
    fixed: str
    grid: LayoutGrid | None = None
    uses: list[LayoutUse] | None = None
    use: int = 0
    cards: Sequence[LayoutCard] = ()
    draft: LayoutDraft | None = None
    note: str = ""


HALF = 0.5
"""The share of used burst bytes below which bursts are marked as wasteful."""
ALL_USED = 0.995
"""The share that rounds to 100 % and is not shown."""


def layout_value(state: State, store: Store, colour: int) -> LayoutPicker | None:
    """The picker's value; None if no buffer is chosen. `colour` is the buffer's index in the palette."""
    chosen = chosen_buffer(state, store)
    if chosen is None:
        return None
    found = found_layouts(chosen, store)
    now = found.trials.get(NOW.key)
    value = LayoutPicker(
        id=chosen.name,
        name=chosen.buffer.name,
        dtype=chosen.buffer.dtype,
        scope=chosen.buffer.scope,
        colour=colour,
        facts=fact_rows(chosen, None if now is None else now.figures),
        accesses=accessing_blocks(chosen),
        controls=control_values(chosen),
        fixed="an earlier step is shown; new calls are appended at the end" if state.looks_back else "",
    )
    if chosen.buffer_placement is None or chosen.subject is None:
        return replace(value, note=_why_not(chosen, state, store))
    previewed = _previewed(state, store, chosen, found)
    grid = (previewed and grid_value(chosen.buffer_placement, state.look, previewed)) or grid_value(
        chosen.buffer_placement, state.look
    )
    return replace(
        value,
        grid=grid and replace(grid, axes=axis_words(chosen.index, chosen.buffer, chosen.accesses)),
        uses=found.uses,
        use=state.look.use,
        cards=_cards(chosen, store, found),
        draft=_draft(state, store, chosen, now),
    )


def _previewed(state: State, store: Store, chosen: Chosen, found: LayoutResults) -> LayoutTrial | None:
    """The previewed trial, of a card or of the map in the text field."""
    key = state.look.preview
    if not key or key == NOW.key:
        return None
    trial = found.trials.get(key)
    reading = draft_reading(state, store, chosen) if trial is None else None
    if reading is not None and reading.candidate is not None and reading.candidate.key == key:
        trial = store.known(DRAFT(reading.candidate.text, chosen))
    return trial if trial is not None and trial.buffer_placement is not None else None


def _why_not(chosen: Chosen, state: State, store: Store) -> str:
    if not chosen.accesses:
        return "No block accesses this buffer."
    found = store.known_report(state)
    refusal = getattr(found, "refusal", None)
    return f"Its placement is unknown: {refusal.message}." if refusal is not None else "It is not allocated."


def _cards(chosen: Chosen, store: Store, found: LayoutResults) -> list[LayoutCard]:
    """The cards of the candidates, without those equivalent to the current layout."""
    cards: list[LayoutCard] = []
    now = found.trials.get(NOW.key)
    for candidate in chosen.candidates:
        trial = found.trials.get(candidate.key)
        if trial is not None and candidate is not NOW and _is_same(chosen, trial, store):
            continue
        cards.append(_card(chosen, candidate, trial, now, store))
    ranks = [(card.rank, n) for n, card in enumerate(cards) if card.rank is not None and not card.overflows]
    if found.is_complete and len(ranks) > 1:
        best = min(ranks)[1]  # of equal ranks the first card, which is the current layout
        cards[best] = replace(cards[best], best=True)
    return cards


def _is_same(chosen: Chosen, trial: LayoutTrial, store: Store) -> bool:
    """Whether all element addresses, the footprint and the cycles equal the current ones."""
    assert chosen.buffer_placement is not None and chosen.report is not None
    if trial.buffer_placement is None or trial.figures is None:
        return False
    size, cycles = chosen.buffer_placement.placement.total_bytes, chosen.report.cycles
    if (trial.figures.footprint_bytes, trial.figures.cycles) != (size, cycles):
        return False
    places = _thumb(chosen, trial, store).places
    return (
        places is not None and places == _thumb(chosen, LayoutTrial(NOW, None, chosen.buffer_placement), store).places
    )


def _thumb(chosen: Chosen, trial: LayoutTrial, store: Store) -> Thumb:
    assert trial.buffer_placement is not None and chosen.buffer_placement is not None
    now, buffer_placement, candidate = chosen.buffer_placement, trial.buffer_placement, trial.candidate
    return store.remember(
        _THUMB(candidate.text, chosen, buffer_placement), lambda: thumb(candidate, buffer_placement, now)
    )


def _card(
    chosen: Chosen, candidate: Candidate, trial: LayoutTrial | None, now: LayoutTrial | None, store: Store
) -> LayoutCard:
    card = LayoutCard(
        key=candidate.key,
        title=candidate.title,
        note=candidate.note,
        call=call_value(candidate) if candidate.method else None,
        map=candidate.index_map,
        current=candidate is NOW,
        waiting=trial is None,
    )
    if trial is None:
        return card
    if trial.error is not None:
        return replace(card, refused=error_value(trial.error))
    if trial.buffer_placement is not None:
        card = replace(card, thumb=_thumb(chosen, trial, store).value)
    figures = trial.figures
    if figures is None:
        return card
    rank = figures.cycles, figures.conflict_cycles, figures.footprint_bytes
    card = replace(card, rank=rank, overflows=figures.overflows, figures=_figures(chosen, figures))
    if now is None or now.figures is None or candidate is NOW:
        return card
    change, trend = change_of(now.figures.cycles, figures.cycles)
    return replace(card, change=change, trend=trend)


def _figures(chosen: Chosen, figures: BufferFigures) -> list[tuple[str, str, str, str]]:
    """Rows (name, value, meaning, "bad" for a costly value or ""), cycles first."""
    run = size_text(figures.run_bytes) if figures.run_bytes else "–"
    found = [("cycles", grouped(figures.cycles), "Whole program", "")]
    banked = chosen.buffer_placement is not None and chosen.buffer_placement.unit.kind == "bank"
    if banked or figures.degree > 1 or (figures.misses is None and figures.burst_share is None):
        clash = f"×{figures.degree}" if figures.degree > 1 else "none"
        found.append(("conflicts", clash, _lost(figures), "bad" if figures.degree > 1 else ""))
    if figures.misses is not None:
        found.append(("misses", grouped(figures.misses), "Misses in the nearest cache", ""))
    if figures.burst_share is not None and figures.burst_share < ALL_USED:
        tone = "bad" if figures.burst_share < HALF else ""
        found.append(
            (
                "bursts used",
                percent_text(figures.burst_share),
                "Share of the transferred burst bytes that were requested",
                tone,
            )
        )
    found.append(("run", run, "Average contiguous run, of the access with the shortest runs", ""))
    found.append(("size", size_text(figures.footprint_bytes), "Allocated bytes, including padding and slots", ""))
    return found


def _lost(figures: BufferFigures) -> str:
    return f"{grouped(figures.conflict_cycles)} cycles lost to bank conflicts; highest conflict degree {figures.degree}"


def _draft(state: State, store: Store, chosen: Chosen, now: LayoutTrial | None) -> LayoutDraft:
    """The custom map and its trial."""
    assert chosen.subject is not None
    names = ", ".join(chosen.subject.names)
    value = LayoutDraft(
        text=state.look.draft,
        example=f"lambda {names}: [{', '.join(reversed(chosen.subject.names))}]",
        names=chosen.subject.names,
        extents=chosen.subject.extents,
    )
    reading = draft_reading(state, store, chosen)
    if reading is None:
        return value
    if reading.error is not None:
        return replace(value, status="wrong", error=error_value(reading.error), column=reading.column)
    assert reading.candidate is not None
    trial = store.known(DRAFT(reading.candidate.text, chosen))
    if trial is None:
        return replace(value, status="checking")
    if trial.error is None:
        return replace(value, status="right", card=_card(chosen, trial.candidate, trial, now, store))
    if trial.error.refusal.code == "layout-needs-padding":
        value = replace(value, padded=call_value(with_padding(reading.candidate)))
    return replace(value, status="wrong", error=error_value(trial.error))
