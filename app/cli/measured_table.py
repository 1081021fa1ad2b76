"""Measured times beside predicted ones, as text and as JSON."""

from __future__ import annotations

import msgspec

from ...engine.export.report_text import table
from ...engine.measure import Compared, time_text


def measured_text(compared: Compared) -> str:
    """The host, a table of the programs, and how well the two orders agree."""
    measured = compared.measured
    host = measured.host
    rows = compared.rows
    with_ports = bool(compared.ports)
    heads = ["", f"{compared.machine} predicts", *(["ports predict"] if with_ports else [])]
    lines = [
        [
            *heads,
            "measured",
            "middle 80 %",
            "first run",
            "ports / measured" if with_ports else "predicted / measured",
            "",
        ]
    ]
    for row in rows:
        warm, cold = row.times.warm, row.times.cold
        ratio = row.predicted_to_measured
        if with_ports:
            ratio = None if row.ports_us is None or warm is None else row.ports_us / warm.median
        lines.append(
            [
                row.times.name, _time_of(row.predicted_us), *([_time_of(row.ports_us)] if with_ports else []),
                _time_of(warm and warm.median), warm.range_text if warm else "", _time_of(cold and cold.median),
                "" if ratio is None else f"{ratio:.2f}", row.times.refusal or row.ports_refusal,
            ]
        )  # fmt: skip
    text = [
        f"{host.processor}, {host.system}, {host.compiler}, {host.flags}",
        f"{host.clock or 'processor time of one thread; first run: after the caches were overwritten'}\n",
        table(lines, right=tuple(range(1, len(lines[0]) - 1))),
    ]
    if compared.order is not None:
        text.append(f"\nKendall's tau of the predicted and the measured order: {compared.order:.2f}")
    if compared.ports_order is not None:
        text.append(f"Kendall's tau of the port model: {compared.ports_order:.2f}")
    if measured.disturbance:
        text.append(measured.disturbance)
    return "\n".join(text)


def measured_json(compared: Compared) -> dict[str, object]:
    """The same as data, times in microseconds."""
    return {
        "host": msgspec.to_builtins(compared.measured.host),
        "machine": compared.machine,
        "busy": compared.measured.busy,
        "kendall_tau": compared.order,
        "ports_kendall_tau": compared.ports_order,
        "schedules": [
            {
                **msgspec.to_builtins(row.times),
                "cycles": row.cycles,
                "predicted_us": row.predicted_us,
                "predicted_to_measured": row.predicted_to_measured,
                "ports_us": row.ports_us,
                "ports_refusal": row.ports_refusal,
            }
            for row in compared.rows
        ],
    }


def _time_of(microseconds: float | None) -> str:
    return "" if microseconds is None else time_text(microseconds)


__all__ = ["measured_json", "measured_text"]
