"""A machine file of the measured figures: the preset `cpu-core` with the clock, caches, memory and vector unit of this processor.

Sizes and ways of caches are those that the system tells; each other figure has its median, its limits and the number of samples beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from math import log
from pathlib import Path

import msgspec

from .... import static
from ...hwsim import Machine, read_machine
from ..measured import Spread
from .record import Calibration, Measured

PRESET = "cpu-core"
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
INSIDE = 0.7
"""Sets of at most this part of a cache are those whose figures are the level's; beyond it other lines share the cache."""

BEYOND = 3
"""Sets of at least as many times the last cache are in memory."""


class CacheShape(msgspec.Struct, frozen=True):
    """A level of cache as the system tells it."""

    size_bytes: int
    ways: int
    line_bytes: int


class Figure(msgspec.Struct, frozen=True):
    """A parameter of the machine file with the text of its source."""

    path: str
    value: int
    source: str


def system_caches(folder: Path = CACHES) -> tuple[CacheShape, ...]:
    """The levels of data cache of the first core, the nearest first; empty where the system tells none."""
    found: dict[int, CacheShape] = {}
    for index in sorted(folder.glob("index*")):
        told = {
            key: _read(index / key) for key in ("type", "level", "size", "ways_of_associativity", "coherency_line_size")
        }
        if told["type"] in ("Data", "Unified") and told["level"].isdecimal() and _bytes(told["size"]):
            ways, line = (int(told[key] or 0) for key in ("ways_of_associativity", "coherency_line_size"))
            found[int(told["level"])] = CacheShape(_bytes(told["size"]), max(ways, 1), line or 64)
    return tuple(found[level] for level in sorted(found))


def figures(found: Calibration, caches: Sequence[CacheShape]) -> Iterator[Figure]:
    """The parameters that follow from a calibration; those whose quantities are missing stay as in the preset."""
    hertz = found.clock_hz
    cycle = found.find("int_add_chain")
    if hertz is None or cycle is None:
        return
    yield Figure("clock_hz", round(hertz), _source(found, cycle, "dependent additions"))
    names = [f"caches.L{n + 1}" for n in range(len(caches))]
    for name, cache in zip(names, caches, strict=True):
        for key in ("size_bytes", "ways", "line_bytes"):
            yield Figure(f"{name}.{key}", getattr(cache, key), "told by the system")
    before = 0
    for name, cache in zip(names, caches, strict=True):
        if (row := _of_level(found.of("latency"), before, cache.size_bytes)) is not None:
            yield Figure(
                f"{name}.latency_cycles", _cycles(row.nanoseconds.median, hertz), _source(found, row, "dependent loads")
            )
        if (row := _of_level(found.of("read_bytes"), before, cache.size_bytes)) is not None:
            yield Figure(f"{name}.bytes_per_cycle", _rate(row, hertz), _source(found, row, "reads of vectors"))
        before = cache.size_bytes
    yield from _memory(found, before, hertz)
    fma, chain = found.find("f32_fma_many"), found.find("f32_fma_chain")
    if fma is not None:
        each = found.vector_bytes * _rate(fma, hertz)
        yield Figure("engines.simd.vector_bytes", each, _source(found, fma, f"multiply-adds of {found.vector_bytes} B"))
    if chain is not None:
        yield Figure(
            "engines.simd.latency_cycles",
            _cycles(chain.nanoseconds.median, hertz),
            _source(found, chain, "dependent multiply-adds"),
        )


def _memory(found: Calibration, last: int, hertz: float) -> Iterator[Figure]:
    for kernel, key, what in (
        ("latency", "latency_cycles", "dependent loads"),
        ("read_bytes", "read_bytes_per_cycle", "reads of vectors"),
        ("write_bytes", "write_bytes_per_cycle", "stores of vectors"),
    ):
        rows = [row for row in found.of(kernel) if row.size_bytes >= BEYOND * last]
        if rows:
            row = rows[-1]
            value = _cycles(row.nanoseconds.median, hertz) if kernel == "latency" else _rate(row, hertz)
            yield Figure(f"memories.dram.{key}", value, _source(found, row, what))


def _of_level(rows: Sequence[Measured], before: int, size: int) -> Measured | None:
    """The set that is in the level and not in the one before it, nearest to the middle of both capacities: other work shares the caches."""
    inside = [row for row in rows if before < row.size_bytes <= INSIDE * size]
    middle = log(max(before, size // 4) * size) / 2
    return min(inside, key=lambda row: abs(log(row.size_bytes) - middle), default=None)


def _cycles(nanoseconds: float, hertz: float) -> int:
    return max(1, round(nanoseconds * hertz / 1e9))


def _rate(row: Measured, hertz: float) -> int:
    """Operations or bytes of a cycle."""
    return max(1, round(1e9 / row.nanoseconds.median / hertz))


def _source(found: Calibration, row: Measured, what: str) -> str:
    size = f" over {row.size_bytes} B" if row.size_bytes > 4096 else ""
    noisy = ", noisy" if row.is_noisy else ""
    return f"measured: {what}{size}, {_text(row.nanoseconds)} ns each, {row.samples} samples{noisy} ({found.processor}, {found.date})"


def _text(spread: Spread) -> str:
    return f"{spread.median:.3g} ({spread.low:.3g} to {spread.high:.3g})"


def machine_text(found: Calibration, name: str, caches: Sequence[CacheShape] | None = None) -> str:
    """The machine file: the text of the preset with the measured figures in place of its own."""
    text = (resources.files(static) / "machines" / f"{PRESET}.toml").read_text("utf-8")
    body = text[text.index("name = ") :]
    body = re.sub(r"^name = .*$", f'name = "{name}"', body, count=1, flags=re.MULTILINE)
    body = re.sub(
        r"^description = .*$",
        f'description = "{found.processor}, one core, calibrated {found.date}"',
        body,
        count=1,
        flags=re.MULTILINE,
    )
    for figure in figures(found, system_caches() if caches is None else caches):
        body = _set(body, figure)
    return (
        f"# One core of {found.processor}: figures by `tilewright calibrate`, others of the preset {PRESET}.\n\n{body}"
    )


def _set(text: str, figure: Figure) -> str:
    """The text with a figure and its source in place of those of the preset; a part that the preset lacks is left out."""
    owner, _, key = figure.path.rpartition(".")
    start = text.find(f"[{owner}]") if owner else 0
    if start < 0:
        return text
    end = text.find("\n[", start + 1)
    end = len(text) if end < 0 else end
    part = text[start:end]
    lines = f'{key} = {figure.value}\nsource.{key} = "{figure.source}"'
    pattern = rf"^{key} = .*(\nsource\.{key} = .*)?$"
    part, count = re.subn(pattern, lambda _: lines, part, count=1, flags=re.MULTILINE)
    return text[:start] + (part if count else f"{part.rstrip()}\n{lines}\n") + text[end:]


def calibrated_machine(found: Calibration, name: str, caches: Sequence[CacheShape] | None = None) -> Machine:
    """The machine of `machine_text`."""
    return read_machine(machine_text(found, name, caches), f"{name}.toml")


def _read(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def _bytes(text: str) -> int:
    number = text.rstrip("KMG")
    return (
        int(number) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[len(number) :], 1)
        if number.isdecimal()
        else 0
    )


__all__ = ["CacheShape", "Figure", "calibrated_machine", "figures", "machine_text", "system_caches"]
