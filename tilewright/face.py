"""The public functions and types of the package. `tilewright/__init__.py` imports this module on first use of a public name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec.structs import replace

from .app.document import (
    DEFAULT_MACHINE,
    DocumentError,
    Notebook,
    converted,
    evaluate,
    load_document,
    read_document,
    sizes_for,
    with_origins,
)
from .app.document.files.program_folder import folder_text, with_workloads
from .app.document.holes import notebook_space
from .app.document.networks import NetworkNotebook, explore_model, load_network
from .app.document.posts import read_post
from .engine import explore as _explore
from .engine import export as _export
from .engine import hwsim as _hwsim
from .engine import lint as _lint

# `script` is not imported by that name: `tilewright/script.py` has it.
from .engine import script as _script
from .engine.adopt import Snippet, from_tvm, from_tvm_trace, is_carrier
from .engine.adopt import read_pasted as _read_pasted
from .engine.data import DataValue
from .engine.data import with_data as _with_data
from .engine.execute import Verdict
from .engine.execute import random_inputs as _random_inputs
from .engine.execute import run as _run
from .engine.explore import SCHEDULE_RULES, Database, DerivedSpace, Progress, ScheduleRule, Space, Study
from .engine.export import chrome_trace, report_text
from .engine.hwsim import Machine, MachineParameter, Report
from .engine.hwsim import load_machine as machine
from .engine.hwsim import preset_names as machines
from .engine.ir import (
    AXIS_SEPARATOR,
    IndexMap,
    IRModule,
    Network,
    Place,
    PrimFunc,
    Refusal,
    TilewrightError,
    structural_equal,
)
from .engine.lint import LintFinding
from .engine.lower import sizes_of_arrays, with_sizes
from .engine.measure import Candidate, Measured
from .engine.measure import measure as _measure
from .engine.network import NetworkReport, NetworkStudy, explore_network, run_network, simulate_network
from .engine.prove import Proof
from .engine.schedule import Schedule, ScheduleError, TensorIntrin
from .engine.script import ParseError
from .engine.script.language import tree_of
from .engine.script.relax import parse_network
from .engine.te import TEProgram, read_te
from .engine.te import parse as _parse
from .ipython import load_ipython_extension
from .kernel import Kernel

if TYPE_CHECKING:
    from .app.jupyter import LayoutPicker, LoopTree, ScheduleNotebook, Timeline

__all__ = [
    "AXIS_SEPARATOR",
    "SCHEDULE_RULES",
    "Database",
    "DerivedSpace",
    "DocumentError",
    "IRModule",
    "IndexMap",
    "Kernel",
    "LayoutPicker",
    "LintFinding",
    "LoopTree",
    "Machine",
    "MachineParameter",
    "Measured",
    "Network",
    "NetworkNotebook",
    "NetworkReport",
    "NetworkStudy",
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
    "ScheduleRule",
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
    "derive_space",
    "explore",
    "explore_model",
    "explore_network",
    "from_tvm",
    "from_tvm_trace",
    "lint",
    "load",
    "load_ipython_extension",
    "load_network",
    "machine",
    "machines",
    "measure",
    "parse",
    "parse_network",
    "prove",
    "random_inputs",
    "read_pasted",
    "read_te",
    "report_text",
    "run",
    "run_network",
    "sensitivity",
    "simulate",
    "simulate_network",
    "to_c",
    "to_script",
    "to_tvm_python",
    "verify",
    "with_data",
]

T = TypeVar("T")

WIDGETS = frozenset({"LayoutPicker", "LoopTree", "ScheduleNotebook", "Timeline"})
"""Names from the user interface: its libraries need two seconds to import, so they are imported on first use."""


def _widget(name: str) -> object:
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


if not TYPE_CHECKING:  # a type checker takes every name for one of a module with `__getattr__`
    __getattr__ = _widget

Scheduled = Schedule | Notebook | TEProgram | IRModule | PrimFunc
"""Anything with a schedule: a schedule, a notebook, TE text, or a program (a schedule without calls)."""


def choose(name: str, values: Sequence[T]) -> T:
    """Mark a hole of a schedule: `explore` chooses one of `values`, studies call it `name`. A plain run returns the first value.

    With `tile = tilewright.choose("tile", [32, 64, 128])` the file runs with 32, and `tilewright explore` tries the others.
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
    database: Database | str | Path | None = None,
    keep: Mapping[str, Any] | None = None,
) -> Study:
    """Explore the values of a schedule's holes on a machine: `.best`, `.front`, `.offers` (the best, verified), `.trials`.

    `scheduled` is a notebook with holes (see `choose`), or a space, such as one derived by `derive_space`. `objectives` are minimized:
    "cycles", "energy", "traffic", "peak", "peak local.vtcm"; several objectives give a Pareto front. `budgets` are upper limits of metrics.
    `workers`: 0 for this thread, a number of processes, or a Dask scheduler's address. `store` is a file that keeps outcomes and resumes a
    study. Equal seeds give equal results for any workers; `seconds` limits the time, and the study keeps the results found until then.
    `database`, a file or a Database, has schedules found before: the search begins with the nearest ones and adds its best; give it to
    `derive_space` as well. `keep` pins holes to a value, or to several in a list: {"tile": 64, "order": [["i", "j"], ["j", "i"]]}; the
    search varies the others. Raises ObjectiveError, StoreError, ExploreError, SpaceError (each a TilewrightError).
    """
    if isinstance(scheduled, Notebook):
        space, machine = notebook_space(scheduled), _machine_of(scheduled, machine)
    else:
        space = scheduled.space if isinstance(scheduled, DerivedSpace) else scheduled
        machine = _named_machine(machine)
    space = _explore.pinned(space, keep or {})
    settings = _explore.Settings(tuple(objectives), dict(budgets or {}), trials, seed, seconds=seconds)
    origin = scheduled.origin if isinstance(scheduled, DerivedSpace) else None
    return _explore.explore(
        space, machine, settings, workers=workers, store=store, watch=watch, database=database, origin=origin
    )


