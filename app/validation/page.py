"""The page docs/validation.md: predicted beside measured figures, by device and study, and a picture of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log10

from .device import find_device
from .predict import Outcome, PredictedRow, Totals, Trial, totals
from .score import NEAR, NOTABLE, AblationScore
from .study import not_predicted

_Key = tuple[str, tuple[str, ...]]
_Figures = dict[_Key, tuple[float, float]]

MISS = 1.3
"""The factor from which a row is listed with what does not agree."""

MOST_ROWS = 24
"""Rows of a table that the page lists; of a longer one the rows with the largest ratios."""

COLOURS = ("#4269d0", "#c2410c", "#15803d", "#9333ea", "#0e7490", "#a16207", "#be185d", "#475569")


def page(outcomes: Sequence[Outcome], picture_path: str) -> str:
    """The page as Markdown."""
    studies = (line for each in outcomes for line in _study(each))
    head = (*_head(outcomes, picture_path), *_disagreements(outcomes))
    return "\n".join((*head, *studies, *_devices(outcomes), *_not_predicted(), ""))


def totals_line(found: Totals) -> str:
    """The totals as a sentence."""
    absolute = (
        f" Of {found.absolute} times on devices whose clock is known or assumed, the mean error is {found.mean_error:.1%}, the "
        f"largest factor {found.largest:.2f}."
        if found.absolute
        else ""
    )
    return (
        f"{found.rows} rows. Of {found.notable} ablations with a measured effect of {NOTABLE:.0%} or more, {found.with_sign} have the "
        f"right sign; of all {found.ablations}, {found.with_size} have the right size within {NEAR}.{absolute}"
    )


def _head(outcomes: Sequence[Outcome], picture_path: str) -> Iterator[str]:
    yield from (
        "# Held against the clock",
        "",
        "Tables of times that others measured, beside the times that the simulator predicts for the same programs.",
        "`python bench/validate.py` writes this page, `tilewright validate` prints it, and a test recomputes it. The figures are in",
        "`static/validation/tables`, each with its source; the programs in `static/validation/kernels`. What a source does not state is",
        "listed with the value that is taken. No value is tuned to the rows of a table; where a machine figure comes from one, the study",
        "says so.",
        "",
        f"![Predicted against measured times]({picture_path})",
        "",
        totals_line(totals(outcomes)),
        "",
        "| device | study | rows | tau | mean error | largest | sign | size |",
        "|---|---|---:|---:|---:|---|---:|---:|",
    )
    for each in outcomes:
        yield _summary(each)
    yield ""
    yield from (
        "Errors and factors in italics are of studies without a known clock: of times, or of times scaled to the geometric mean. *Sign*",
        "and *size* count ablations: predicted and measured change in one direction (of effects of 3 % or more), and differ by at most",
        f"{NEAR} times. *Tau* is Kendall's, of predicted and measured times.",
    )
    yield ""


def _disagreements(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Ablations with the other sign and rows with a large factor, each with the experiment that comes closest to what was measured."""
    yield from (
        "## What does not agree",
        "",
        f"Ablations with the other sign, and rows that differ by more than {MISS} times. Beside each is the experiment of its study that",
        "comes closest to the measured figure, if one comes closer than the prediction.",
        "",
        "| study | ablation or program | measured | predicted | closest experiment | with it |",
        "|---|---|---:|---:|---|---:|",
    )
    for each in outcomes:
        trials = (each.trial, *each.experiments)
        ablations: list[_Figures] = [
            {(a.name, a.key): (a.measured, a.predicted) for a in trial.ablations} for trial in trials
        ]
        rows: list[_Figures] = [
            {(r.label, ()): (r.measured_us, r.predicted_us) for r in trial.rows} for trial in trials
        ]
        wrong = [(a.name, a.key) for a in each.trial.ablations if a.is_notable and not a.has_sign]
        missed: list[_Key] = [(r.label, ()) for r in each.trial.rows if max(r.ratio, 1 / r.ratio) > MISS]
        for named, keys, tables in (("ablation: ", wrong, ablations), ("", missed, rows)):
            for key in keys:
                figures = [table[key] for table in tables if key in table]
                closest = min(range(len(figures)), key=lambda n: abs(log10(figures[n][1] / figures[n][0])))
                words = " ".join((key[0], *key[1]))
                measured, predicted = (_figure(value, bool(named)) for value in figures[0])
                found = (trials[closest].name, _figure(figures[closest][1], bool(named))) if closest else ("", "")
                cells = (
                    f"[{each.study.name}](#{_anchor(each.study.name)})",
                    named + words,
                    measured,
                    predicted,
                    *found,
                )
                yield f"| {' | '.join(cells)} |"
    yield ""


