"""The value of the Next pane: what limits the program, and ranked suggestions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from ....engine.hwsim import DecisiveCause, Machine, Report, load_machine, preset_names
from ....engine.hwsim.machine.parts import KINDS
from ....engine.ir import TilewrightError
from ....engine.suggest import Suggestion
from ...document import DATA, SIZES, fields_of
from ...state.derived import Store
from ...state.entries import Derived
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.blank import blank_value
from ..labels.fitness import cycles_text
from ..labels.holes import tiles_text
from ..labels.numbers import change_of, grouped, percent_text, size_text
from ..labels.settings import SettingField
from ..labels.values import Value
from ..problems.lints import lints_now
from ..problems.value import ProposedFix, fix_value
from .suggestions import CAUSES, bound_now, ranked_now, suggested_now

MOST_CAUSES = 2
"""Maximum number of causes that are named."""

NEARLY_ALL = 0.99
"""An engine without which this part of the cycles is saved is the only one with work."""

MOST_OF_ALL = 50
"""A cause is named if it decides at least one in this many of the cycles."""

MOST_SHOWN = 24
"""Suggestions beyond the best ones are not sent."""


_TILES = Derived[str]("tiles")


class ProgramLimit(Value, frozen=True):
    """The cycles of the program, and what bounds them."""

    text: str
    detail: str


class HeaviestBlock(Value, frozen=True):
    """The block with the most busy cycles."""

    row: str
    name: str
    text: str


class DrawnMemory(Value, frozen=True):
    """A memory in a machine's drawing."""

    name: str
    size: str


class DrawnEngine(Value, frozen=True):
    """An engine in a machine's drawing."""

    name: str
    kind: str


class MachineChoice(Value, frozen=True):
    """A preset with its memories from the farthest to the nearest, and its engines."""

    name: str
    description: str
    memories: list[DrawnMemory]
    engines: list[DrawnEngine]
    chosen: bool = False


class SuggestedStep(Value, frozen=True):
    """A suggestion of a rule; `decisions` say what its calls do."""

    rule: str
    title: str
    decisions: list[str]
    fix: ProposedFix


class NextSteps(Value, frozen=True, kw_only=True):
    """What limits the program, and suggestions, the best first. `looking`: suggestions are still being tried;
    `bound` is the distance from the lower bound of the program, `machines` are to choose from while the schedule has
    no steps, `tiles` are those that a derivation can keep. A program without sizes or data has the `setting` that it
    needs, with its `fields`."""

    looking: bool = False
    limit: ProgramLimit | None = None
    bound: str = ""
    heaviest: HeaviestBlock | None = None
    machines: Sequence[MachineChoice] = ()
    tiles: str = ""
    suggestions: Sequence[SuggestedStep] = ()
    setting: str = ""
    fields: Sequence[SettingField] = ()


def next_value(state: State, store: Store) -> NextSteps:
    """The pane's value."""
    if state.notebook is None or state.moment is None:
        return NextSteps()
    report = store.known_report(state)
    suggested, linted = suggested_now(state, store), lints_now(state, store)
    is_done = isinstance(report, TilewrightError) or state.looks_back
    is_done = is_done or bool(suggested and suggested.is_complete and linted and linted.is_complete)
    blank = blank_value(state, store, "")
    return NextSteps(
        setting="" if blank is None else blank.setting,
        fields=() if blank is None else blank.fields,
        looking=not is_done,
        limit=_limit(report, store),
        bound=bound_text(report, bound_now(state, store)),
        heaviest=_heaviest(state, report),
        machines=_machines(state, store) if len(state.notebook.steps) == 0 else [],
        tiles=store.remember(_TILES(state.shown), lambda: tiles_text(state)),
        suggestions=[_suggestion(state, one) for one in ranked_now(state, store)[:MOST_SHOWN]],
    )


