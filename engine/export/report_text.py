"""A report as text for people: a headline, then tables of engines, memories and traffic, from the report's JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..execute import Verdict
from ..hwsim import ChipReport, MachineParameter, Report

MAX_BOUNDS = 5
MAX_WAITS = 6
MAX_BLOCKS = 48
"""The longest names of the blocks of one task, in characters."""
MAX_STEP = 80
PJ_PER_UJ = 1e6

MAX_TRAFFIC_ROWS = 40
"""Traffic rows beyond this number are summed up in a last line."""


def headline(report: Report, verdict: Verdict | None = None) -> str:
    """Return one line: `149,504 cycles on dual-bank-npu (bound 131,072, 1.14 times that), overlap 88 %, tested: …`."""
    data = report.to_json()
    about = f" {report.unknown.words}" if report.unknown is not None else " with assumed data" if report.assumed else ""
    parts = [f"{data['cycles']:,} cycles{about} on {data['machine']}"]
    bound = data.get("bound")
    if isinstance(bound, int) and bound:
        parts[0] += f" (bound {bound:,}, {data['cycles'] / bound:.2f} times that)"
    parts.append(f"overlap {100 * _number(data.get('overlap')):.0f} %")
    if verdict is not None:
        parts.append(f"{verdict.status}: {verdict.detail}" if verdict.detail else verdict.status)
    return ", ".join(parts)


def report_text(report: Report, verdict: Verdict | None = None) -> str:
    """Return a report as text tables for people.

    The tables are: the headline, engines with stalls, waits with their buffers, blocks and originating steps, the critical path by cause,
    memories with peaks, traffic between scopes, energy, findings.
    """
    data = report.to_json()
    blocks = [
        headline(report, verdict),
        *_chip(report.chip, report.cycles),
        *_shared_cache(report),
        _engines(data["engines"], data["cycles"]),
        _waits(data["engines"]),
        _critical_path(report),
        _memory(data["memory"]),
        _bounds(data.get("bounds", ()), data.get("roofline")),
        _traffic(data["traffic"]),
        _conflicts(data.get("conflicts", ())),
        _bursts(data.get("bursts", ())),
        _caches(data.get("caches")),
        _energy(data.get("energy", {})),
        _findings(data.get("findings", ())),
    ]
    return "\n\n".join(block for block in blocks if block)


def _chip(chip: ChipReport | None, cycles: int) -> list[str]:
    """Return the cores with their blocks, the ports that they share, and the blocks that a core holds."""
    if chip is None:
        return []
    rows = [("blocks", "grid", "waves", "last wave", "cores x blocks")]
    for launch in chip.launches:
        grid = " x ".join(map(str, launch.extents)) or "-"
        cores = ", ".join(f"{c.count} x {c.blocks:,}" for c in launch.classes)
        rows.append((f"{launch.blocks:,}", grid, f"{launch.waves:,}", f"{launch.last_blocks:,}", cores))
    ports = [("shared by cores", "bytes", "busy", "share", "first core waits")]
    for port in chip.ports:
        waits = ", ".join(f"{engine} {count:,}" for engine, count in port.waited.items())
        share = f"{100 * port.cycles / cycles:.0f} %" if cycles else "-"
        name = f"{port.name} ({port.busiest})" if port.busiest else port.name
        longest = (
            ""
            if port.longest is None or not port.longest[0]
            else f"; {chip.level} {port.longest[0]} {port.longest[1]:,}"
        )
        ports.append((name, f"{port.bytes:,}", f"{port.cycles:,}", share, f"{waits or 'nothing'}{longest}"))
    held = [("a core holds", "by", "one more needs")]
    more = {m.limiter: m.text for m in chip.occupancy.more}
    held += [(f"{n:,}", name, more.get(name, "")) for name, n in chip.occupancy.limits.items()]
    found = table(rows, right=(0, 2, 3)), table(ports, right=(1, 2, 3)), table(held, right=(0,))
    return [*(text for text, of in zip(found, (rows, ports, held), strict=True) if len(of) > 1), _occupancy(chip)]


def _shared_cache(report: Report) -> list[str]:
    """Return the hits of the cache that all cores share, by block and buffer, and by the order of blocks."""
    cache = None if report.chip is None else report.chip.cache
    if cache is None:
        return []
    if cache.refused:
        return [f"{cache.name}: its contents are not known, all accesses count as hits: {cache.refused}"]
    rows = [(f"{cache.name}: block", "buffer", "", "bytes", "hit rate", "behind it")]
    for row in cache.rows:
        rate = "" if row.written or not row.bytes else f"{100 * (1 - row.behind_bytes / row.bytes):.1f} %"
        way = "writes" if row.written else "reads"
        rows.append((row.block, row.buffer, way, f"{row.bytes:,}", rate, f"{row.behind_bytes:,}"))
    orders = [("order of blocks", "hit rate", "bytes behind it", "cycles", "in TileLang")]
    for order in report.cache_orders:
        cycles = "" if order.cycles is None else f"{order.cycles:,}"
        orders.append((order.order, f"{100 * order.hit_rate:.1f} %", f"{order.behind_bytes:,}", cycles, order.call))
    found = [table(rows, right=(3, 4, 5)), table(orders, right=(1, 2, 3)) if len(orders) > 2 else ""]
    return [text for text in found if text]


def _occupancy(chip: ChipReport) -> str:
    """Return the blocks on a core with their threads, and what one more needs; "" for a core that runs no threads."""
    held = chip.occupancy
    if held.share is None:
        return ""
    share = f", {100 * held.share:.0f} % of its threads"
    words = f"occupancy: {held.blocks:,} blocks of {held.threads:,} threads on each {chip.level}{share}"
    return "\n".join(filter(None, (f"{words}, limited by {', '.join(held.limiters)}", held.one_more)))


def _engines(engines: Mapping[str, Any], cycles: int) -> str:
    rows = [("engine", "busy", "share", "stalled on")]
    for name, engine in engines.items():
        busy = engine["busy"]
        stalls = sorted(engine["stall"].items(), key=lambda s: -s[1])
        waited = ", ".join(f"{cause} {count:,}" for cause, count in stalls if count)
        rows.append((name, f"{busy:,}", f"{100 * busy / cycles:.0f} %" if cycles else "-", waited or "nothing"))
    return table(rows, right=(1, 2))


def _waits(engines: Mapping[str, Any]) -> str:
    """Return the longest waits: the engine, its cause, the buffer, the block that holds it, and the step that introduced it, if known."""
    waits = [(name, wait) for name, engine in engines.items() for wait in engine["waits"] if wait["cause"] != "unit"]
    waits.sort(key=lambda entry: -entry[1]["cycles"])
    rows = [("waits", "for", "of", "held by", "cycles", "introduced by")]
    rows += [
        (name, w["cause"], w["buffer"], _blocks(w["block"]), f"{w['cycles']:,}", _origin(w["origin"]))
        for name, w in waits[:MAX_WAITS]
    ]
    rest = sum(w["cycles"] for _, w in waits[MAX_WAITS:])
    if rest:
        rows.append((f"{len(waits) - MAX_WAITS} more", "", "", "", f"{rest:,}", ""))
    if not any(origin for *_, origin in rows[1:]):
        rows = [row[:-1] for row in rows]
    return table(rows, right=(4,)) if waits else ""


def _blocks(names: str) -> str:
    """Return the blocks of a task, `a + b + c`, as a cell of a table: the first ones, and how many more there are."""
    parts = names.split(" + ")
    shown = len(parts)
    while shown > 1 and len(" + ".join(parts[:shown])) > MAX_BLOCKS:
        shown -= 1
    more = [f"{len(parts) - shown} more"] if shown < len(parts) else []
    return " + ".join([*parts[:shown], *more])


def _critical_path(report: Report) -> str:
    """Return the largest parts of the critical path: where it runs, and what the next task waits for."""
    parts = report.critical_path.parts
    rows = [("critical path", "on", "next task waits for", "cycles", "share")]
    for part in parts[:MAX_WAITS]:
        awaited = f"{part.cause} {part.buffer}".strip()
        rows.append(
            (
                _blocks(part.block),
                part.engine,
                awaited,
                f"{part.cycles:,}",
                f"{100 * part.cycles / report.cycles:.0f} %",
            )
        )
    rest = sum(part.cycles for part in parts[MAX_WAITS:])
    if rest:
        share = f"{100 * rest / report.cycles:.0f} %"
        rows.append((f"{len(parts) - MAX_WAITS} more", "", "", f"{rest:,}", share))
    return table(rows, right=(3, 4)) if parts else ""


def _origin(origin: Mapping[str, Any] | None) -> str:
    if origin is None:
        return ""
    text = " ".join(origin["text"].split())
    return textwrap.shorten(f"step {origin['step']}: {text}", MAX_STEP, placeholder=" …") if text else "the program"


def _memory(memory: Mapping[str, Any]) -> str:
    rows = [("memory", "peak bytes", "used", "fragmented", "free", "capacity", "share")]
    for name, entry in memory.items():
        peak, capacity = entry["peak_bytes"], entry["capacity_bytes"]
        used, fragmented, free = (f"{entry[part]:,}" for part in ("used_bytes", "fragmented_bytes", "free_bytes"))
        rows.append((name, f"{peak:,}", used, fragmented, free, f"{capacity:,}", f"{100 * peak / capacity:.0f} %"))
    return table(rows, right=(1, 2, 3, 4, 5, 6))


def _traffic(traffic: Sequence[Mapping[str, Any]]) -> str:
    rows = [("buffer", "from", "to", "bytes", "at least")]
    rows += [
        (t["buffer"], t["source"], t["destination"], f"{t['bytes']:,}", f"{t['least_bytes']:,}")
        for t in traffic[:MAX_TRAFFIC_ROWS]
    ]
    rest = traffic[MAX_TRAFFIC_ROWS:]
    if rest:
        least = sum(t["least_bytes"] for t in rest)
        rows.append((f"{len(rest)} more", "", "", f"{sum(t['bytes'] for t in rest):,}", f"{least:,}"))
    return table(rows, right=(3, 4)) if traffic else ""


def _bounds(bounds: Sequence[Mapping[str, Any]], roofline: Mapping[str, Any] | None) -> str:
    rows = [("bound", "cycles")]
    rows += [(b["name"], f"{b['cycles']:,}") for b in bounds[:MAX_BOUNDS]]
    text = table(rows, right=(1,)) if bounds else ""
    if roofline is not None and roofline["bytes"]:
        peak = f"{roofline['peak_operations_per_cycle']:.2f}".removesuffix(".00")
        text += (
            f"\n{roofline['intensity']:.2f} operations per byte: {roofline['attained']:.2f} operations per cycle of the "
            f"{roofline['roof']:.2f} under the roof, of a peak of {peak}"
        )
    return text


def _conflicts(conflicts: Sequence[Mapping[str, Any]]) -> str:
    rows = [("bank conflicts of", "in", "ways", "accesses", "cycles lost")]
    rows += [
        (", ".join(c["buffers"]), c["block"], f"{c['degree']}", f"{c['accesses']:,}", f"{c['cycles']:,}")
        for c in conflicts[:MAX_TRAFFIC_ROWS]
    ]
    return table(rows, right=(2, 3, 4)) if conflicts else ""


def _bursts(bursts: Sequence[Mapping[str, Any]]) -> str:
    """Return the transfers whose whole bursts move more bytes than the program needs."""
    wasted = [b for b in bursts if b["moved_bytes"] > b["wanted_bytes"]]
    rows = [("bursts of", "in", "", "wanted bytes", "moved bytes")]
    rows += [
        (b["buffer"], b["block"], b["kind"], f"{b['wanted_bytes']:,}", f"{b['moved_bytes']:,}")
        for b in wasted[:MAX_TRAFFIC_ROWS]
    ]
    return table(rows, right=(3, 4)) if wasted else ""


def _caches(caches: Mapping[str, Any] | None) -> str:
    """Return each cache level's accesses and misses, summed over all blocks and buffers."""
    if caches is None:
        return ""
    levels: dict[str, list[int]] = {}
    for row in caches["rows"]:
        level = levels.setdefault(row["cache"], [0, 0, 0])
        level[0] += row["reads"] + row["writes"]
        level[1] += row["read_misses"] + row["write_misses"]
        level[2] += row["prefetches"]
    rows = [("cache", "accesses", "misses", "miss rate", "prefetched lines")]
    rows += [
        (name, f"{asked:,}", f"{missed:,}", f"{100 * missed / asked:.1f} %" if asked else "-", f"{ahead:,}")
        for name, (asked, missed, ahead) in levels.items()
    ]
    shown = rows if any(ahead for _, _, ahead in levels.values()) else [row[:4] for row in rows]
    note = f"{caches['simulated']:,} of {caches['accesses']:,} accesses simulated, the others repeat them"
    if caches["one_by_one"]:
        note = f"Every access simulated: {caches['one_by_one']}"
    elif caches["simulated"] >= caches["accesses"]:
        note = ""
    return table(shown, right=(1, 2, 3, 4)) + (f"\n{note}" if note else "")


