"""The top bar's value: the notebook's title, the machine, the verdict on correctness, and the cost figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from ....engine.hwsim import Report, preset_names
from ....engine.ir import TilewrightError
from ...document import DEFAULT_MACHINE
from ...document.editing.machine_parameters import overridden_paths
from ...document.workload import is_kernel
from ...state.baselines import ORIGINAL, baselines
from ...state.derived import CHECK_STOPPED, Store, attempt
from ...state.model import State, Theme
from ..labels.fitness import DOES_NOT_FIT, cycle_count, cycles_text, effect_of
from ..labels.numbers import grouped, percent_text, size_text, use_text
from ..labels.values import Trend, Value
from ..notebook.file_status import FileLabel, file_value
from .export_kinds import EXPORT_KINDS
from .export_review import ExportReview, export_review_value


class ExportEntry(Value, frozen=True):
    """An entry of the export menu."""

    key: str
    label: str
    help: str
    group: str


class FigureChange(Value, frozen=True):
    """The change of a figure against a baseline."""

    text: str
    trend: Trend
    against: str
    hint: str


class HeadFigure(Value, frozen=True):
    """A figure of the top bar; the level "bad" is over capacity."""

    label: str
    value: str
    hint: str
    level: Literal["", "bad", "none"]
    changes: Sequence[FigureChange] = ()


class VerdictLine(Value, frozen=True):
    """The verdict on correctness with a sentence; `stopped`: the user stopped the check."""

    status: Literal["checking", "tested", "proved", "failed", "unknown"]
    detail: str
    stopped: bool = False


class Headline(Value, frozen=True, kw_only=True):
    """The top bar. `changed_figures` counts the machine parameters that the notebook changes; `saves`: Save does
    something; `leaving`: leaving the page loses edits."""

    title: str
    model: str
    machine: str
    machines: Sequence[str]
    verdict: VerdictLine
    figures: list[HeadFigure]
    can_undo: bool
    can_redo: bool
    changed_figures: int
    comparing: bool
    theme: Theme
    unsaved: bool
    saves: bool
    leaving: bool
    exports: list[ExportEntry]
    review: ExportReview | None
    file: FileLabel


MENU = [ExportEntry(k.key, k.label, k.help, k.group) for k in EXPORT_KINDS]
PROGRAM_MENU = [entry for entry in MENU if entry.key != "tilelang"]
"""The formats of a program that is no TileLang kernel."""


def headline_value(state: State, store: Store) -> Headline:
    """The top bar's value."""
    machine = store.machine(state)
    name = DEFAULT_MACHINE if isinstance(machine, TilewrightError) else machine.name
    presets = preset_names()
    return Headline(
        title=state.title,
        model="" if state.model is None else state.model.title,
        machine=name,
        machines=presets if name in presets else (*presets, name),
        verdict=verdict_value(state, store),
        figures=figures(state, store),
        can_undo=bool(state.past),
        can_redo=bool(state.future),
        changed_figures=len(_overridden(state, store)),
        comparing=state.comparison is not None,
        theme=state.theme,
        unsaved=state.unsaved,
        saves=state.unsaved or state.is_draft,
        leaving=state.loses_work,
        exports=MENU if state.shown is not None and is_kernel(state.shown.document) else PROGRAM_MENU,
        review=export_review_value(state, store),
        file=file_value(state),
    )


def _overridden(state: State, store: Store) -> tuple[str, ...]:
    """The paths of the machine parameters that the notebook changes."""
    machine = store.machine(state)
    if state.notebook is None or isinstance(machine, TilewrightError):
        return ()
    found = attempt("figures", lambda: overridden_paths(state.notebook.document, machine) if state.notebook else ())
    return () if isinstance(found, TilewrightError) else found


def verdict_value(state: State, store: Store) -> VerdictLine:
    """The verdict on the displayed program."""
    if state.moment is None:
        return VerdictLine("unknown", "The notebook has no program")
    verdict = store.verdict(state, state.moment.schedule)
    if verdict is None:
        return VerdictLine("checking", "Running the scheduled and the original program on the same random inputs")
    return VerdictLine(verdict.status, verdict.detail, stopped=verdict.detail == CHECK_STOPPED)


