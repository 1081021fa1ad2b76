"""The review of an export for TVM: what that version leaves out, what this costs in cycles, and pipelines that keep the slots."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ....engine.export import COSTLY, Loss, LossKind, tvm_losses
from ....engine.hwsim import Machine, Report
from ....engine.ir import TilewrightError
from ...document import State as Moment
from ...document import is_applicable
from ...state.derived import Store, attempt, sizes_of
from ...state.entries import Derived, Entry
from ...state.model import State
from ..labels.fitness import cycles_text, effect_of
from ..labels.numbers import size_text
from ..labels.values import Change, Value
from .export_kinds import EXPORT_KINDS, TVM_VERSIONS

TITLES: Mapping[LossKind, str] = {
    "slots": "Slots",
    "banks": "Banks",
    "separators": "Axis separators",
    "calls": "Calls",
    "names": "Loop names",
}

MAX_ITEMS = 8
"""The number of names in one line."""

Outcome = Report | TilewrightError


class KeptSlots(msgspec.Struct, frozen=True, eq=False):
    """Calls that keep the slots in TVM, and the report of what TVM then runs."""

    calls: tuple[str, ...]
    report: Outcome


class ReviewedExport(msgspec.Struct, frozen=True, eq=False):
    """Reports of the program without the features of each kind of loss, and without all of them; `kept` if pipelines keep slots."""

    without: Mapping[LossKind, Outcome] = {}
    there: Outcome | None = None
    kept: KeptSlots | None = None
    is_complete: bool = False


class ExportLoss(Value, frozen=True):
    """What an export leaves out, and its effect; None while it is simulated."""

    title: str
    items: list[str]
    message: str
    effect: Change | None


class ExportTotal(Value, frozen=True):
    """The cycles of what TVM runs, and the effect of all losses."""

    text: str
    effect: Change | None


class KeepSlots(Value, frozen=True):
    """Calls that keep the slots, and their effect on what TVM runs."""

    calls: tuple[str, ...]
    text: str
    effect: Change
    applicable: bool


class ExportReview(Value, frozen=True, kw_only=True):
    """The open review of an export of the kind `to`; `not_kept` is the reason why nothing keeps the slots."""

    to: str
    label: str
    losses: list[ExportLoss]
    total: ExportTotal | None
    keep: KeepSlots | None
    not_kept: str
    working: bool


_REVIEW = Derived[ReviewedExport]("export review")
_LOSSES = Derived["tuple[Loss, ...] | TilewrightError"]("losses of an export")


def losses_of(moment: Moment, key: str, store: Store) -> tuple[Loss, ...]:
    """The losses of an export of the visible program; () for kinds that are not for TVM."""
    version = TVM_VERSIONS.get(key)
    if version is None:
        return ()
    found = store.remember(
        _LOSSES(version, moment.schedule.trace, moment.names),
        lambda: attempt("export", lambda: tvm_losses(moment.schedule, version, moment.names)),
    )
    return () if isinstance(found, TilewrightError) else found


def needs_review(state: State, key: str, store: Store) -> bool:
    """Whether the export leaves out what changes the cycles of the program."""
    return state.moment is not None and any(loss.kind in COSTLY for loss in losses_of(state.moment, key, store))


def export_review_value(state: State, store: Store) -> ExportReview | None:
    """The open review; None if none is open."""
    key, moment = state.export_review, state.moment
    if not key or moment is None:
        return None
    losses = losses_of(moment, key, store)
    reviewed = reviewed_now(state, store) or ReviewedExport()
    now = store.known_report(state)
    there = reviewed.there
    return ExportReview(
        to=key,
        label=next(kind.label for kind in EXPORT_KINDS if kind.key == key),
        losses=[_loss(loss, now, reviewed) for loss in losses],
        total=ExportTotal(cycles_text(there), _effect(now, there)) if isinstance(there, Report) else None,
        keep=_keep(state, moment, reviewed),
        not_kept=_not_kept(reviewed, losses, there),
        working=bool(costly_losses(state, store))
        and isinstance(store.machine(state), Machine)
        and not reviewed.is_complete,
    )


def review_entry(state: State, store: Store) -> Entry[ReviewedExport] | None:
    """The entry of the open review; None if none is open."""
    if not state.export_review or state.moment is None:
        return None
    func = state.moment.schedule.func
    return _REVIEW(state.export_review, sizes_of(state, func), func, store.machine(state))


def costly_losses(state: State, store: Store) -> tuple[LossKind, ...]:
    """The losses of the reviewed export that change the cycles of the program."""
    lost = (
        set() if state.moment is None else {loss.kind for loss in losses_of(state.moment, state.export_review, store)}
    )
    return tuple(kind for kind in COSTLY if kind in lost)


def reviewed_now(state: State, store: Store) -> ReviewedExport | None:
    """The results of the open review so far; None without any."""
    return store.known(review_entry(state, store))


def _loss(loss: Loss, now: Outcome | None, reviewed: ReviewedExport) -> ExportLoss:
    items = [*loss.items[:MAX_ITEMS]]
    if len(loss.items) > MAX_ITEMS:
        items.append(f"{len(loss.items) - MAX_ITEMS} more")
    return ExportLoss(TITLES[loss.kind], items, loss.message, _effect(now, reviewed.without.get(loss.kind)))


def _effect(before: Outcome | None, after: Outcome | None) -> Change | None:
    if not isinstance(before, Report) or not isinstance(after, Report):
        return None
    return Change(*effect_of(before, after))


def _keep(state: State, moment: Moment, reviewed: ReviewedExport) -> KeepSlots | None:
    kept, there = reviewed.kept, reviewed.there
    if kept is None or not isinstance(kept.report, Report) or not isinstance(there, Report):
        return None
    effect = _effect(there, kept.report)
    if effect is None or effect.trend != "better":
        return None
    applicable = not state.looks_back and is_applicable(moment, kept.calls)
    return KeepSlots(kept.calls, cycles_text(kept.report), effect, applicable)


def _not_kept(reviewed: ReviewedExport, losses: tuple[Loss, ...], there: Outcome | None) -> str:
    """Why no software pipeline keeps the slots that TVM drops; "" if one does, none are lost, or it is not known yet."""
    if not reviewed.is_complete or all(loss.kind != "slots" for loss in losses):
        return ""
    report = reviewed.kept.report if reviewed.kept is not None else None
    if reviewed.kept is None:
        return "No software pipeline keeps the slots: no loop fills and uses them in turn, or the pipeline would change the result"
    if not isinstance(report, Report) or not isinstance(there, Report):
        return "The machine cannot run the program with software pipelines that keep the slots"
    if report.overflow_bytes and not there.overflow_bytes:
        return f"Software pipelines that keep the slots exceed a memory by {size_text(report.overflow_bytes)}"
    if effect_of(there, report)[1] != "better":
        return f"Software pipelines that keep the slots save nothing: {cycles_text(report)}"
    return ""