def _figure(value: float, is_ratio: bool) -> str:
    return f"{value:.3f}" if is_ratio else _number(value)


def _summary(found: Outcome) -> str:
    trial, study = found.trial, found.study
    mark = "" if study.clock else "*"
    notable = [a for a in trial.ablations if a.is_notable]
    signs = f"{sum(a.has_sign for a in notable)} of {len(notable)}" if notable else ""
    sizes = f"{sum(a.has_size for a in trial.ablations)} of {len(trial.ablations)}" if trial.ablations else ""
    cells = (
        study.device,
        f"[{study.title}](#{_anchor(study.name)})",
        str(len(trial.rows)),
        _tau(trial),
        f"{mark}{trial.mean_error:.1%}{mark}",
        f"{mark}{trial.largest.ratio:.2f}{mark}, {trial.largest.label}",
        signs,
        sizes,
    )
    return f"| {' | '.join(cells)} |"


def _study(found: Outcome) -> Iterator[str]:
    study, trial = found.study, found.trial
    yield from (f"## {_anchor(study.name)}", "", f"{study.title}, on {study.device}.", "")
    yield f"- Measured: `{study.table}`, {study.source['source']}"
    yield f"- Conditions: {study.source['conditions']}"
    yield f"- Machine: `{study.machine}`{_figures(study.figures)}; clock: {study.clock or 'not known'}"
    yield f"- Not stated: {'; '.join(study.unknown)}."
    if study.notes:
        yield f"- {study.notes}"
    yield ""
    rows = trial.rows
    if len(rows) > MOST_ROWS:
        rows = tuple(sorted(rows, key=lambda row: -max(row.ratio, 1 / row.ratio))[:MOST_ROWS])
        yield f"The {MOST_ROWS} of {len(trial.rows)} rows with the largest factors:"
        yield ""
    ratios_only = study.relative or study.unit == "speed"
    unit = "relative" if ratios_only else "us"
    yield f"| program | measured, {unit} | predicted, {unit} | factor |"
    yield "|---|---:|---:|---:|"
    for row in rows:
        bound = "" if row.is_exact else " (estimate)"
        yield f"| {row.label} | {_number(row.measured_us)} | {_number(row.predicted_us)}{bound} | {row.ratio:.2f} |"
    yield ""
    if trial.ablations:
        yield "| ablation | measured, time after / before | predicted | sign | size |"
        yield "|---|---:|---:|---|---|"
        yield from (_ablation(each) for each in _worst(trial.ablations))
        yield ""
    if found.experiments:
        yield "| experiment | tau | mean error | largest factor | signs | sizes |"
        yield "|---|---:|---:|---:|---:|---:|"
        for each in (trial, *found.experiments):
            yield _experiment(each)
        yield ""


