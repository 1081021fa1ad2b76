"""What a notebook can be taken away as: code for other systems, the timeline for other viewers, pictures, a replay that stands alone.

One table, `EXPORTS`: the command line's choices, the page's menu and its commands are made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from ..engine.export import chrome_trace, to_c, to_tvm_python
from ..engine.hwsim import Machine, Report
from ..engine.ir import Refusal, TilewrightError
from ..engine.lower import with_sizes
from .document.from_schedule import notebook_of_schedule
from .state import State
from .store import Store
from .views.code import EXPORT_FILE
from .views.drawings import Theme, timeline_svg, tree_svg
from .views.drawings.png import png_of
from .views.timeline import timeline_value
from .views.tree_now import costs_now, rows_now

TVM = EXPORT_FILE.removesuffix(".py")


class Subject(msgspec.Struct, frozen=True, eq=False):
    """What is exported: the picture of a state. `sizes` are put into C as numbers; `version` is TVM's."""

    state: State
    store: Store
    theme: Theme = "auto"
    width: int = 960
    scale: float = 2
    sizes: Mapping[str, int] = {}
    version: str = "0.27"

    @property
    def report(self) -> Report:
        """Raises why there is none."""
        found = self.store.report_now(self.state)
        if isinstance(found, TilewrightError):
            raise found
        if found is None:
            raise TilewrightError(
                Refusal("not-simulated", "the program is still being simulated", expected="a moment of patience")
            )
        return found


class Export(msgspec.Struct, frozen=True, eq=False):
    """`key` is what the command line calls it; files are called `stem` (of the notebook where it is "") and `suffix`."""

    key: str
    label: str
    help: str
    suffix: str
    make: Callable[[Subject], str | bytes]
    stem: str = ""


class Made(msgspec.Struct, frozen=True):
    """A file to give away."""

    name: str
    data: str | bytes


def made(export: Export, subject: Subject) -> Made:
    """The file. Raises TilewrightError where the program has no such form."""
    return Made(f"{export.stem or file_stem(subject.state.title)}{export.suffix}", export.make(subject))


def file_stem(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:60] or "notebook"


def _tvm(version: str | None) -> Callable[[Subject], str]:
    def make(subject: Subject) -> str:
        moment = subject.state.moment
        assert moment is not None
        return to_tvm_python(moment.schedule, moment.names, version or subject.version, sizes=dict(subject.sizes))

    return make


def _tilewright(subject: Subject) -> str:
    """The notebook itself; of an earlier step, a notebook that ends there."""
    state = subject.state
    assert state.notebook is not None and state.moment is not None and state.shown is not None
    if not state.looks_back:
        return state.notebook.document.text
    machine = subject.store.machine(state)
    named = machine if isinstance(machine, Machine) else None
    return notebook_of_schedule(state.moment.schedule, named, state.shown.sizes).document.text


def _script(subject: Subject) -> str:
    assert subject.state.moment is not None
    return subject.store.script(subject.state.moment.schedule)


def _c(subject: Subject) -> str:
    """With the given sizes as numbers, and the others as parameters."""
    assert subject.state.moment is not None
    return to_c(with_sizes(subject.state.moment.schedule.func, dict(subject.sizes)).func)


def _tree(subject: Subject) -> str:
    rows, costs = rows_now(subject.state, subject.store), costs_now(subject.state, subject.store)
    return tree_svg(rows, costs, title=subject.state.title, theme=subject.theme)


def _timeline(subject: Subject) -> str:
    _ = subject.report  # what keeps it from being simulated is an error here, and no picture
    value = timeline_value(subject.state, subject.store)
    return timeline_svg(value, title=subject.state.title, theme=subject.theme, width=subject.width)


def _trace(subject: Subject) -> str:
    return chrome_trace(subject.report)


def _replay(subject: Subject) -> str:
    # Its modules are Panel's neighbours, and that takes a second to import: the command line has no other use for it.
    from .replay import replay_html

    return replay_html(subject.state, subject.store, subject.report)


def _png(draw: Callable[[Subject], str]) -> Callable[[Subject], bytes]:
    return lambda subject: png_of(draw(subject), subject.scale)


_ALL = (
    Export("tvm", "Python for TVM 0.26 or newer", "the program and its schedule as a file", ".py", _tvm(None), TVM),
    Export(
        "tvm-0.25", "Python for TVM 0.24 and 0.25", "in the names of these versions", ".py", _tvm("0.25"), f"{TVM}_0_25"
    ),
    Export("tvm-0.23", "Python for TVM 0.23 or older", "in the names before s_tir", ".py", _tvm("0.23"), f"{TVM}_0_23"),
    Export("tilewright", "Tilewright Python", "the notebook, which Python runs too", ".py", _tilewright),
    Export("tvmscript", "TVMScript", "the scheduled program", "_scheduled.py", _script),
    Export("c", "C", "the scheduled program as one function", ".c", _c),
    Export(
        "replay", "Replay as a web page", "tree, code and timeline in a file that plays by itself", ".html", _replay
    ),
    Export("tree-svg", "Loop tree as SVG", "a picture in any size", "_tree.svg", _tree),
    Export("tree-png", "Loop tree as PNG", "a picture of points", "_tree.png", _png(_tree)),
    Export("timeline-svg", "Timeline as SVG", "a picture in any size", "_timeline.svg", _timeline),
    Export("timeline-png", "Timeline as PNG", "a picture of points", "_timeline.png", _png(_timeline)),
    Export("trace", "Chrome trace", "the timeline for Perfetto and chrome://tracing", "_trace.json", _trace),
)

EXPORTS: Mapping[str, Export] = {export.key: export for export in _ALL}
