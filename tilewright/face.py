"""The public functions and types of the package. `tilewright/__init__.py` loads this module when the first of them is used."""

# pyright: reportMissingImports=false, reportInvalidTypeForm=false
# (`app` and `engine` are mapped into this package when it is installed; a checker of the source tree does not find them here.)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .app.document import DocumentError, Notebook, evaluate, load_document, sizes_for, with_origins
from .app.document.holes import notebook_space
from .engine import explore as _explore
from .engine import export as _export
from .engine import hwsim as _hwsim
from .engine import lint as _lint

# Not `script`: that is the module beside this one.
from .engine import script as _script
from .engine.adopt import Snippet, from_tvm, from_tvm_trace, read_pasted
from .engine.execute import Verdict
from .engine.execute import random_inputs as _random_inputs
from .engine.execute import run as _run
from .engine.explore import DerivedSpace, Progress, Space, Study
from .engine.export import chrome_trace, report_text
from .engine.hwsim import Machine, MachineParameter, Report
from .engine.hwsim import load_machine as machine
from .engine.hwsim import preset_names as machines
from .engine.ir import AXIS_SEPARATOR, IndexMap, IRModule, Place, PrimFunc, Refusal, TilewrightError
from .engine.lint import LintFinding
from .engine.lower import sizes_of_arrays, with_sizes
from .engine.prove import Proof
from .engine.schedule import Schedule, ScheduleError, TensorIntrin
from .engine.script import ParseError
from .engine.te import TEProgram, read_te
from .engine.te import parse as _parse
from .ipython import load_ipython_extension

if TYPE_CHECKING:
    from .app.jupyter import LayoutPicker, LoopTree, ScheduleNotebook, Timeline

__all__ = [
    "AXIS_SEPARATOR",
    "DerivedSpace",
    "DocumentError",
    "IRModule",
    "IndexMap",
    "LayoutPicker",
    "LintFinding",
    "LoopTree",
    "Machine",
    "MachineParameter",
    "Notebook",
    "ParseError",
    "Place",
    "PrimFunc",
    "Progress",
    "Proof",
    "Refusal",
    "Report",
    "Schedule",
    "ScheduleError",
    "ScheduleNotebook",
    "Snippet",
    "Space",
    "Study",
    "TEProgram",
    "TensorIntrin",
    "TilewrightError",
    "Timeline",
    "Verdict",
    "auto_space",
    "choose",
    "chrome_trace",
    "explore",
    "from_tvm",
    "from_tvm_trace",
    "lint",
    "load",
    "load_ipython_extension",
    "machine",
    "machines",
    "parse",
    "prove",
    "random_inputs",
    "read_pasted",
    "read_te",
    "report_text",
    "run",
    "sensitivity",
    "simulate",
    "to_c",
    "to_script",
    "to_tvm_python",
    "verify",
]

T = TypeVar("T")

WIDGETS = frozenset({"LayoutPicker", "LoopTree", "ScheduleNotebook", "Timeline"})
"""Names that come from the screen's side of the house: its libraries take two seconds to load, so they wait for the first use."""


def __getattr__(name: str) -> Any:
    if name not in WIDGETS:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
    try:
        from .app import jupyter
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "ipywidgets", "traitlets", "IPython"):
            raise
        missing = Refusal(
            "no-widgets", f"tilewright.{name} needs {error.name}", expected='pip install "tilewright[jupyter]"'
        )
        raise TilewrightError(missing) from error
    return getattr(jupyter, name)


Scheduled = Schedule | Notebook | TEProgram | IRModule | PrimFunc
"""A schedule, a notebook or TE text that has one, or a program: a schedule without calls."""


def choose(name: str, values: Sequence[T]) -> T:
    """A hole of a schedule: something to choose among `values`, called `name` in studies. Here it is the first of them.

    `tile = tilewright.choose("tile", [32, 64, 128])`: the file runs with 32, `tilewright explore` tries the others.
    """
    if not values:
        raise TilewrightError(Refusal("bad-hole", f"there is nothing to choose from for {name!r}"))
    return values[0]