def _suggestion(state: State, one: Suggestion) -> SuggestedStep:
    before, now = one.fix.copied_before, one.fix.copied
    moved = f"{size_text(before)} → {size_text(now)} copied" if before != now else ""
    fix = fix_value(state, one.fix)
    detail = ", ".join(text for text in (fix.detail, moved) if text)
    return SuggestedStep(one.rule, one.title, list(one.decisions), replace(fix, detail=detail))


def _limit(report: Report | TilewrightError | None, store: Store) -> ProgramLimit | None:
    """The cycles of the program, and what decides them as far as replays without it prove."""
    if report is None:
        return None
    if isinstance(report, TilewrightError):
        if fields_of((*report.refusal.fix, "")[0], (SIZES, DATA))[0]:
            return ProgramLimit("The program needs values", report.refusal.message)
        return ProgramLimit("The machine cannot run the program", report.refusal.message)
    causes = None if report.overflow_bytes else store.known(CAUSES(report))
    return ProgramLimit(cycles_text(report), "" if causes is None else causes_text(report, causes))


def causes_text(report: Report, causes: Sequence[DecisiveCause]) -> str:
    """The causes whose removal saves the most cycles, with what it saves."""
    found = [cause for cause in causes if cause.saved * MOST_OF_ALL >= report.cycles][:MOST_CAUSES]
    if not found:
        return "without the work of any one engine they stay the same: several engines take turns"
    if found[0].kind == "engine" and found[0].saved >= NEARLY_ALL * report.cycles:
        return f"nearly all of them are the work of {found[0].name}"
    texts = [
        f"{grouped(cause.saved)} cycles less ({change_of(report.cycles, report.cycles - cause.saved)[0]}) {_without(cause)}"
        for cause in found
    ]
    return ", ".join(texts)


def _without(cause: DecisiveCause) -> str:
    if cause.kind == "ports":
        return "with a port for each engine"
    if cause.kind == "slots":
        return f"with free slots of {cause.name}"
    return f"without the work of {cause.name}"


def bound_text(report: Report | TilewrightError | None, bound: int | None) -> str:
    """The lower bound of every schedule of the program, and how far the displayed one is from it; "" if unknown."""
    if not bound:
        return ""
    text = f"Program bound: any schedule needs at least {grouped(bound)} cycles"
    if isinstance(report, TilewrightError):
        return ""
    if report is None or report.overflow_bytes:
        return text
    ratio = report.cycles / bound
    return f"{text}; this one {grouped(round(ratio)) if ratio >= 100 else f'{ratio:.2f}'} times as many"


def _heaviest(state: State, report: Report | TilewrightError | None) -> HeaviestBlock | None:
    """The block with the most busy cycles."""
    if not isinstance(report, Report) or state.moment is None:
        return None
    spent = Counter(report.cycles_by_block)
    engines = {name: task.engine for task in report.tasks for name in task.blocks}
    ids = row_ids(state.moment.schedule.func)
    name, cycles = next(((n, c) for n, c in spent.most_common() if ids.has(n)), ("", 0))
    if not cycles:
        return None
    text = (
        f"{grouped(cycles)} cycles of {engines[name]}, {percent_text(cycles / max(1, sum(spent.values())))} of all work"
    )
    return HeaviestBlock(ids.of(name), name, text)


def _machines(state: State, store: Store) -> list[MachineChoice]:
    """The presets, each with its memories and engines for a small drawing."""
    chosen = store.machine(state)
    name = chosen.name if isinstance(chosen, Machine) else ""
    presets = store.once(_preset_drawings)
    return [replace(drawing, chosen=drawing.name == name) for drawing in presets]


def _preset_drawings() -> list[MachineChoice]:
    return [_drawing(load_machine(name)) for name in preset_names()]


def _drawing(machine: Machine) -> MachineChoice:
    far = machine.far
    near = [m for m in machine.memories if m is not far]
    return MachineChoice(
        machine.name,
        machine.description,
        [DrawnMemory(m.name, size_text(m.capacity_bytes)) for m in (far, *near)],
        [DrawnEngine(e.name, KINDS[type(e)]) for e in machine.engines],
    )
