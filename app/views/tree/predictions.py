"""Predicted effect of a drop, from the reports of the current program and of the program after the drop."""

from __future__ import annotations

from typing import Any

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Report
from ....engine.ir import TilewrightError
from ..labels.fitness import effect_of
from ..labels.numbers import change_of, grouped, size_text
from .targets import TIMES, iterations, ratio_text

Line = dict[str, str]

Answer = Report | TilewrightError | None

MOST_TIMES = 2
"""The factor in cycles up to which a drop that brings a program nearer to fitting counts as an improvement (exclusive)."""

SAID = {"better": "better", "worse": "worse", "same": "no change", "": ""}


def prediction_value(
    now: Answer, then: Answer, before: ProgramIndex, after: ProgramIndex, blocks: tuple[str, ...]
) -> dict[str, Any]:
    """The figures of a legal drop: {costly, trend, label, lines: [{name, text, change, sign, trend, word}], why}.

    `costly` marks a legal but worse drop: more cycles, a block with more iterations, or a memory over capacity. A drop that brings a
    program nearer to fitting is better, unless its cycles at least double. `why` lists the reasons as sentences. `label` is a short text
    for the row.
    """
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
    lines = [cycles, moved, *lines, *peaks]
    if then.overflow_bytes != now.overflow_bytes > 0:
        effect, trend = effect_of(now, then)
        cycles |= {"trend": "", "sign": "", "word": "with larger memories"}
        label = [f"fits {', '.join(fits)}"] if fits else [effect]
        if trend == "better" and then.cycles < MOST_TIMES * now.cycles:
            # Without the drop, the program cannot run at all.
            return {**_value(why, [*label, *parts], lines, trend), "costly": False}
        return _value(why + [text for _, text in over], [*label, *parts], lines, "worse" if why else trend)
    if cycles["trend"] == "worse":
        why.insert(0, f"{cycles['change']} cycles")
    label = [f"{cycles['change']} cycles", *parts]
    if moved["trend"] != "same":
        label.append(f"{moved['change']} bytes")
    label += [f"over {name}" for name, _ in over]
    return _value(why + [text for _, text in over], label, lines, cycles["trend"])


def brief_value(now: Answer, then: Answer) -> dict[str, str]:
    """The effect of a call in a few characters for a menu: {cycles, trend, memory}, where `memory` is the peak of the on-chip memory that
    changes most, else of the fullest one."""
    if not isinstance(then, Report):
        return {"cycles": "not runnable", "trend": "worse", "memory": ""}
    cycles, trend = ("", "") if not isinstance(now, Report) else change_of(now.cycles, then.cycles)
    if isinstance(now, Report) and now.overflow_bytes:
        effect, trend = effect_of(now, then)
        return {"cycles": effect, "trend": trend, "memory": ""}
    limited = [(name, m) for name, m in then.memory.items() if m.capacity_bytes and name != "global" and m.peak_bytes]

    def rank(item: tuple[str, Any]) -> tuple[int, float]:
        name, memory = item
        was = now.memory[name].peak_bytes if isinstance(now, Report) and name in now.memory else 0
        return abs(memory.peak_bytes - was), memory.peak_bytes / memory.capacity_bytes

    if not limited:
        return {"cycles": cycles or grouped(then.cycles), "trend": trend, "memory": ""}
    name, memory = max(limited, key=rank)
    over = memory.peak_bytes > memory.capacity_bytes
    text = f"{name.removeprefix('local.')} {size_text(memory.peak_bytes)}"
    return {
        "cycles": "same cycles" if trend == "same" else cycles or grouped(then.cycles),
        "trend": "worse" if over else trend,
        "memory": f"{text} of {size_text(memory.capacity_bytes)}" if over else text,
    }


def _often(times: list[str]) -> list[str]:
    """A short text with the factors by which blocks would run more often."""
    if len(set(times)) < 2:
        return [f"runs {TIMES}{t}" for t in times[:1]]
    return [f"run {TIMES}{', '.join(times)}"]


def _value(why: list[str], parts: list[str], lines: list[Line], trend: str) -> dict[str, Any]:
    return {"costly": bool(why), "trend": trend, "label": " · ".join(parts), "lines": lines, "why": why}


def _recompute(before: ProgramIndex, after: ProgramIndex, blocks: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """(block, iterations now, iterations after the drop), if both are known numbers."""
    pairs = (
        (b, iterations(before, b), iterations(after, b)) for b in blocks if before.has_block(b) and after.has_block(b)
    )
    return [(name, now, then) for name, now, then in pairs if now is not None and then is not None]


def _run_line(name: str, now: int, then: int) -> Line:
    change = f"{TIMES}{ratio_text(then, now)}" if now else ""
    trend = "same" if then == now else "worse" if then > now else "better"
    return _line(name, f"{grouped(now)} → {grouped(then)}", change, trend)


def _change(name: str, now: int, then: int, text: Any) -> Line:
    change, trend = change_of(now, then)
    return _line(name, f"{text(now)} → {text(then)}", change, trend)


def _line(name: str, text: str, change: str = "", trend: str = "") -> Line:
    return {"name": name, "text": text, "change": change, "sign": trend, "trend": trend, "word": SAID[trend]}


def _peaks(now: Report, then: Report) -> tuple[list[Line], list[tuple[str, str]], list[str]]:
    """A line for each used memory; (memory, sentence) for memories that the drop pushes over capacity or further over it; the names of
    memories over capacity now that would fit."""
    lines: list[Line] = []
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
        line["text"] += f" of {size_text(limit)}"
        lines.append(line)
        if peak > limit:
            line |= {"word": "over capacity", "trend": "worse"}
            if peak > was or was <= limit:
                over.append((short, f"{name} would hold {size_text(peak)} of {size_text(limit)}"))
        elif was > limit:
            line |= {"word": "fits", "trend": "better"}
            fits.append(short)
    return lines, over, fits