def explore(
    scheduled: Notebook | Space | DerivedSpace,
    machine: Machine | str | Path | None = None,
    *,
    objectives: Sequence[str] = ("cycles",),
    budgets: Mapping[str, float] | None = None,
    trials: int = _explore.Settings().trials,
    seed: int = 0,
    seconds: float = 0.0,
    workers: int | str = 0,
    store: str | Path | None = None,
    watch: Callable[[Progress], object] | None = None,
) -> Study:
    """Try what a schedule's holes can be filled with on a machine: `.best`, `.front`, `.offers` (the best, verified), `.trials`.

    `scheduled` is a notebook with holes (see `choose`), or a space, as `auto_space` derives one. `objectives` are to be small: "cycles",
    "energy", "traffic", "peak", "peak local.vtcm"; with several there is a front. `budgets` are the most that a figure may be.
    `workers`: 0 for this thread, a number of processes, or a Dask scheduler's address. `store` is a file to keep outcomes in, and to go on
    from. The same seed finds the same, whoever the workers are; `seconds` end a study with what was found by then.
    Raises ObjectiveError, StoreError, ExploreError (each a TilewrightError).
    """
    if isinstance(scheduled, Notebook):
        space, machine = notebook_space(scheduled), _machine_of(scheduled, machine)
    else:
        space = scheduled.space if isinstance(scheduled, DerivedSpace) else scheduled
        machine = _named_machine(machine)
    settings = _explore.Settings(tuple(objectives), dict(budgets or {}), trials, seed, seconds=seconds)
    return _explore.explore(space, machine, settings, workers=workers, store=store, watch=watch)


def auto_space(
    program: IRModule | PrimFunc, machine: Machine | str | Path, *, sizes: Mapping[str, int] | None = None
) -> DerivedSpace:
    """A schedule with holes derived from a program and a machine: `.text` to be read and edited, `.space` for `explore`.

    The largest block is tiled by what the memories hold, its operands are staged where its engine takes them from, at loops to choose, in
    one slot or two. Raises AnchorError "no-anchor" where there is nothing to tile.
    """
    return _explore.auto_space(program, _named_machine(machine), sizes=sizes)


def parse(text: str, filename: str = "") -> IRModule | PrimFunc:
    """The program in TVMScript `text`: a module, or a function when the text has one function outside of a class.

    TE text (`te.placeholder`, `te.compute`, …) is known by itself and gives its block program; `read_te` gives its schedule too.
    The text is never executed. Raises ParseError, whose `.refusal.place` has line and column (in `filename`, for messages).
    """
    return _parse(text, filename).program


def load(path: str | Path) -> Notebook:
    """The notebook file at `path`, evaluated: `.program`, `.machine`, `.schedule`, `.names`, `.steps`, `.error`.

    Raises DocumentError when the file cannot be read; what is wrong inside of it is in `.error`, with its line.
    """
    return evaluate(load_document(path))


def to_script(program: Scheduled, dialect: Literal["current", "classic"] = "current") -> str:
    """TVMScript text of a program, or of what a schedule made of it; `dialect` is "current" (TVM 0.24 and newer) or "classic".

    Raises TilewrightError "unknown-dialect".
    """
    if dialect not in ("current", "classic"):
        raise TilewrightError(
            Refusal("unknown-dialect", f"there is no dialect {dialect!r}", expected='"current" or "classic"')
        )
    shown = program if isinstance(program, IRModule | PrimFunc) else schedule_of(program).mod
    return _script.to_script(shown, dialect)


def simulate(
    program: Scheduled, machine: Machine | str | Path | None = None, *, sizes: Mapping[str, int] | None = None
) -> Report:
    """What the program does on a machine (itself, its name, or its TOML file; a notebook's own when left out).

    What engines wait for is put down to the steps of the schedule (`.engines[…].waits[…].origin`).
    `sizes` are numbers for the program's symbolic sizes, {"M": 256}; a notebook has its own, and these go before them.
    Raises MachineError (a TilewrightError) when an engine cannot reach an operand, the machine's description is wrong, sizes are missing.
    """
    report = _hwsim.simulate(*_on_machine(program, machine, sizes))
    if isinstance(program, Notebook):
        return with_origins(report, program)
    return report if isinstance(program, PrimFunc) else _export.attributed_to(report, schedule_of(program))


def sensitivity(
    program: Scheduled, machine: Machine | str | Path | None = None, *, sizes: Mapping[str, int] | None = None
) -> tuple[MachineParameter, ...]:
    """Which figure of the machine limits the program: each twice as good, one at a time, and the cycles that saves, the most first.

    Arguments and errors are those of `simulate`.
    """
    return _hwsim.sensitivity(*_on_machine(program, machine, sizes))


