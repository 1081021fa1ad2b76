"""Predicted effect of a drop, from the reports of the current program and of the program after the drop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ...actions.drops import FindRepair
from ..labels.fitness import effect_of
from ..labels.numbers import change_of, grouped, size_text
from ..labels.values import Answer, Trend, Value
from .iteration_counts import TIMES, iterations, ratio_text


class PredictedFigure(Value, frozen=True):
    """A figure before and after a call; `sign` is the trend of its number, `trend` and `word` are the judgement."""

    name: str
    text: str
    change: str
    sign: Trend
    trend: Trend
    word: str


class Brief(Value, frozen=True):
    """The effect of a call in a few characters for a menu; `memory` is the peak of the on-chip memory that changes
    most, else of the fullest one."""

    cycles: str
    trend: Trend
    memory: str


class Prediction(Value, frozen=True, omit_defaults=True):
    """The predicted effect of a legal call. `costly`: it is worse, with more cycles, a block with more iterations,
    or a memory over capacity; `why` lists the reasons as sentences. `label` is a short text for the row, `others`
    are the blocks that move too."""

    costly: bool
    trend: Trend
    label: str
    lines: list[PredictedFigure]
    why: list[str]
    others: Sequence[str] = ()


class CallEffect(Prediction, frozen=True, kw_only=True, omit_defaults=True):
    """The predicted effect of a call of a menu or form."""

    brief: Brief


class RefusedCall(Value, frozen=True, omit_defaults=True):
    """The prediction for a call that is refused when it is tried."""

    refused: str
    code: str = ""


class PredictedDrop(Answer, frozen=True, tag="predicted"):
    """The prediction for a drop of `rows` on `loop`."""

    rows: tuple[str, ...]
    loop: str
    primitive: str
    value: Prediction | RefusedCall


class PredictedCall(Answer, frozen=True, tag="tried"):
    """The prediction for the call at `index` of the request `ticket`."""

    ticket: int
    index: int
    value: CallEffect | RefusedCall


class DropRepair(Answer, frozen=True, tag="repair"):
    """What makes a drop legal: `calls` as texts, with the drop of a single block last, or the `blocks` that have to
    move too; a single call has the effect of the drop. Both are empty if no repair is known."""

    request: FindRepair
    calls: list[str]
    blocks: list[str]


Simulated = Report | TilewrightError | None

MOST_TIMES = 2
"""The factor in cycles up to which a drop that brings a program nearer to fitting counts as an improvement (exclusive)."""

SAID: dict[Trend, str] = {"better": "better", "worse": "worse", "same": "no change", "": ""}


def prediction_value(
    now: Simulated, then: Simulated, before: ProgramIndex, after: ProgramIndex, blocks: tuple[str, ...]
) -> Prediction:
    """The effect of a legal call. One that brings a program nearer to fitting is better, unless its cycles at least double."""
    runs = _recompute(before, after, blocks)
    why = [f"{name} runs {ratio_text(b, a)}{TIMES} as often" for name, a, b in runs if b > a]
    parts = _often([ratio_text(b, a) for _, a, b in runs if b > a])
    lines = [_run_line("Recompute" if len(runs) == 1 else f"Recompute of {name}", a, b) for name, a, b in runs]
    if isinstance(then, TilewrightError):
        refusal = then.refusal
        text = f"the machine cannot run it: {refusal.message}"
        return _value([text, *why], ["not runnable", *parts], lines, "worse")
    if then is None or now is None or isinstance(now, TilewrightError):
        if isinstance(then, Report):
            lines.insert(0, _line("Cycles", grouped(then.cycles)))
        return _value(why, parts, lines, "worse" if why else "")
    cycles = _change("Cycles", now.cycles, then.cycles, grouped)
    moved = _change("Bytes moved", now.copied_bytes, then.copied_bytes, size_text)
    peaks, over, fits = _peaks(now, then)
    if then.overflow_bytes != now.overflow_bytes > 0:
        effect, trend = effect_of(now, then)
        cycles = replace(cycles, trend="", sign="", word="with larger memories")
        lines = [cycles, moved, *lines, *peaks]
        label = [f"fits {', '.join(fits)}"] if fits else [effect]
        if trend == "better" and then.cycles < MOST_TIMES * now.cycles:
            # Without the drop, the program cannot run at all.
            return replace(_value(why, [*label, *parts], lines, trend), costly=False)
        return _value(why + [text for _, text in over], [*label, *parts], lines, "worse" if why else trend)
    lines = [cycles, moved, *lines, *peaks]
    if cycles.trend == "worse":
        why.insert(0, f"{cycles.change} cycles")
    label = [f"{cycles.change} cycles", *parts]
    if moved.trend != "same":
        label.append(f"{moved.change} bytes")
    label += [f"over {name}" for name, _ in over]
    return _value(why + [text for _, text in over], label, lines, cycles.trend)


def brief_value(now: Simulated, then: Simulated) -> Brief:
    """The effect of a call in a few characters."""
    if not isinstance(then, Report):
        return Brief("not runnable", "worse", "")
    cycles, trend = ("", "") if not isinstance(now, Report) else change_of(now.cycles, then.cycles)
    if isinstance(now, Report) and now.overflow_bytes:
        effect, trend = effect_of(now, then)
        return Brief(effect, trend, "")
    limited = [(name, m) for name, m in then.memory.items() if m.capacity_bytes and name != "global" and m.peak_bytes]

    def rank(item: tuple[str, Any]) -> tuple[int, float]:
        name, memory = item
        was = now.memory[name].peak_bytes if isinstance(now, Report) and name in now.memory else 0
        return abs(memory.peak_bytes - was), memory.peak_bytes / memory.capacity_bytes

    if not limited:
        return Brief(cycles or grouped(then.cycles), trend, "")
    name, memory = max(limited, key=rank)
    over = memory.peak_bytes > memory.capacity_bytes
    text = f"{name.removeprefix('local.')} {size_text(memory.peak_bytes)}"
    return Brief(
        "same cycles" if trend == "same" else cycles or grouped(then.cycles),
        "worse" if over else trend,
        f"{text} of {size_text(memory.capacity_bytes)}" if over else text,
    )


def _often(times: list[str]) -> list[str]:
    """A short text with the factors by which blocks would run more often."""
    if len(set(times)) < 2:
        return [f"runs {TIMES}{t}" for t in times[:1]]
    return [f"run {TIMES}{', '.join(times)}"]


def _value(why: list[str], parts: list[str], lines: list[PredictedFigure], trend: Trend) -> Prediction:
    return Prediction(bool(why), trend, " · ".join(parts), lines, why)


def _recompute(before: ProgramIndex, after: ProgramIndex, blocks: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """(block, iterations now, iterations after the drop), if both are known numbers."""
    pairs = (
        (b, iterations(before, b), iterations(after, b)) for b in blocks if before.has_block(b) and after.has_block(b)
    )
    return [(name, now, then) for name, now, then in pairs if now is not None and then is not None]


def _run_line(name: str, now: int, then: int) -> PredictedFigure:
    change = f"{TIMES}{ratio_text(then, now)}" if now else ""
    trend = "same" if then == now else "worse" if then > now else "better"
    return _line(name, f"{grouped(now)} → {grouped(then)}", change, trend)


def _change(name: str, now: int, then: int, text: Any) -> PredictedFigure:
    change, trend = change_of(now, then)
    return _line(name, f"{text(now)} → {text(then)}", change, trend)


def _line(name: str, text: str, change: str = "", trend: Trend = "") -> PredictedFigure:
    return PredictedFigure(name, text, change, trend, trend, SAID[trend])


def _peaks(now: Report, then: Report) -> tuple[list[PredictedFigure], list[tuple[str, str]], list[str]]:
    """A line for each used memory; (memory, sentence) for memories that the drop pushes over capacity or further over it; the names of
    memories over capacity now that would fit."""
    lines: list[PredictedFigure] = []
    over: list[tuple[str, str]] = []
    fits: list[str] = []
    for name, memory in then.memory.items():
        was, limit, peak = (
            now.memory[name].peak_bytes if name in now.memory else 0,
            memory.capacity_bytes,
            memory.peak_bytes,
        )
        short = name.removeprefix("local.")
        if not limit or name == "global" or not (was or peak):
            continue
        line = _change(f"Peak {short}", was, peak, size_text)
        line = replace(line, text=f"{line.text} of {size_text(limit)}")
        if peak > limit:
            line = replace(line, word="over capacity", trend="worse")
            if peak > was or was <= limit:
                over.append((short, f"{name} would hold {size_text(peak)} of {size_text(limit)}"))
        elif was > limit:
            line = replace(line, word="fits", trend="better")
            fits.append(short)
        lines.append(line)
    return lines, over, fits
