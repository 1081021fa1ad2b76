"""Exports of a notebook: code for other systems, the timeline for other viewers, pictures, a self-contained replay.

`views.shell.export_kinds` lists the kinds by name; this module creates the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from ...engine.export import chrome_trace, to_c, to_tvm_python
from ...engine.hwsim import Machine, Report
from ...engine.ir import Refusal, TilewrightError
from ...engine.lower import with_sizes
from ..document.editing.from_schedule import notebook_of_schedule
from ..document.workload import is_kernel, workload_cell
from ..state.derived import REPORT, VERDICT, Store, sizes_of
from ..state.model import State
from ..views.drawings import Theme, timeline_svg, tree_svg
from ..views.drawings.png import png_of
from ..views.shell.export_kinds import EXPORT_KINDS, TVM_VERSIONS, ExportKind
from ..views.timeline.value import drawn_window, timeline_value
from ..views.tree.tree_now import costs_now, rows_now


class ExportSubject(msgspec.Struct, frozen=True, eq=False):
    """The state to export and its options. `sizes` become numbers in C and TVM code; `version` is TVM's, for the kind "tvm"."""

    state: State
    store: Store
    theme: Theme = "auto"
    width: int = 960
    scale: float = 2
    sizes: Mapping[str, int] = {}
    version: str = TVM_VERSIONS["tvm"]

    @property
    def report(self) -> Report:
        """The report of the state. Raises TilewrightError with the reason if there is none."""
        found = self.store.known_report(self.state)
        if isinstance(found, TilewrightError):
            raise found
        if found is None:
            raise TilewrightError(
                Refusal(
                    "not-simulated",
                    "the program is still being simulated",
                    expected="to try again when the simulation is complete",
                )
            )
        return found


class ExportedFile(msgspec.Struct, frozen=True):
    """An exported file."""

    name: str
    data: str | bytes


def made(key: str, subject: ExportSubject) -> ExportedFile:
    """Export a file of the kind `key`. Raises TilewrightError if the program has no such form, KeyError for an unknown kind."""
    kind = EXPORTS[key]
    return ExportedFile(f"{kind.stem or file_stem(subject.state.title)}{kind.suffix}", _MAKERS[key](subject))


def apart(state: State, store: Store) -> ExportSubject:
    """A subject that a thread can export while the page is in use: a separate store with the known report and verdict."""
    own = Store()
    machine = store.machine(state)
    if state.shown is None or state.moment is None or not isinstance(machine, Machine):
        return ExportSubject(state, own)
    schedule = state.moment.schedule
    state = replace(state, shown=replace(state.shown, machine=machine))
    sizes = sizes_of(state, schedule.func)
    report = store.known_report(state)
    if report is not None:
        own.keep(REPORT(own.costed(state, schedule), own.machine(state)), report)
    verdict = store.verdict(state, schedule)
    if verdict is not None:
        own.keep(VERDICT(schedule.func, sizes), verdict)
    return ExportSubject(state, own)


def file_stem(title: str) -> str:
    """Convert a title to a file name."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:60] or "notebook"


def _tvm(key: str) -> Callable[[ExportSubject], str]:
    def make(subject: ExportSubject) -> str:
        moment = subject.state.moment
        assert moment is not None
        version = subject.version if key == "tvm" else TVM_VERSIONS[key]
        return to_tvm_python(moment.schedule, moment.names, version, sizes=dict(subject.sizes))

    return make


def _tilewright(subject: ExportSubject) -> str:
    """The notebook's text; for an earlier step, a notebook that ends there."""
    state = subject.state
    assert state.notebook is not None and state.moment is not None and state.shown is not None
    if not state.looks_back:
        return state.notebook.document.text
    machine = subject.store.machine(state)
    named = machine if isinstance(machine, Machine) else None
    return notebook_of_schedule(state.moment.schedule, named, state.shown.sizes).document.text


def _tilelang(subject: ExportSubject) -> str:
    """The text of a TileLang kernel, without the notebook around it."""
    assert subject.state.shown is not None
    document = subject.state.shown.document
    cell = workload_cell(document)
    if cell is None or not is_kernel(document):
        raise TilewrightError(
            Refusal("no-kernel", "the program is no TileLang kernel", expected="another export format")
        )
    return cell.body.strip() + "\n"


def _script(subject: ExportSubject) -> str:
    assert subject.state.moment is not None
    return subject.store.script(subject.state.moment.schedule)


def _c(subject: ExportSubject) -> str:
    """C code with the given sizes as numbers and the others as parameters."""
    assert subject.state.moment is not None
    return to_c(with_sizes(subject.state.moment.schedule.func, dict(subject.sizes)).func)


def _tree(subject: ExportSubject) -> str:
    rows, costs = rows_now(subject.state, subject.store), costs_now(subject.state, subject.store)
    return tree_svg(rows, costs, title=subject.state.title, theme=subject.theme)


def _timeline(subject: ExportSubject) -> str:
    _ = subject.report  # raises an error if there is no report
    value = timeline_value(subject.state, subject.store)
    window = drawn_window(subject.state, subject.store)
    return timeline_svg(value, window, title=subject.state.title, theme=subject.theme, width=subject.width)


def _trace(subject: ExportSubject) -> str:
    return chrome_trace(subject.report)


def _replay(subject: ExportSubject) -> str:
    # Imported here since it imports Panel, which needs a second; the command line does not use Panel otherwise.
    from .replay import replay_html

    return replay_html(subject.state, subject.store, subject.report)


def _png(draw: Callable[[ExportSubject], str]) -> Callable[[ExportSubject], bytes]:
    return lambda subject: png_of(draw(subject), subject.scale)


EXPORTS: Mapping[str, ExportKind] = {kind.key: kind for kind in EXPORT_KINDS}

_MAKERS: Mapping[str, Callable[[ExportSubject], str | bytes]] = {
    **{key: _tvm(key) for key in TVM_VERSIONS},
    "tilewright": _tilewright,
    "tilelang": _tilelang,
    "tvmscript": _script,
    "c": _c,
    "replay": _replay,
    "trace": _trace,
    "tree-svg": _tree,
    "tree-png": _png(_tree),
    "timeline-svg": _timeline,
    "timeline-png": _png(_timeline),
}