def lint(
    schedule: Scheduled, machine: Machine | str | Path | None = None, *, sizes: Mapping[str, int] | None = None
) -> tuple[LintFinding, ...]:
    """What is wrong or wasteful in a schedule on a machine, the worst first, each with calls that were tried and end it (`.fixes`).

    Arguments are those of `simulate`. What the machine cannot run is a finding, too; docs/lints.md has all of them.
    """
    found = schedule_of(schedule)
    return _lint.lint(found, _machine_of(schedule, machine), _sizes_of(schedule, sizes))


def _machine_of(program: Scheduled, machine: Machine | str | Path | None) -> Machine:
    if machine is None:
        machine = program.machine if isinstance(program, Notebook) else None
    return _named_machine(machine)


def _named_machine(machine: Machine | str | Path | None) -> Machine:
    if machine is None:
        raise TilewrightError(Refusal("no-machine", "no machine was named", expected="one of " + ", ".join(machines())))
    return machine if isinstance(machine, Machine) else _hwsim.load_machine(machine)


def _on_machine(
    program: Scheduled, machine: Machine | str | Path | None, sizes: Mapping[str, int] | None
) -> tuple[PrimFunc, Machine]:
    found = _machine_of(program, machine)
    # A function as it is: a lowered one has no blocks that could be scheduled.
    func = program if isinstance(program, PrimFunc) else schedule_of(program).described
    return with_sizes(func, _sizes_of(program, sizes)).func, found


def run(program: Scheduled, arrays: Mapping[str, Any], *, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Run the program, or what a schedule made of it, on NumPy arrays by parameter: every parameter's array afterwards.

    Symbolic sizes that `sizes` leave out are those of the arrays. Raises ExecuteError (a TilewrightError).
    """
    func = program if isinstance(program, PrimFunc) else schedule_of(program).func
    given = sizes_of_arrays(func, {name: array.shape for name, array in arrays.items()})
    return _run(with_sizes(func, given | {**_sizes_of(program, sizes)}).func, arrays)


def random_inputs(program: Scheduled, seed: int = 0, *, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Small values for every parameter that the program reads before it writes it, by name; the same for the same seed."""
    func = program if isinstance(program, PrimFunc) else schedule_of(program).func
    return _random_inputs(with_sizes(func, _sizes_of(program, sizes)).func, seed)


def _sizes_of(program: Scheduled, sizes: Mapping[str, int] | None) -> Mapping[str, int]:
    of_notebook = sizes_for(schedule_of(program).func, program.sizes) if isinstance(program, Notebook) else {}
    return {**of_notebook, **(sizes or {})}


def verify(schedule: Scheduled, *, seed: int = 0, sizes: Mapping[str, int] | None = None) -> Verdict:
    """Whether the schedule still computes what its program did: `.status` is "tested", "failed" or "unknown".

    `sizes` are numbers for the program's symbolic sizes, {"M": 256}.
    """
    return schedule_of(schedule).verify(seed=seed, sizes=_sizes_of(schedule, sizes))


def prove(schedule: Scheduled) -> Proof:
    """Whether the schedule computes what its program did, for all inputs and sizes: `.status` is "proved", "refuted" or "unknown"."""
    return schedule_of(schedule).prove()


def to_tvm_python(schedule: Scheduled, version: str = "0.27", *, sizes: Mapping[str, int] | None = None) -> str:
    """A Python file for a version of Apache TVM that makes the program and the same calls; a notebook's variables are kept.

    What the version lacks is said in place. With `sizes` the file leaves the module with these numbers as well (`sized`).
    Raises TilewrightError "unknown-version", "unknown-size".
    """
    names = schedule.names if isinstance(schedule, Notebook | TEProgram) else None
    return _export.to_tvm_python(schedule_of(schedule), names, version, sizes=sizes)


def to_c(schedule: Scheduled, *, sizes: Mapping[str, int] | None = None) -> str:
    """The scheduled program as a C file; `sizes` are numbers for symbolic sizes, those that are left out are parameters of the function.

    Integers come out as `run` has them, bit for bit, floats to rounding. Raises TilewrightError "no-c" for what has no C.
    """
    return _export.to_c(with_sizes(schedule_of(schedule).func, dict(sizes or {})).func)


def schedule_of(scheduled: Scheduled) -> Schedule:
    """The schedule itself. Raises a notebook's error when it has one: what its last lines say would be missing."""
    if isinstance(scheduled, Schedule):
        return scheduled
    if isinstance(scheduled, TEProgram):
        return scheduled.schedule
    if not isinstance(scheduled, Notebook):
        return Schedule(scheduled)
    if scheduled.error is not None:
        raise scheduled.error
    assert scheduled.schedule is not None, "a notebook without an error has a schedule"
    return scheduled.schedule