def _devices(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The figures of devices that differ from their preset's, with their sources."""
    for name in dict.fromkeys(each.study.machine for each in outcomes):
        device = find_device(name)
        if device is None:
            continue
        yield from (f"## {name}", "", f"The preset `{device.base}` with these figures.", "")
        yield from ("| parameter | value | source |", "|---|---|---|")
        for figure in device.figures:
            yield f"| `{figure.path}` | {figure.value} | {figure.source} |"
        yield ""


def _not_predicted() -> Iterator[str]:
    yield from ("## Tables without a study", "", "| table | why its rows are not predicted |", "|---|---|")
    yield from (f"| `{table}` | {reason} |" for table, reason in not_predicted().items())


def _worst(scores: Sequence[AblationScore]) -> Sequence[AblationScore]:
    if len(scores) <= MOST_ROWS:
        return scores
    return sorted(scores, key=lambda a: -max(a.predicted / a.measured, a.measured / a.predicted))[:MOST_ROWS]


def _ablation(score: AblationScore) -> str:
    name = " ".join((score.name, *score.key))
    sign = ("yes" if score.has_sign else "**no**") if score.is_notable else "small"
    return (
        f"| {name} | {score.measured:.3f} | {score.predicted:.3f} | {sign} | {'yes' if score.has_size else '**no**'} |"
    )


def _experiment(trial: Trial) -> str:
    notable = [a for a in trial.ablations if a.is_notable]
    signs = f"{sum(a.has_sign for a in notable)} of {len(notable)}"
    sizes = f"{sum(a.has_size for a in trial.ablations)} of {len(trial.ablations)}"
    return f"| {trial.name} | {_tau(trial)} | {trial.mean_error:.1%} | {trial.largest.ratio:.2f} | {signs} | {sizes} |"


def _figures(figures: dict[str, int | str | bool]) -> str:
    listed = ", ".join(f"`{path} = {value}`" for path, value in figures.items())
    return f" with {listed}" if listed else ""


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def _tau(trial: Trial) -> str:
    return "" if trial.tau is None else f"{trial.tau:.2f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


# --- the picture

SIDE, LEFT, BOTTOM = 440, 56, 40


def picture(outcomes: Sequence[Outcome]) -> str:
    """All rows as points, measured time to the right and predicted time upwards, both logarithmic, by device; SVG text. Rows of which only
    ratios are known are left out."""
    shown = [each for each in outcomes if not (each.study.relative or each.study.unit == "speed")]
    rows = [row for each in shown for row in each.trial.rows]
    low = min(min(log10(r.measured_us), log10(r.predicted_us)) for r in rows) - 0.1
    high = max(max(log10(r.measured_us), log10(r.predicted_us)) for r in rows) + 0.1
    devices = list(dict.fromkeys(each.study.device for each in shown))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SIDE + 230} {SIDE + BOTTOM + 12}" font-family="sans-serif" '
            'font-size="12">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<rect x="{LEFT}" y="8" width="{SIDE}" height="{SIDE}" fill="none" stroke="#94a3b8"/>',
            *_scales(low, high),
            *(_diagonal(factor, low, high) for factor in (1.0, 1.5, 1 / 1.5)),
            *(
                _point(row, COLOURS[devices.index(each.study.device) % len(COLOURS)], low, high)
                for each in shown
                for row in each.trial.rows
            ),
            *(
                f'<circle cx="{LEFT + SIDE + 16}" cy="{22 + 18 * n}" r="4" fill="{COLOURS[n % len(COLOURS)]}"/>'
                f'<text x="{LEFT + SIDE + 26}" y="{26 + 18 * n}">{escape(device)}</text>'
                for n, device in enumerate(devices)
            ),
            "</svg>",
            "",
        )
    )


def _at(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) * SIDE


def _point(row: PredictedRow, colour: str, low: float, high: float) -> str:
    x, y = LEFT + _at(log10(row.measured_us), low, high), 8 + SIDE - _at(log10(row.predicted_us), low, high)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity="0.7"><title>{escape(row.label)}</title></circle>'


def _diagonal(factor: float, low: float, high: float) -> str:
    shift = log10(factor)
    ends = (low, low + shift, high, high + shift)
    if shift > 0:
        ends = (low, low + shift, high - shift, high)
    elif shift < 0:
        ends = (low - shift, low, high, high + shift)
    x1, x2 = (LEFT + _at(x, low, high) for x in ends[::2])
    y1, y2 = (8 + SIDE - _at(y, low, high) for y in ends[1::2])
    dash = "" if factor == 1 else ' stroke-dasharray="4 4"'
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#94a3b8"{dash}/>'


def _scales(low: float, high: float) -> Iterator[str]:
    for power in range(int(low) - 1, int(high) + 2):
        if low <= power <= high:
            at = _at(power, low, high)
            name = {0: "1 us", 1: "10 us", 2: "100 us", 3: "1 ms", 4: "10 ms", 5: "100 ms", 6: "1 s"}.get(
                power, f"1e{power} us"
            )
            yield f'<text x="{LEFT + at:.1f}" y="{8 + SIDE + 16}" text-anchor="middle">{name}</text>'
            yield f'<text x="{LEFT - 6}" y="{12 + SIDE - at:.1f}" text-anchor="end">{name}</text>'
    yield f'<text x="{LEFT + SIDE / 2}" y="{8 + SIDE + 34}" text-anchor="middle">measured (dashed: a factor of 1.5)</text>'
    yield f'<text x="{LEFT + 8}" y="24">predicted</text>'


__all__ = ["page", "picture", "totals_line"]
