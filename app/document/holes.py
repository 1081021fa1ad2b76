"""The holes of a notebook: its schedule as a search space, and points of the space written back into the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ...engine.adopt import is_hole
from ...engine.analysis import ProgramIndex
from ...engine.explore import (
    DerivedSpace,
    DerivedStart,
    Pins,
    Settings,
    Space,
    deriving_starts,
    space_of,
    start_of_search,
    with_kernel,
)
from ...engine.hwsim import Machine
from ...engine.ir import Refusal, Var
from .cells import Document
from .editing.apply import replace_call, replace_cell
from .editing.branches import add_branch, with_schedule
from .editing.kernel_edits import kernel_of
from .files.read_write import DocumentError
from .intrinsics import read_intrinsics
from .notebook import Notebook
from .settings import sizes_for
from .workload import program_names, workload_cell

AUTO = "auto"


def notebook_space(notebook: Notebook, values: Mapping[str, tuple[str, ...]] | None = None) -> Space:
    """The notebook's schedule as a space, with the values of a TileLang kernel; a schedule without holes has a single point. With `values`
    of the kernel, these are searched and no others. Raises DocumentError, HoleError, SpaceError, KernelError."""
    if notebook.program is None or not notebook.states:
        raise DocumentError(Refusal("no-workload", "there is no program to schedule"))
    space = space_of(
        notebook.program,
        [step.call for step in notebook.steps],
        schedule_name=notebook.schedule_name,
        sizes=sizes_for(notebook.states[0].schedule.func, notebook.sizes),
        intrinsics=read_intrinsics(notebook.document),
    )
    return with_kernel(space, kernel_of(notebook.document, values))


def has_holes(notebook: Notebook) -> bool:
    """Whether a line of the schedule is a hole."""
    return any(is_hole(step.call) for step in notebook.steps)


def with_point(document: Document, space: Space, point: Sequence[int]) -> Document:
    """The document with its schedule's holes replaced by values (`tile = 64`), and the literals of its kernel by those of the point; every
    other byte is unchanged."""
    for n, line in reversed(space.filled_at(point)):
        if n >= space.own_lines:
            document = replace_call(document, n - space.own_lines, line)
    text, cell = space.kernel_at(point), workload_cell(document)
    return document if text is None or cell is None else replace_cell(document, cell, text)


def derived_start(
    notebook: Notebook,
    machine: Machine,
    settings: Settings | None = None,
    stop: Callable[[], bool] | None = None,
    database: str | Path | None = None,
    keep: Pins | None = None,
) -> DerivedStart:
    """The space derived from program and machine, with its default schedule; see `deriving`."""
    steps = deriving(notebook, machine, settings or Settings(), stop, database, keep)
    *_, found = (start for start in steps if start is not None)
    return found


def deriving(
    notebook: Notebook,
    machine: Machine,
    settings: Settings,
    stop: Callable[[], bool] | None = None,
    database: str | Path | None = None,
    keep: Pins | None = None,
) -> Iterator[DerivedStart | None]:
    """Derives a space from program and machine step by step, as `engine.explore.deriving_starts`: yields the space of the fastest schedule
    so far whenever there is a faster one, and the result last. `stop` ends the derivation with the best so far, `database` has schedules
    to begin with, `keep` are pins of its holes. Raises DocumentError, TilingTargetError "no-main-block"."""
    if notebook.program is None or not notebook.states:
        raise DocumentError(Refusal("no-workload", "there is no program to schedule"))
    if kernel_of(notebook.document) is not None:
        yield start_of_search(_kernel_space(notebook), machine, settings)
        return
    yield from deriving_starts(
        notebook.program,
        machine,
        settings,
        sizes=sizes_for(notebook.states[0].schedule.func, notebook.sizes),
        database=database,
        schedule_name=notebook.schedule_name,
        intrinsics=read_intrinsics(notebook.document),
        stop=stop or (lambda: False),
        keep=keep,
    )


def _kernel_space(notebook: Notebook) -> DerivedSpace:
    """The values of a TileLang kernel as a space: its text has a schedule, to which another one cannot be added."""
    space = notebook_space(notebook)
    if not space.holes:
        raise DocumentError(Refusal("no-holes", "the kernel has no literals for stages, threads or tiles to choose",
                                    expected="T.Pipelined(n, num_stages=2), or a variable such as block_M = 64"))  # fmt: skip
    values = () if space.kernel is None else space.kernel.values
    words = {
        "stages": "stages of a pipelined loop",
        "threads": "threads of a block",
        "tile": "size of a tile",
        "split": "parts of a sum in several blocks",
    }
    return DerivedSpace(space, "", tuple(f"{v.name}: {words[v.role]}, {' or '.join(v.texts)}" for v in values))


def hand_tiles(notebook: Notebook) -> dict[str, int]:
    """The tiles of the program's loops in a person's schedule: of each `split` into two with a number inside, that number by the name of
    the hole that a derivation writes for the loop. Loops of equal names count if their tiles are equal."""
    if notebook.program is None or not notebook.states or has_holes(notebook):
        return {}
    schedule, original = notebook.states[-1].schedule, ProgramIndex(notebook.states[0].schedule.func)
    loops = {loop.loop_var for name in original.block_names[1:] for loop in original.loops_of(name)}
    found: dict[str, set[int]] = {}
    for step in schedule.trace.steps:
        loop = step.argument("loop") if step.method == "split" else None
        if isinstance(loop, Var) and loop in loops:
            factors = step.argument("factors")
            inner = factors[-1] if isinstance(factors, list | tuple) and len(factors) == 2 else None
            found.setdefault(loop.name, set()).add(inner if isinstance(inner, int) else 0)
    return {f"tile {name}": tile for name, (tile, *others) in found.items() if tile and not others}


def with_derived(notebook: Notebook, found: DerivedSpace, name: str = AUTO) -> Document:
    """The document with a derived space as its schedule. An existing schedule is kept, and the space becomes a new branch `name`."""
    document = notebook.document
    if found.space.kernel is not None:  # its lines are in the kernel's text
        return document
    newline = document.newline
    first = f"{notebook.schedule_name} = tilewright.Schedule({program_names(document)[-1]})"
    lines = ["# %% schedule", first, *found.text.splitlines(), ""]
    if notebook.steps:
        document = add_branch(document, name)
    elif not document.of_kind("schedule"):
        ended = not document.text or document.text.endswith(newline)
        lines = [*([""] if ended else ["", ""]), *lines]
    return with_schedule(document, newline.join(lines))


def branch_at(document: Document, space: Space, point: Sequence[int], name: str) -> Document:
    """The document on a new branch with the holes filled; the schedule with its holes stays on its own branch."""
    return with_point(add_branch(document, name), space, point)
