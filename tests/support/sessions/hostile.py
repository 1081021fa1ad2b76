"""A page's complete rendering of a state, without a browser; and hostile texts and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from hypothesis import strategies as st

from tilewright.app.plots.panes import traffic_pane
from tilewright.app.protocol.messages import MESSAGES
from tilewright.app.session.session import Session
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.compare.value import compare_value, overlay_now
from tilewright.app.views.explore.value import explore_value
from tilewright.app.views.inspector.value import inspector_value
from tilewright.app.views.machine.value import machine_value
from tilewright.app.views.notebook.code import python_value, script_value
from tilewright.app.views.notebook.value import known_changes, notebook_value
from tilewright.app.views.problems.value import problems_value
from tilewright.app.views.shell.commands import commands_value
from tilewright.app.views.shell.gallery import gallery_value, load_examples
from tilewright.app.views.shell.headline import headline_value
from tilewright.app.views.shell.page import page_value
from tilewright.app.views.shell.state_json import PARTS, state_parts
from tilewright.app.views.shell.tour import tour_value
from tilewright.app.views.timeline.value import timeline_value
from tilewright.app.views.tree.tree_now import costs_now, rows_now

EXAMPLES = load_examples()


def all_views(state: State, store: Store) -> dict[str, Any]:
    """The values sent to a browser with every pane open."""
    always: dict[str, Any] = {
        "page": page_value(state, 0),
        "tour": tour_value(state, store),
        "gallery": gallery_value(state, EXAMPLES, {}, ""),
        "commands": commands_value(state, EXAMPLES),
        "state_parts": state_parts(state, store, PARTS)[0],
    }
    if state.notebook is None:
        return always
    return always | {
        "headline": headline_value(state, store),
        "notebook": notebook_value(state, store, known_changes(state, store)),
        "rows": rows_now(state, store),
        "costs": costs_now(state, store),
        "inspector": inspector_value(state, store),
        "timeline": timeline_value(state, store),
        "script": script_value(state, store),
        "python": python_value(state, store),
        "problems": problems_value(state, store),
        "machine": machine_value(state, store),
        "traffic": traffic_pane(state, store),
        "explore": explore_value(state, store),
        "compare": compare_value(state, store, EXAMPLES),
        "overlay": overlay_now(state, store),
    }


class Onlooker:
    """A screen that draws everything and records only values that could not be drawn: a session reports user errors, not these."""

    def __init__(self) -> None:
        self.failed: list[Exception] = []

    def draw(self, state: State, store: Store) -> None:
        try:
            msgspec.json.encode(all_views(state, store))
        except Exception as error:
            self.failed.append(error)

    draw_results = draw

    def download(self, name: str, text: str) -> None:
        (name + text).encode()

    def show_prediction(self, prediction: dict[str, Any]) -> None:
        msgspec.json.encode(prediction)


class NoClock:
    """Drop delayed callbacks: other tests cover the work of threads."""

    def after(self, delay_ms: int, work: Callable[[], None]) -> None: ...

    def soon(self, work: Callable[[], None]) -> None: ...


@contextmanager
def onlooked(name: str) -> Iterator[Session]:
    """A session with an example that draws every state completely. Raises values that could not be drawn."""
    session = Session(NoClock(), EXAMPLES)
    session.updater.screen = onlooker = Onlooker()
    session.receive({"kind": "open", "name": name})
    try:
        yield session
    finally:
        session.close()
    if onlooker.failed:
        raise onlooker.failed[0]


ROWS = (
    "ko",
    "mo",
    "no",
    "mi",
    "ki",
    "C",
    "A_local.vtcm",
    "B_local.vtcm",
    "C_local.acc",
    "ax0",
    "ax0~2",
    "ax1~99",
    "",
    "root",
)

FIELDS = (
    "block", "loop", "primitive", "rows", "loops", "id", "name", "method", "target", "targets", "arguments", "buffer", "engine", "cause",
    "row", "look", "text", "count", "calls", "replaces", "cell", "body", "theme", "pane", "start", "end", "path", "item", "cell_kind",
    "to", "on", "after", "step", "steps", "new", "a", "b", "side", "order", "index",
)  # fmt: skip

METHODS = (
    "compute_at", "split", "fuse", "reorder", "cache_read", "set_scope", "transform_layout", "storage_align", "pad_einsum", "unroll",
    "double_buffer", "vectorize", "rfactor", "tensorize", "annotate", "copy", "__class__", "_trace", "verify", "prove", "show", "",
)  # fmt: skip

NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "\x00",
    "\ud800",
    "\u202eabc",
    "../../../../etc/passwd",
    "/etc/passwd",
    "9" * 4400,
    "0x" + "f" * 300,
    "(" * 300,
    "lambda " + "i, " * 200 + "j: [j]",
    "lambda i: [" + "i + " * 300 + "i]",
    "lambda i, j: [i // 0, j % 0]",
    "lambda i, j: [i * 10**18 * 10**18, j]",
    "lambda i, j: [i ** j]",
    "__import__('os').system('id')",
    'f"{1+1}"',
    "a" * 40 + "!",
    "# " * 300,
    "[" * 90 + "]" * 90,
    "# %% workload\n" * 50,
    '# %% machine\nmachine = tilewright.machine("/etc/passwd")\n',
    '# %% machine\nmachine = tilewright.machine("../../../../etc/machine.toml")\n',
    "sch.split(ko, factors=[None, " + "9" * 30 + "])",
    "sch.compute_at(AL, ko)\n" * 30,
    "while True: pass",
    "\r\n\r\r\n",
)

numbers = st.one_of(
    st.integers(-3, 20),
    st.sampled_from([2**31, 2**63, -(2**63), 10**30, 10**400, 0, -1]),
    st.floats(),
)
words = st.one_of(st.sampled_from((*ROWS, *METHODS, *NASTY)), st.text(max_size=12))
leaves = st.one_of(st.none(), st.booleans(), numbers, words)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=6)), inner, max_size=4),
    ),
    max_leaves=12,
)

likely: dict[str, st.SearchStrategy[Any]] = {
    "block": st.sampled_from(ROWS),
    "loop": st.sampled_from(ROWS),
    "row": st.sampled_from(ROWS),
    "id": st.sampled_from(ROWS),
    "target": st.sampled_from(ROWS),
    "rows": st.lists(st.sampled_from(ROWS), max_size=4),
    "loops": st.lists(st.sampled_from(ROWS), max_size=4),
    "targets": st.lists(st.sampled_from(ROWS), max_size=4),
    "primitive": st.sampled_from(["compute_at", "reverse_compute_at"]),
    "method": st.sampled_from(METHODS),
    "arguments": st.fixed_dictionaries(
        {},
        optional={
            "loop": st.sampled_from(ROWS),
            "loops": st.lists(st.sampled_from(ROWS), max_size=3),
            "factors": st.lists(st.one_of(st.none(), numbers), max_size=4),
            "buffer": st.one_of(words, numbers, st.just(["read", 0])),
            "buffer_index": numbers,
            "scope": words,
            "storage_scope": words,
            "index_map": words,
            "names": st.lists(words, max_size=3),
            "padding": st.lists(numbers, max_size=3),
            "pad_value": words,
            "ann_key": words,
            "ann_val": values,
            "axis": numbers,
            "factor": numbers,
            "offset": numbers,
        },
    ),
    "cell": st.integers(-1, 12),
    "item": st.integers(-1, 20),
    "to": st.integers(-1, 12),
    "step": st.integers(-1, 20),
    "steps": st.one_of(st.none(), st.integers(-1, 20)),
    "count": st.one_of(st.none(), st.integers(-1, 20)),
    "path": st.sampled_from(["memories.vtcm.banks", "clock_hz", "memories.ddr.read_bytes_per_cycle", "engines.dma.count", "", "x.y.z"]),
    "text": st.one_of(words, st.sampled_from(["4", "1e9", "true", "64 KiB", "-1", "nan"])),
    "a": st.sampled_from(["now", "step:0", "step:3", "step:-99999999", "opened", "branch:main", "example:box_blur", "step:x", ""]),
    "b": st.sampled_from(["now", "step:1", "step:99", "example:vta_gemm"]),
    "pane": st.sampled_from(["next", "script", "python", "problems", "machine", "traffic", "explore"]),
    "cell_kind": st.sampled_from(["markdown", "schedule", "workload", "machine", "branch", "x"]),
    "on": st.booleans(),
    "after": st.booleans(),
    "name": st.one_of(words, st.sampled_from(["main", "place_the_copies", "box_blur", "cpu-core", "gemmini"])),
}  # fmt: skip


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """A message of a known kind, most fields as a view would fill them, some invalid."""
    kind = draw(st.sampled_from(sorted(MESSAGES)))
    message: dict[str, Any] = {"kind": kind}
    for name in MESSAGES[kind].__struct_encode_fields__:
        roll = draw(st.integers(0, 9))
        if roll < 8:
            message[name] = draw(likely.get(name, words))
        elif roll == 8:
            message[name] = draw(values)
    return message


@st.composite
def mutated_texts(draw: st.DrawFn, sources: tuple[str, ...]) -> str:
    """A notebook with pieces removed, repeated, swapped, or replaced by hostile text."""
    text = draw(st.sampled_from(sources))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(
                st.just(""),
                st.sampled_from(NASTY),
                st.integers(0, max(0, len(text) - 200)).map(lambda at, text=text: text[at : at + 150]),
                st.sampled_from(
                    [
                        "10" * 15,
                        "0",
                        "-1",
                        "1 << 62",
                        "2**40",
                        "None",
                        "float('inf')",
                        "T.int64(99)",
                        ", ",
                        "]",
                        "(",
                        "\n",
                        "    ",
                    ]
                ),
                st.text(max_size=8),
            )
        )
        text = text[:start] + piece + text[end:]
    return text