def _energy(energy: Mapping[str, float]) -> str:
    """Return the shares of memories and engines, the largest first."""
    whole = sum(energy.values())
    if not whole:
        return ""
    parts = [(name, 100 * pj / whole) for name, pj in sorted(energy.items(), key=lambda part: -part[1])]
    shares = ", ".join(f"{name} {part:.0f} %" for name, part in parts if round(part))
    return f"energy {whole / PJ_PER_UJ:,.3g} uJ: {shares}"


def parameters_text(parameters: Sequence[MachineParameter]) -> str:
    """Return the machine parameters that limit the program, the most limiting first; those that save nothing share one line."""
    saving = [k for k in parameters if k.saved > 0]
    rows = [("with", "instead of", "cycles", "saved")]
    rows += [(f"{k.path} = {k.better:,}", f"{k.value:,}", f"{k.cycles:,}", f"{k.saved:,}") for k in saving]
    rest = [k.path for k in parameters if k.saved <= 0]
    text = table(rows, right=(1, 2, 3)) if saving else "no single parameter of the machine limits the program"
    return text + (f"\nnothing saved: {', '.join(rest)}" if rest else "")


def _findings(findings: Sequence[Any]) -> str:
    lines = [f"- {_finding(f)}" for f in findings]
    return "\n".join(["findings", *lines]) if lines else ""


def _finding(finding: Any) -> str:
    if isinstance(finding, Mapping):
        return str(cast("Mapping[str, Any]", finding).get("message", finding))
    return str(finding)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Format rows as columns two spaces apart; the columns in `right` are right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