def figures(state: State, store: Store) -> list[HeadFigure]:
    """Cycles with the changes against the baselines, bound, overlap, peak of each memory; a single figure with the reason if there is no
    report."""
    report = store.known_report(state)
    if report is None:
        return [] if state.moment is None else [_figure("Cycles", "…", hint="Simulation in progress", level="none")]
    if isinstance(report, TilewrightError):
        return [_figure("Cycles", "–", hint=report.refusal.message, level="none")]
    found = [_cycles(state, store, report)]
    data = store.once(Report.to_json, report)
    bound = data.get("bound")
    if isinstance(bound, int) and bound:
        hint = (
            "The busy cycles of the busiest engine or memory port: with these tasks the program cannot be faster. "
            f"It takes {report.cycles / bound:.2f} × as many cycles. "
            "Other schedules have other tasks: the Next pane shows the program bound"
        )
        found.append(_figure("Schedule bound", grouped(bound), hint=hint))
    found.append(
        _figure(
            "Overlap",
            percent_text(data["overlap"]),
            hint="Share of the DMA's busy cycles during which a compute engine is busy",
        )
    )
    return found + peak_figures(data["memory"])


def _cycles(state: State, store: Store, report: Report) -> HeadFigure:
    known = [(b.against, store.known_report(b.state)) for b in baselines(state)]
    figure = _figure("Cycles", grouped(report.cycles), hint="Simulated")
    if report.assumed:
        figure = _figure("Cycles", grouped(report.cycles), hint="; ".join(["Simulated", *report.assumed]))
    if report.unknown is not None:
        figure = _figure("Cycles", cycle_count(report), hint=report.unknown.reason, level="bad")
    if report.overflow_bytes:
        full = ", ".join(row for row, m in report.memory.items() if m.overflow_bytes)
        hint = f"{full}: capacity exceeded. With larger memories the program would take {grouped(report.cycles)} cycles"
        figure = _figure("Cycles", DOES_NOT_FIT, hint=hint, level="bad")
    if known and isinstance(known[0][1], TilewrightError):
        hint = f"The machine cannot run the program of {known[0][0]}"
        return replace(figure, hint="; ".join([hint, *report.assumed]))
    changes = [_change(before, report, against) for against, before in known if isinstance(before, Report)]
    return replace(figure, changes=changes)


def _change(before: Report, now: Report, against: str) -> FigureChange:
    text, trend = effect_of(before, now)
    if against == ORIGINAL and now.overflow_bytes and not before.overflow_bytes:
        text = f"{ORIGINAL} fits"  # "no longer fits" would be about the last edit
    return FigureChange(text, trend, against, f"Compared with {against}: {cycles_text(before)}")


def peak_figures(memory: Mapping[str, Mapping[str, Any]]) -> list[HeadFigure]:
    """One figure for each used memory with a capacity; banks of one memory share a figure. Global memory is left out."""
    groups: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for name, entry in memory.items():
        if name == "global" or not entry["capacity_bytes"]:
            continue
        bank = re.fullmatch(r"(.+)\[(\d+)\]", name)
        groups.setdefault(bank[1] if bank else name, []).append((name, entry))
    return [_peak(scope, rows) for scope, rows in groups.items() if any(entry["peak_bytes"] for _, entry in rows)]


def _peak(scope: str, rows: list[tuple[str, Mapping[str, Any]]]) -> HeadFigure:
    capacity = max(entry["capacity_bytes"] for _, entry in rows)
    unit, scale = ("KiB", 1024) if capacity >= 1024 else ("B", 1)
    each = [_scaled(entry["peak_bytes"], scale) for _, entry in rows]
    over = any(entry["peak_bytes"] > entry["capacity_bytes"] for _, entry in rows)
    head = "The end of the highest address, as a compiler allocates"
    hint = "\n".join([head, *(_use_text(*row) for row in rows), *(["Capacity exceeded"] if over else [])])
    label = f"Peak {scope.removeprefix('local.')}"
    count = f"{len(rows)} × " if len(rows) > 1 else ""
    peaks, limit = (f"{count}{each[0]}", "") if len(set(each)) == 1 else (" + ".join(each), count)
    value = f"{peaks} of {limit}{_scaled(capacity, scale)} {unit}"
    return _figure(label, value, hint=hint, level="bad" if over else "")


def _use_text(name: str, entry: Mapping[str, Any]) -> str:
    """The static use of a memory."""
    size = f"{size_text(entry['peak_bytes'])} of {size_text(entry['capacity_bytes'])}"
    return f"{name}: {size} ({use_text(*(entry[f'{part}_bytes'] for part in ('used', 'fragmented', 'free')))})"


def _scaled(size_bytes: int, scale: int) -> str:
    return str(size_bytes // scale) if size_bytes % scale == 0 else f"{size_bytes / scale:.1f}"


def _figure(label: str, value: str, *, hint: str = "", level: Literal["", "bad", "none"] = "") -> HeadFigure:
    return HeadFigure(label, value, hint, level)
