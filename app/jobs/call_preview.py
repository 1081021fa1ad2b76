"""Predictions for the entries of a menu and the choices of a form: each call is made and simulated in a thread, in their order.

The values stay in the store, so that the same menu shows them at once. Another menu, or closing it, cancels the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from msgspec.structs import asdict

from ...engine.analysis import ProgramIndex
from ...engine.hwsim import Machine
from ...engine.ir import TilewrightError
from ..actions.drops import Predictable
from ..state.derived import Store, attempt
from ..state.entries import Derived, Entry
from ..state.model import State
from ..views.tree.predictions import CallEffect, PredictedCall, RefusedCall, brief_value, prediction_value
from .background_job import BackgroundJob
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler
from .tried_move import TriedMove, move_key, present_report, refused_value, try_move

MAX_CALLS = 64
"""The number of calls of a menu or a form that are tried."""


_EFFECT = Derived["CallEffect | RefusedCall"]("effect of a call")

Piece: TypeAlias = "tuple[int, Entry[CallEffect | RefusedCall] | None, CallEffect | RefusedCall]"
"""The number of a call, the entry of its effect, and the effect."""


class CallPreview:
    """The predictions of one page's open menu or form. `on_prediction` receives each on the event loop."""

    def __init__(
        self,
        store: Store,
        event_loop: EventLoop,
        on_prediction: Callable[[PredictedCall], None],
        scheduler: FairScheduler | None = None,
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._on_prediction = on_prediction
        self._scheduler = scheduler or FairScheduler()
        self._work: BackgroundJob | None = None

    def begin(self, state: State, ticket: int, moves: Sequence[Predictable | None]) -> None:
        """Predict `moves` in order and cancel earlier predictions; `ticket` is that of the request, None a call that cannot be tried."""
        self.stop()
        machine = self._store.machine(state)
        if state.moment is None or isinstance(machine, TilewrightError):
            return
        left: list[tuple[int, Predictable, Entry[CallEffect | RefusedCall] | None]] = []
        for number, move in enumerate(moves[:MAX_CALLS]):
            if move is None:
                continue
            key = _effect_key(state, machine, move)
            value = self._store.known(key)
            if value is None:
                left.append((number, move, key))
            else:
                self._on_prediction(PredictedCall(ticket, number, value))
        if not left:
            return
        known = self._store.known_report(state)

        def pieces() -> Iterator[Piece]:
            assert state.moment is not None
            now = known if known is not None else attempt("simulate", lambda: present_report(state, machine))
            before = ProgramIndex(state.moment.schedule.func)
            for number, move, key in left:
                found = attempt("prediction", lambda move=move: _value(state, move, machine, now, before))
                yield number, key, refused_value(found.refusal) if isinstance(found, TilewrightError) else found

        def deliver(piece: Piece) -> None:
            number, key, value = piece
            if key is not None:
                self._store.keep(key, value)
            self._on_prediction(PredictedCall(ticket, number, value))

        self._work = BackgroundJob(pieces(), self._event_loop, deliver, scheduler=self._scheduler).start()

    def stop(self) -> None:
        """Cancel the predictions that are not there yet."""
        if self._work is not None:
            self._work.cancel()
            self._work = None


def _value(
    state: State, move: Predictable, machine: Machine, now: Any, before: ProgramIndex
) -> CallEffect | RefusedCall:
    tried = try_move(state, move, machine)
    if not isinstance(tried, TriedMove):
        return refused_value(tried)
    value = prediction_value(now, tried.report, before, ProgramIndex(tried.schedule.func), ())
    return CallEffect(**asdict(value), brief=brief_value(now, tried.report))


def _effect_key(state: State, machine: Machine, move: Predictable) -> Entry[CallEffect | RefusedCall] | None:
    key = move_key(state.notebook, move)
    return None if key is None else _EFFECT(*key.inputs, machine)
