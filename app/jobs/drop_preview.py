"""Previews of drops during a drag: the map of targets at once, then predicted figures, the nearest target first.

A prediction applies and simulates the drop in a thread. The store keeps the result, so that the drop itself only has to be recorded. The
end of the drag, or another drag, cancels the work at once. If the user makes a drop while its prediction runs, the thread of the change
waits for that prediction, which is faster than making the drop again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...engine.adopt import call_of
from ...engine.analysis import ProgramIndex
from ...engine.cancellation import checkpoint
from ...engine.hwsim import Machine, Report
from ...engine.ir import PrimFunc, Refusal, TilewrightError, Var
from ..actions.call_arguments import handle_of
from ..actions.calls import MakeCall, MakeCalls, moved
from ..actions.drops import METHODS, Drop, DropSeveral, Predictable
from ..document import Notebook
from ..document.editing.kernel_edits import is_kernel_text
from ..document.editing.revisions.placement import moved_blocks
from ..document.editing.revisions.relocation import Relocation
from ..state.derived import PLAN, REPORT, Store, attempt
from ..state.entries import Derived, Entry
from ..state.intents import Intent
from ..state.model import Notice, State
from ..state.row_ids import row_ids
from ..views.tree.predictions import PredictedDrop, Prediction, RefusedCall, prediction_value
from ..views.tree.targets import DropTarget
from .background_job import BackgroundJob
from .drop_targets import kernel_targets, targets_of
from .event_loop import EventLoop
from .fair_scheduler import FairScheduler
from .tried_move import TriedMove, move_key, present_report, refused_value, try_move

MAX_KEPT = 64
"""The number of predicted drops whose programs and reports are kept: a report of a long run is large, and most drops are never made."""

LONGEST_WAIT_S = 2.0
"""The longest wait for a running prediction; after that the drop is made again."""

POLL_S = 0.0005

OnPrediction = Callable[[PredictedDrop], None]


_TARGETS = Derived["list[DropTarget] | TilewrightError"]("targets of drops")
_PREDICTION = Derived["PredictedDrop"]("prediction of a drop")
_MADE_DROP = Derived["MadeDrop"]("predicted drop")


class TriedDrop(msgspec.Struct, frozen=True, eq=False):
    """The result of a drop: the notebook after it, and a callback that stores the result, for the event loop."""

    key: Entry[Notebook]
    made: Notebook
    keep: Callable[[], None]


class MadeDrop(msgspec.Struct, frozen=True, eq=False):
    """The program after a predicted drop, and its report."""

    func: PrimFunc
    report: Report | TilewrightError


class Drag:
    """A drag: the drops without a prediction, the `predictions` so far, and the row near the pointer (`near`)."""

    def __init__(
        self,
        state: State,
        machine: Machine | TilewrightError,
        rows: Sequence[str],
        entries: Sequence[DropTarget],
        near: str,
    ) -> None:
        assert state.moment is not None
        self.state = state
        self.machine = machine
        self.rows = tuple(rows)
        self._predictions: dict[tuple[str, str], PredictedDrop] = {}
        self.schedule = state.moment.schedule
        self.ids = row_ids(self.schedule.func)
        self.places = {row: n for n, row in enumerate(self.ids)}
        self.near = near
        self.over = False
        self.trying: Entry[Notebook] | None = None
        self.tried: TriedDrop | None = None
        self._entries = tuple(entries)
        self._left = list(entries)

    def is_of(self, state: State, machine: Machine | TilewrightError, rows: Sequence[str]) -> bool:
        """Whether the drag is of these rows, with the same program and machine."""
        is_same = self.state.notebook is state.notebook and self.state.moment is state.moment
        return is_same and self.machine is machine and self.rows == tuple(rows)

    @property
    def is_complete(self) -> bool:
        """Whether every drop has a prediction."""
        return len(self._predictions) == len(self._entries)

    @property
    def predictions(self) -> list[PredictedDrop]:
        """The predictions that are known."""
        return list(self._predictions.values())

    def keep(self, prediction: PredictedDrop) -> None:
        """Add a prediction, in place of an earlier one of the same drop."""
        self._predictions[prediction.loop, prediction.primitive] = prediction

    def repeat(self, loop: str, primitive: str) -> bool:
        """Whether the drop has a prediction and is predicted again."""
        again = [e for e in self._entries if (e.loop, e.primitive) == (loop, primitive) and e not in self._left]
        if (loop, primitive) not in self._predictions:
            return False
        self._left += again
        return bool(again)

    def made_of(self, key: Entry[Notebook]) -> Notebook | None:
        """The notebook after the drop `key`; None unless it is the drop that was tried last."""
        tried = self.tried
        return tried.made if tried is not None and tried.key == key else None

    def remove(self, entry: DropTarget) -> None:
        """Remove a drop whose prediction is known."""
        self._left.remove(entry)

    def next(self) -> DropTarget | None:
        """The nearest drop without a prediction; None after the last one or after the end of the drag."""
        if self.over or not self._left:
            return None
        here = self.places.get(self.near, 0)
        entry = min(self._left, key=lambda e: abs(self.places[e.loop] - here))
        self._left.remove(entry)
        return entry


def targets(state: State, store: Store, rows: Sequence[str]) -> list[DropTarget]:
    """The drop targets for the blocks or loops of `rows`. Nothing is applied."""
    if state.moment is None or not rows:
        return []
    notebook, count = state.shown, state.step_count
    assert notebook is not None
    schedule = state.moment.schedule

    def compute() -> list[DropTarget]:
        if is_kernel_text(notebook):
            return kernel_targets(notebook, rows)
        return targets_of(schedule, rows, lambda blocks: Relocation(notebook, count, blocks))

    found = store.remember(_TARGETS(rows, state.moment), lambda: attempt("targets", compute))
    return [] if isinstance(found, TilewrightError) else found


class DropPreview:
    """The target map and the predictions of one page. `on_prediction` receives each prediction on the event loop."""

    def __init__(
        self, store: Store, event_loop: EventLoop, on_prediction: OnPrediction, scheduler: FairScheduler | None = None
    ) -> None:
        self._store = store
        self._event_loop = event_loop
        self._on_prediction = on_prediction
        self._scheduler = scheduler or FairScheduler()
        self._drag: Drag | None = None
        self._work: BackgroundJob | None = None
        self._kept: OrderedDict[Notebook, list[Entry[Any]]] = OrderedDict()

    def begin(self, state: State, rows: Sequence[str], near: str) -> None:
        """Begin a drag: send the known predictions and compute the others, those near the row `near` first."""
        self.stop()
        if state.moment is None:
            return
        machine = self._store.machine(state)
        entries = (
            [] if isinstance(machine, TilewrightError) else [e for e in targets(state, self._store, rows) if e.legal]
        )
        drag = self._drag = Drag(state, machine, rows, entries, near)
        for entry in entries:
            value = self._store.known(_predicted(rows, entry, state, machine))
            if value is not None:
                drag.remove(entry)
                self._send(drag, value)
        if not drag.is_complete:
            self._predict(drag)

    def predictions(self, state: State, rows: Sequence[str]) -> tuple[list[PredictedDrop], bool]:
        """The known predictions for drops of `rows`, and whether they are complete. Begins a drag of `rows` if there is none."""
        if self._drag is None or not self._drag.is_of(state, self._store.machine(state), rows):
            self.begin(state, rows, "")
        return ([], True) if self._drag is None else (self._drag.predictions, self._drag.is_complete)

    def drop(self, state: State, rows: Sequence[str], loop: str, primitive: str) -> MadeDrop | None:
        """A drop of `rows` as it was predicted; None before that. An evicted one is predicted again, which sends its prediction again."""
        machine, drag = self._store.machine(state), self._drag
        found = self._store.known(_MADE_DROP(rows, loop, primitive, state.moment, machine))
        if found is None and drag is not None and drag.is_of(state, machine, rows) and drag.repeat(loop, primitive):
            self._predict(drag)
        return found

    def point_at(self, row: str) -> None:
        """Record that the pointer is over `row`."""
        if self._drag is not None:
            self._drag.near = row

    def stop(self) -> None:
        """End the drag and cancel the remaining predictions."""
        if self._drag is not None:
            self._drag.over = True
            self._drag = None
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def with_precomputed(self, state: State, move: Predictable) -> Predictable:
        """The move with its predicted notebook, if there is one. Ends the drag, unless the prediction of this move is running: then
        `wait_for_prediction` returns the notebook."""
        key = move_key(state.notebook, move)
        if key is None or (self._drag is not None and self._drag.trying != key):
            self.stop()
        made = self._store.known(key)
        if made is None:
            return move
        self._kept.pop(made, None)  # now a step of the notebook: the limit on predicted drops must not evict it
        return replace(move, made=made)

    def wait_for_prediction(self, state: State, intent: Intent) -> Intent:
        """In the thread of a change: wait for the running prediction of a move, and return the move with its notebook."""
        drag = self._drag
        if drag is None or not isinstance(intent, Predictable) or (key := move_key(state.notebook, intent)) is None:
            return intent
        end = time.monotonic() + LONGEST_WAIT_S
        while drag.trying == key and drag.made_of(key) is None and not drag.over and time.monotonic() < end:
            checkpoint()
            time.sleep(POLL_S)
        made = drag.made_of(key)  # also if the next drop is already being tried
        return intent if made is None else replace(intent, made=made)

    def finish(self) -> None:
        """After a move: store the result of the last prediction and end the drag."""
        if self._drag is not None and (tried := self._drag.tried) is not None:
            tried.keep()
            self._kept.pop(tried.made, None)
        self.stop()

    # In the thread: only reads programs, which are frozen. Results reach the store on the event loop.

    def _try_all(self, drag: Drag, machine: Machine, known: Any) -> Iterator[tuple[PredictedDrop, Callable[[], None]]]:
        now = known if known is not None else attempt("simulate", lambda: present_report(drag.state, machine))
        before = ProgramIndex(drag.schedule.func)
        while (entry := drag.next()) is not None:
            found = attempt("prediction", lambda entry=entry: self._tried(drag, entry, machine, now, before))
            yield _refused(drag, entry, found.refusal) if isinstance(found, TilewrightError) else found
            drag.trying = None

    def _predict(self, drag: Drag) -> None:
        """Start a job that predicts the remaining drops, unless one is running."""
        if isinstance(drag.machine, TilewrightError) or self._work is not None:
            return
        now = self._store.known_report(drag.state, drag.schedule)
        pieces = self._try_all(drag, drag.machine, now)

        def deliver(piece: tuple[PredictedDrop, Callable[[], None]]) -> None:
            self._deliver(drag, *piece)

        self._work = BackgroundJob(pieces, self._event_loop, deliver, self._ended, self._scheduler).start()

    def _ended(self) -> None:
        self._work = None

    def _deliver(self, drag: Drag, value: PredictedDrop, keep: Callable[[], None]) -> None:
        keep()
        if not drag.over:
            self._send(drag, value)

    def _send(self, drag: Drag, value: PredictedDrop) -> None:
        drag.keep(value)
        self._on_prediction(value)

    def _limit_kept(self, made: Notebook, asked: list[Entry[Any]]) -> None:
        """Keep only the newest of the drops that were not made."""
        self._kept[made] = asked
        while len(self._kept) > MAX_KEPT:
            for entry in self._kept.popitem(last=False)[1]:
                self._store.forget(entry)

    def _tried(
        self, drag: Drag, entry: DropTarget, machine: Machine, now: Any, before: ProgramIndex
    ) -> tuple[PredictedDrop, Callable[[], None]]:
        """The prediction for a drop, and the callback that stores its result."""
        state = drag.state
        move = move_of(drag, entry)
        assert state.notebook is not None
        key = drag.trying = move_key(state.notebook, move)
        assert key is not None
        tried = try_move(state, move, machine)
        if not isinstance(tried, TriedMove):
            return _refused(drag, entry, tried)
        blocks = tuple(handle for row in drag.rows if isinstance(handle := drag.ids[row], str))
        value = prediction_value(now, tried.report, before, ProgramIndex(tried.schedule.func), blocks)
        others = [block for block in moved_blocks(state.notebook, tried.made) if block not in blocks]
        if others and not isinstance(move, MakeCall):
            value = replace(value, others=others)
        made = tried.made
        prediction = _prediction(drag, entry, value)

        def keep() -> None:
            predicted = _predicted(drag.rows, entry, state, machine)
            drop = _MADE_DROP(drag.rows, entry.loop, entry.primitive, state.moment, machine)
            self._store.keep(key, made)
            self._store.keep(drop, MadeDrop(tried.schedule.func, tried.report))
            self._store.foreseen(tried.schedule.described, tried.sizes, tried.sized, tried.plan, machine, tried.report)
            self._store.keep(predicted, prediction)
            simulated = PLAN(tried.sized.func), REPORT(tried.sized.func, machine)
            self._limit_kept(made, [key, predicted, drop, *simulated])

        drag.tried = TriedDrop(key, made, keep)
        return prediction, keep


def _prediction(drag: Drag, entry: DropTarget, value: Prediction | RefusedCall) -> PredictedDrop:
    return PredictedDrop(drag.rows, entry.loop, entry.primitive, value)


def _refused(drag: Drag, entry: DropTarget, why: Refusal | Notice | None) -> tuple[PredictedDrop, Callable[[], None]]:
    """The prediction for a drop that is refused when it is tried."""
    return _prediction(drag, entry, refused_value(why)), lambda: None


def move_of(drag: Drag, entry: DropTarget) -> MakeCall | MakeCalls | Drop | DropSeveral:
    """The move of a drop: the grabbed rows onto a loop, or loops in the `order` of the entry. Raises TilewrightError if it is illegal."""
    if entry.order:
        return MakeCall(call_of("reorder", tuple(handle_of(drag.ids, row) for row in entry.order)))
    loop = handle_of(drag.ids, entry.loop)
    blocks = [handle for row in drag.rows if isinstance(handle := drag.ids[row], str)]
    if len(blocks) == 1 and isinstance(loop, Var):
        return Drop(METHODS[entry.primitive], blocks[0], loop)
    return moved(drag.state, blocks, loop)


def _predicted(
    rows: Sequence[str], entry: DropTarget, state: State, machine: Machine | TilewrightError
) -> Entry[PredictedDrop]:
    return _PREDICTION(rows, entry.primitive, entry.loop, state.moment, machine)
