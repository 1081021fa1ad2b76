"""Intents for the search of all kernels of a model."""

from __future__ import annotations

from msgspec.structs import replace

from ...engine.ir import Refusal
from ..document import DocumentError
from ..state.intents import ACTIONS, Message, ViewMessage
from ..state.model import State
from ..state.open_model import ModelSearch, OpenModel
from .exploring import MOST_SECONDS


class ScheduleAll(Message, frozen=True, tag="schedule_all"):
    """Search schedules for all kernels of the open model within `seconds`, those with most cycles to win first. Each is written into its
    kernel's file as soon as it is found, and a later call resumes. Kernels that somebody scheduled are kept; with `again` they are searched
    too, and a faster schedule becomes a branch. An example is copied to the served folder, or to the drafts, first."""

    needs_page = True

    seconds: float = 600.0
    again: bool = False


class StopScheduling(ViewMessage, frozen=True, tag="stop_scheduling"):
    """Stop the search of all kernels; the schedules that it found stay."""


@ACTIONS(ScheduleAll)
def _schedule_all(state: State, intent: ScheduleAll) -> State:
    model = open_model(state)
    if not 0 < intent.seconds <= MOST_SECONDS:
        found, expected = f"{intent.seconds:g} s", f"up to {MOST_SECONDS:,} s"
        raise DocumentError(Refusal("bad-search", "invalid time limit", found, expected))
    search = ModelSearch(model.path, model.machine, dict(model.sizes), intent.seconds, intent.again)
    return replace(state, model=replace(model, search=search), notice=None)


@ACTIONS(StopScheduling)
def _stop_scheduling(state: State, _: StopScheduling) -> State:
    model = open_model(state)
    if model.search is None:
        return state
    return replace(state, model=replace(model, search=replace(model.search, going=False)))


def open_model(state: State) -> OpenModel:
    """The model of a page. Raises DocumentError "no-model"."""
    if state.model is None:
        raise DocumentError(Refusal("no-model", "no model is open"))
    return state.model


__all__ = ["ScheduleAll", "StopScheduling", "open_model"]
