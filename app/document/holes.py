"""The holes of a notebook: its schedule as a space to search, and a point of the space written back into the text."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.adopt import is_hole
from ...engine.explore import Space, space_of
from ...engine.ir import Refusal
from .branches import add_branch
from .cells import Document
from .edit import replace_call
from .files import DocumentError
from .intrinsics import read_intrinsics
from .notebook import Notebook
from .sizes import sizes_for


def notebook_space(notebook: Notebook) -> Space:
    """The notebook's schedule as a space; one without holes has a single point. Raises DocumentError, HoleError, SpaceError."""
    if notebook.program is None or not notebook.states:
        raise DocumentError(Refusal("no-workload", "there is no program to schedule"))
    return space_of(
        notebook.program,
        [step.call for step in notebook.steps],
        schedule_name=notebook.schedule_name,
        sizes=sizes_for(notebook.states[0].schedule.func, notebook.sizes),
        intrinsics=read_intrinsics(notebook.document),
    )


def has_holes(notebook: Notebook) -> bool:
    """Whether a line of the schedule is a hole."""
    return any(is_hole(step.call) for step in notebook.steps)


def with_point(document: Document, space: Space, point: Sequence[int]) -> Document:
    """The document with the holes of its schedule filled: `tile = 64` in their places, all else byte for byte as it is."""
    for n, line in reversed(space.filled_at(point)):
        document = replace_call(document, n, line)
    return document


def branch_at(document: Document, space: Space, point: Sequence[int], name: str) -> Document:
    """The document on a new branch in which the holes are filled; the schedule with its holes is kept as it is."""
    return with_point(add_branch(document, name), space, point)
