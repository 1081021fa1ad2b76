"""A run as one HTML file with tree, program and timeline. It plays without a server, a network or Tilewright.

The timeline is the page's component; `static/components/replay` answers its queries in place of the server. The file contains all data,
compressed; its content security policy forbids it to load anything.
"""

from __future__ import annotations

import base64
import zlib
from html import escape

import msgspec
from msgspec.structs import replace

from ...engine.hwsim import Report
from ...engine.ir import Refusal, TilewrightError
from ..components.esm import bundle, style
from ..state.derived import Store
from ..state.model import State
from ..views.drawings import tree_svg
from ..views.labels.values import Value
from ..views.shell.headline import figures, verdict_value
from ..views.timeline.value import PathAnswer, Timeline, path_value, timeline_data, timeline_value
from ..views.timeline.waits import StepToBlame, step_to_blame
from ..views.timeline.window import MAX_EVENTS, whole_bins, whole_run
from ..views.tree.tree_now import costs_now, rows_now

MAX_BYTES = 2_000_000
"""The maximum size of the whole file."""

DETAIL = (40_000, 10_000, 3_000)
"""Limits on the number of individual tasks; the largest one that fits in the file is used. Otherwise bins are stored, which cannot be
zoomed into."""

DRAWN = 6_000
"""Maximum number of tasks that are drawn individually at a time: no server makes finer bins of a part of the run."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Recording(Value, frozen=True):
    """A timeline, and the answers of the server: the steps to blame by buffer and block, and the critical path of the
    run; and the lines of the program."""

    value: Timeline
    steps: dict[str, StepToBlame]
    path: PathAnswer
    script: list[str]


def replay_html(state: State, store: Store, report: Report) -> str:
    """The file's text. Raises TilewrightError "replay-too-large" if even the bins do not fit."""
    for most in (*DETAIL, 0):
        page = _page(state, store, recording(state, store, report, most))
        if len(page.encode()) <= MAX_BYTES:
            return page
    raise TilewrightError(
        Refusal(
            "replay-too-large",
            "the program is too large for a replay in one file",
            expected=f"at most {MAX_BYTES:,} bytes",
        )
    )


def recording(state: State, store: Store, report: Report, most: int) -> Recording:
    """The timeline's value, all tasks if there are at most `most`, and the precomputed answers of the server."""
    assert state.moment is not None
    data, value = timeline_data(report, store), timeline_value(state, store)
    run = whole_run(data, most)
    drawn = DRAWN if run is not None else 0
    real, compressed = (
        whole_bins(data, folded=False, most=min(drawn, MAX_EVENTS)),
        whole_bins(data, folded=True, most=drawn),
    )
    steps: dict[str, StepToBlame] = {}
    for wait in value.waits:
        if wait.cause != "idle":
            held_by = wait.block or wait.what
            steps[f"{wait.buffer} {held_by}"] = step_to_blame(state, store, wait.buffer, held_by)
    return Recording(
        replace(value, report=1, drawn=drawn, run=run, bins=[*real, *compressed]),
        steps,
        replace(path_value(report, store, 0, report.cycles), report=1),
        store.script(state.moment.schedule).splitlines(),
    )


def _page(state: State, store: Store, data: Recording) -> str:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = base64.b64encode(packer.compress(msgspec.json.encode(data)) + packer.flush()).decode()
    rows, costs = rows_now(state, store), costs_now(state, store)
    trees = "".join(
        f'<div class="tree is-{theme}">{tree_svg(rows, costs, theme=theme)}</div>' for theme in ("light", "dark")
    )
    title = escape(state.title or "Replay")
    sheets = "\n".join(style(name) for name in ("tilewright.css", "app.css", "timeline.css"))
    return f"""<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Tilewright replay</title>
<style>{style("tilewright.css")}
{style("replay.css")}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<div class="facts">{_facts(state, store)}</div>
<button type="button" id="theme" class="tw-button" aria-label="Dark theme">Dark</button>
</header>
<main>
<section class="trees" aria-label="Loop tree" tabindex="0">{trees}</section>
<section class="script" aria-label="TVMScript" tabindex="0"><ol></ol></section>
<section class="timeline-place" aria-label="Timeline"></section>
</main>
<template id="timeline-style"><style>{sheets}</style></template>
<script type="text/plain" id="data">{packed}</script>
<script type="module">{bundle("replay/replay.js")}</script>
</body>
</html>
"""


def _facts(state: State, store: Store) -> str:
    """Machine, verdict and metrics, as in the page's headline."""
    machine = store.machine(state)
    name = "" if isinstance(machine, TilewrightError) else machine.name
    verdict = verdict_value(state, store)
    said = [f'<span class="fact"><b>{escape(name)}</b></span>']
    if verdict.status in ("tested", "proved", "failed"):
        sign = "✘ wrong result" if verdict.status == "failed" else f"✔ {verdict.status}"
        said.append(f'<span class="fact is-{verdict.status}" title="{escape(verdict.detail)}">{sign}</span>')
    said += [
        f'<span class="fact" title="{escape(figure.hint)}">{escape(figure.label)} <b>{escape(figure.value)}</b></span>'
        for figure in figures(state, store)
    ]
    return "".join(said)