def derive_space(
    program: IRModule | PrimFunc,
    machine: Machine | str | Path,
    *,
    sizes: Mapping[str, int] | None = None,
    rules: Sequence[ScheduleRule] = SCHEDULE_RULES,
    database: Database | str | Path | None = None,
    keep: Mapping[str, Any] | None = None,
) -> DerivedSpace:
    """Derive a schedule with holes from a program and a machine: `.text` for reading and editing, `.space` for `explore`, `.explanation`.

    `rules` write the schedule of each group of blocks that run tile by tile together; add your own to SCHEDULE_RULES. Without rules, only
    the largest block is tiled, and nothing is simulated. `database` has schedules found before, which are simulated first. `keep` are
    values of holes, {"tile i": 64}: schedules that have them are preferred; give it to `explore` as well. Raises TilingTargetError
    "no-main-block" if no block can be tiled.
    """
    found = _named_machine(machine)
    with _explore.WarmStart(database, program, sizes or {}, found) as warm:
        return _explore.derive_space(program, found, sizes=sizes, rules=rules, records=warm.records, keep=keep)


def auto_space(
    program: IRModule | PrimFunc, machine: Machine | str | Path, *, sizes: Mapping[str, int] | None = None
) -> DerivedSpace:
    """Deprecated name of `derive_space`."""
    warnings.warn("auto_space is now derive_space", DeprecationWarning, stacklevel=2)
    return derive_space(program, machine, sizes=sizes)


def parse(text: str, filename: str = "") -> IRModule | PrimFunc:
    """Parse TVMScript `text`: a module, or a function if the text has one function outside of a class.

    TE text (`te.placeholder`, `te.compute`, …) is detected and gives its block program; `read_te` returns its schedule too. The text is
    never executed. Raises ParseError, whose `.refusal.place` has line and column (in `filename`, for messages).
    """
    return _parse(text, filename).program


def read_pasted(text: str, program: IRModule | PrimFunc | None = None, filename: str = "") -> Snippet:
    """Return the program of `text` (or `program`, if the text contains only the schedule) with its schedule applied. Of a post or a
    carrier, such as a saved web page, it is the first program, with notes on what is left out.

    Raises ParseError for an unreadable line, and the ScheduleError of a refused call.
    """
    is_python = program is not None or (tree_of(text) is not None and not is_carrier(text))
    post = None if is_python else read_post(text.lstrip("\ufeff"), filename, 0, {})
    if post is None:
        return _read_pasted(text.lstrip("\ufeff"), program, filename)
    if post.found.stopped is not None:
        raise post.found.stopped
    return replace(post.found, notes=post.notes)


def load(path: str | Path, program: int | str = 0, *, sizes: Mapping[str, int | str] | None = None) -> Notebook:
    """Load and evaluate the notebook file at `path`: `.program`, `.machine`, `.schedule`, `.names`, `.steps`, `.error`.

    A text that is no notebook is converted, as `tilewright import` does it: a post, a file of Python, a carrier such as `.ipynb` or a zip
    archive, a folder. Of several programs, `program` is the number from 1 or the name of one; `sizes` are values that a program needs.

    Raises DocumentError when the file cannot be read; an error in its content is in `.error`, with its line.
    """
    file = Path(path)
    document = read_document(folder_text(file)) if file.is_dir() else with_workloads(load_document(path))
    try:
        made = converted(document, DEFAULT_MACHINE, sizes, program, home=file.absolute())
    except DocumentError:
        raise
    except TilewrightError as error:
        return replace(evaluate(document), error=error)
    notebook = evaluate(made.document)
    return notebook if made.stopped is None else replace(notebook, error=made.stopped)


def to_script(program: Scheduled, dialect: Literal["current", "classic"] = "current") -> str:
    """Print a program, or the program after a schedule, as TVMScript; `dialect` is "current" (TVM 0.24 and newer) or "classic".

    Raises TilewrightError "unknown-dialect".
    """
    if dialect not in ("current", "classic"):
        raise TilewrightError(
            Refusal("unknown-dialect", f"there is no dialect {dialect!r}", expected='"current" or "classic"')
        )
    shown = program if isinstance(program, IRModule | PrimFunc) else schedule_of(program).mod
    return _script.to_script(shown, dialect)


def simulate(
    program: Scheduled,
    machine: Machine | str | Path | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    max_accesses: int = _hwsim.MAX_ACCESSES,
) -> Report:
    """Simulate the program on a machine: an object, a name, or a TOML file; the default is the notebook's own machine.

    The report attributes engine stalls to the steps of the schedule (`.engines[…].waits[…].origin`). `sizes` are numbers for the program's
    symbolic sizes, {"M": 256}; they override those of a notebook. With caches, repeated states are skipped; a
    program whose other accesses cost more than `max_accesses` has a report without cache stalls, and a finding that says so. Raises
    MachineError (a TilewrightError) when an engine cannot reach an operand, the machine's description is wrong, sizes are missing.
    """
    report = _hwsim.simulate(*_on_machine(program, machine, sizes), max_accesses=max_accesses)
    if isinstance(program, Notebook):
        return with_origins(report, program)
    return report if isinstance(program, PrimFunc) else _export.attributed_to(report, schedule_of(program))


def sensitivity(
    program: Scheduled, machine: Machine | str | Path | None = None, *, sizes: Mapping[str, int] | None = None
) -> tuple[MachineParameter, ...]:
    """Rank the machine parameters by the cycles saved if each alone is improved by a factor of two, the most limiting first.

    Arguments and errors are those of `simulate`.
    """
    return _hwsim.sensitivity(*_on_machine(program, machine, sizes))


def measure(
    programs: Scheduled | Mapping[str, Scheduled],
    *,
    sizes: Mapping[str, int] | None = None,
    seconds: float = 10.0,
    cpu: str = "",
) -> Measured:
    """Build programs with TVM for LLVM and run them on this computer, in one thread: `.rows[…].warm.median` in microseconds, `.host`.

    A mapping names the programs, which compute the same: the results of each are compared with those of the first
    (`.rows[…].difference`). For one schedule the program before it is measured too, as "start". `seconds` is the time of all runs without
    building; `cpu` is the processor to build for by LLVM's name, by default this one. The programs run in a confined process. Raises
    TilewrightError "no-tvm" without the extra `tvm`, "cannot-measure" if the first program is not for a processor core.
    """
    if not isinstance(programs, Mapping):
        found = schedule_of(programs)
        start = Schedule(found.original)
        programs = {"start": start} if structural_equal(start.func, found.func) else {"start": start, "schedule": found}
    candidates = [Candidate.of(name, schedule_of(p), _sizes_of(p, sizes)) for name, p in programs.items()]
    return _measure(candidates, seconds=seconds, cpu=cpu)


def lint(
    schedule: Scheduled, machine: Machine | str | Path | None = None, *, sizes: Mapping[str, int] | None = None
) -> tuple[LintFinding, ...]:
    """Find errors and waste in a schedule on a machine, the worst first, each with verified calls that fix it (`.fixes`).

    Arguments are those of `simulate`. A program that the machine cannot run is a finding, too; docs/lints.md lists all findings.
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
    # The function is used directly: a lowered function has no blocks that could be scheduled.
    func = program if isinstance(program, PrimFunc) else schedule_of(program).described
    return with_sizes(func, _sizes_of(program, sizes)).func, found


def run(program: Scheduled, arrays: Mapping[str, Any], *, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Run the program, or the program after a schedule, on NumPy arrays by parameter name; returns the final array of every parameter.

    Symbolic sizes that are not in `sizes` follow from the arrays. Raises ExecuteError (a TilewrightError).
    """
    func = program if isinstance(program, PrimFunc) else schedule_of(program).func
    given = sizes_of_arrays(func, {name: array.shape for name, array in arrays.items()})
    return _run(with_sizes(func, given | {**_sizes_of(program, sizes)}).func, arrays)


def random_inputs(program: Scheduled, seed: int = 0, *, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return small random values, by name, for every parameter that the program reads before it writes it.

    Equal seeds give equal values.
    """
    func = program if isinstance(program, PrimFunc) else schedule_of(program).func
    return _random_inputs(with_sizes(func, _sizes_of(program, sizes)).func, seed)


def _sizes_of(program: Scheduled, sizes: Mapping[str, int] | None) -> Mapping[str, int]:
    of_notebook = sizes_for(schedule_of(program).func, program.sizes) if isinstance(program, Notebook) else {}
    return {**of_notebook, **(sizes or {})}


def with_data(program: IRModule | PrimFunc, data: Mapping[str, DataValue]) -> IRModule | PrimFunc:
    """The program with data on which its trip counts and addresses depend: {"j": 12, "indptr": array, "rows": "distinct, 0..63"}.

    Schedules of the result are simulated and tested with this data. A number is the mean trip count of a loop, or the mean of an integer
    parameter; a list or an array of NumPy has the elements; words are facts of generated elements: "sorted", "distinct", bounds. Raises
    TilewrightError "unknown-data", "bad-data".
    """
    return _with_data(program, data)


def verify(schedule: Scheduled, *, seed: int = 0, sizes: Mapping[str, int] | None = None) -> Verdict:
    """Test whether the schedule computes the same results as its program: `.status` is "tested", "failed" or "unknown".

    `sizes` are numbers for the program's symbolic sizes, {"M": 256}.
    """
    return schedule_of(schedule).verify(seed=seed, sizes=_sizes_of(schedule, sizes))


def prove(schedule: Scheduled) -> Proof:
    """Prove that the schedule is equivalent to its program for all inputs and sizes: `.status` is "proved", "refuted" or "unknown"."""
    return schedule_of(schedule).prove()


def to_tvm_python(schedule: Scheduled, version: str = "0.27", *, sizes: Mapping[str, int] | None = None) -> str:
    """Export the program and its schedule calls as a Python file for a version of Apache TVM; a notebook's variables are kept.

    Comments mark features that the version lacks. With `sizes`, the file also defines `sized`, the module with these sizes. Raises
    TilewrightError "unknown-version", "unknown-size".
    """
    names = schedule.names if isinstance(schedule, Notebook | TEProgram) else None
    return _export.to_tvm_python(schedule_of(schedule), names, version, sizes=sizes)


def to_c(schedule: Scheduled, *, sizes: Mapping[str, int] | None = None) -> str:
    """Export the scheduled program as a C file; `sizes` are numbers for symbolic sizes, the others are parameters of the function.

    Integer results equal those of `run` bit for bit, float results up to rounding. Raises TilewrightError "no-c" for unsupported programs.
    """
    return _export.to_c(with_sizes(schedule_of(schedule).func, dict(sizes or {})).func)


def schedule_of(scheduled: Scheduled) -> Schedule:
    """Return the schedule of any scheduled object. Raises a notebook's error if it has one, because its last lines are not applied."""
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
