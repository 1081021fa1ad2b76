"""The input of commands: a notebook with its schedule applied, its sizes and its machine.

All commands share one syntax: a path, `-` for standard input, or a link that contains a notebook. `FILE@3` is the schedule after three of
its lines, `FILE@start` the program before it, `FILE@NAME` a branch. `FILE#2` is the second program of a text with several,
`FILE#NAME` the one of this name. FILE may be a carrier of programs (see `engine/adopt/carriers`), or a folder.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec.structs import replace

from ... import static
from ...engine.data import DataValue
from ...engine.hwsim import EXAMPLE_TRIPS, Machine, MachineError, Report, load_machine, simulate
from ...engine.ir import PrimFunc, Refusal
from ...engine.lower import missing_sizes, with_sizes
from ...engine.schedule import Schedule, ScheduleError
from ...engine.script import Note
from ..document import (
    DEFAULT_MACHINE,
    Converted,
    Document,
    DocumentError,
    Notebook,
    converted,
    evaluate,
    load_document,
    read_document,
    sizes_for,
)
from ..document.editing.branches import branches, with_branch
from ..document.files.arrays import read_integers
from ..document.files.program_folder import folder_text, with_workloads
from ..document.files.read_write import read_stream
from ..links import is_link, text_of
from .exit_codes import RefusedError
from .logs import log, timed

STANDARD_INPUT = "-"

_PROGRAM = re.compile(r"\d{1,3}|[A-Za-z_][\w.]*")

MOST_OTHERS = 8
"""Maximum number of other programs of a text that are named in notes."""

MOST_NAMES = 10_000
"""Maximum number of files in a folder that are searched for a similar name."""

MAX_ACCESSES = 1 << 27
"""Maximum number of simulated cache accesses: a quarter of a minute. The page, which must stay responsive, has a lower limit."""


class Opened(msgspec.Struct, frozen=True, eq=False):
    """A notebook after the first `count` of its schedule lines (None: all). `given` are the command line's sizes. `as_read`: the lines are
    those of the file, without a conversion or another branch."""

    notebook: Notebook
    label: str
    count: int | None
    given: Mapping[str, int]
    as_read: bool = True

    @property
    def schedule(self) -> Schedule:
        return self.notebook.states[-1 if self.count is None else self.count].schedule

    @property
    def names(self) -> Mapping[str, Any]:
        return self.notebook.states[-1 if self.count is None else self.count].names

    @property
    def sizes(self) -> dict[str, int]:
        """The notebook's sizes, overridden by those of the command line."""
        return {**sizes_for(self.schedule.func, self.notebook.sizes), **self.given}

    @property
    def costed(self) -> PrimFunc:
        """The function to simulate."""
        return with_sizes(self.schedule.described, self.sizes).func

    def machine(self, asked: str | None) -> Machine:
        """The requested machine, else the notebook's, else the default."""
        found = load_machine(asked) if asked else self.notebook.machine or load_machine(DEFAULT_MACHINE)
        log.debug(
            "machine %s: %s",
            found.name,
            "requested" if asked else "of the file" if self.notebook.machine else "default",
        )
        return found


def opened(file: str, arguments: Namespace) -> Opened:
    """The notebook of a file with its lines applied, and the sizes and the data of the command line. Raises RefusedError or TilewrightError
    for an error in it."""
    document, given, count, as_read = _notebook_file(file, dict(arguments.size))
    with timed(f"applying {file}"):
        notebook = evaluate(document, given=data_of(arguments))
    log_notes(notebook.notes)
    known = len(notebook.states) - 1
    if notebook.error is not None and (count is None or count > known or not notebook.states):
        raise RefusedError(notebook.error) if isinstance(notebook.error, ScheduleError) else notebook.error
    if count is not None and count > known:
        path, found = path_of(file), f"the schedule has {known} lines"
        raise DocumentError(
            Refusal("no-such-step", f"{path} has no step {count}", found, f"{path}@0 to {path}@{known}")
        )
    return Opened(notebook, file, count, given, as_read)


def data_of(arguments: Namespace) -> Mapping[str, DataValue]:
    """The data of the options --mean and --data. Raises DocumentError."""
    given: list[tuple[str, DataValue]] = arguments.data
    return {
        name: read_integers(Path(value)) if isinstance(value, str) and value.endswith(".npy") else value
        for name, value in given
    }


def _split_step(file: str) -> tuple[str, str]:
    """Split FILE@STEP into the file and the text after the @. An existing path that contains an @ is not split."""
    path, sign, at = file.rpartition("@")
    return (path, at) if sign and path and at and not is_link(f"@{at}") and not os.path.exists(file) else (file, "")


def split_program(path: str) -> tuple[str, int | str]:
    """Split FILE#2 or FILE#NAME into the file and the number or name of the program; 0 without one. An existing path that contains a #
    is not split."""
    file, sign, name = path.rpartition("#")
    if not (sign and file and _PROGRAM.fullmatch(name)) or is_link(path) or os.path.exists(path):
        return path, 0
    return file, int(name) if name.isdecimal() else name


def path_of(file: str) -> str:
    """The path in `FILE@3`, `FILE#2` and `FILE#NAME`."""
    return split_program(_split_step(file)[0])[0]


def _on_branch(document: Document, name: str) -> Document:
    known = [branch.name for branch in branches(document)]
    if name not in known:
        raise DocumentError(
            Refusal(
                "no-such-branch",
                f"there is no branch {name!r}",
                expected=", ".join(known) or "a step number; the notebook has no branches",
            )
        )
    return with_branch(document, name)


def source(file: str) -> Document:
    """Read a path, standard input, or a link; a folder is read as an archive of its programs. Raises the errors of `load`, `read_stream`,
    `folder_text` and `text_of`."""
    if file == STANDARD_INPUT:
        if sys.stdin is None:
            raise DocumentError(Refusal("no-such-file", "standard input is closed"))
        text = _all_of(sys.stdin)
        document, name = read_document(text_of(text) if is_link(text) else text), "standard input"
    elif is_link(file):
        document, name = read_document(text_of(file)), "a link"
    elif Path(file).is_dir():
        document, name = read_document(folder_text(Path(file))), file
    else:
        document, name = load(file), file
    log.debug("read %s: %d lines, %d cells", name, document.text.count("\n"), len(document.cells))
    return document


@lru_cache(maxsize=1)
def _all_of(stream: TextIO) -> str:
    """The whole stream, cached: it can be read only once, and `diff -@2 -@3` names it twice."""
    return read_stream(stream.buffer, "standard input")


def written_back(document: Document, output: str | None) -> str:
    """The path for a changed notebook: `output`, else the file that it was read from. Raises DocumentError "no-path"."""
    target = output or document.path
    if not target:
        raise DocumentError(Refusal("no-path", "the input is not a file and cannot be overwritten", fix=("-o FILE",)))
    return target


def load(path: str | Path) -> Document:
    """The notebook at `path`. Raises the errors of `load_document`; that of a missing file suggests similar names."""
    try:
        return with_workloads(load_document(path))
    except DocumentError as error:
        raise no_such_file(Path(path)) if error.code == "no-such-file" else error from None


def no_such_file(path: Path) -> DocumentError:
    """The error for a missing file; it suggests similar names in the folder, or the example of that name."""
    refusal = Refusal("no-such-file", f"there is no file {path}")
    if not path.parent.is_dir():
        missing = next((p for p in reversed(path.parents) if not p.exists()), path.parent)
        return DocumentError(replace(refusal, found=f"there is no folder {missing}"))
    beside = [entry.name for entry in islice(path.parent.iterdir(), MOST_NAMES)]
    near = [str(path.with_name(name)) for name in get_close_matches(path.name, beside)]
    if any((resources.files(static) / folder / f"{path.stem}.py").is_file() for folder in ("examples", "templates")):
        near.append(f"tilewright new {path.stem}.py --template {path.stem}")
    return DocumentError(replace(refusal, fix=tuple(near)))


def notebook_file(file: str, sizes: Mapping[str, int]) -> tuple[Document, dict[str, int], int | None]:
    """The file as a notebook on the requested branch, the sizes that are still symbolic, and the number of schedule lines to apply (None:
    all). TE text and posted code are converted to a notebook with the schedule as calls."""
    document, given, count, _ = _notebook_file(file, sizes)
    return document, given, count


def _notebook_file(file: str, sizes: Mapping[str, int]) -> tuple[Document, dict[str, int], int | None, bool]:
    path, at = _split_step(file)
    path, number = split_program(path)
    read = source(path)
    found = of_program(read, path, number, sizes)
    count = 0 if at == "start" else int(at) if at.isdecimal() else None
    document = _on_branch(found.document, at) if at and count is None else found.document
    return document, {} if found.sizes_used else dict(sizes), count, document.text == read.text


def require_whole(file: str, count: int | None, what: str) -> None:
    """Refuse FILE@3 for the operation `what`, which needs the whole schedule. Raises DocumentError "not-a-whole"."""
    if count is not None:
        path = path_of(file)
        raise DocumentError(Refusal("not-a-whole", f"{what} needs the whole schedule", found=file, fix=(path,)))


def whole(read: Any) -> Converted:
    """Return the result of `read()` and log its notes. Raises the error of a schedule that stops half-way."""
    try:
        found: Converted = read()
    except ScheduleError as error:
        raise RefusedError(error) from error
    log_notes(found.notes)
    if isinstance(found.stopped, ScheduleError):
        raise RefusedError(found.stopped) from found.stopped
    if found.stopped is not None:
        raise found.stopped
    return found


def home_of(document: Document, path: str) -> Path | None:
    """The file or folder beside which the imports of a text are read."""
    if document.path:
        return Path(document.path).absolute()
    return (
        Path(path).absolute()
        if path not in ("", STANDARD_INPUT) and not is_link(path) and Path(path).is_dir()
        else None
    )


def of_program(read: Document, path: str, program: int | str, sizes: Mapping[str, int | str]) -> Converted:
    """The document, converted to a notebook of the program that FILE#2 or FILE#NAME names (0: none). Logs its notes, and the other programs
    if none is named. Raises the errors of `whole`, DocumentError "no-such-program"."""
    found = whole(lambda: converted(read, DEFAULT_MACHINE, sizes, program, home=home_of(read, path)))
    if found.post is None and program not in (0, 1):
        raise DocumentError(Refusal("no-such-program", f"{path} has one program", found=str(program), fix=(path,)))
    if program == 0 and found.post is not None:
        others = [(n, label) for n, label in enumerate(found.post.labels, 1) if n != found.post.number]
        for number, label in others[:MOST_OTHERS]:
            log.info("note: %s#%d is %s", path, number, label)
        if len(others) > MOST_OTHERS:
            log.info("note: %d more: tilewright import %s --list", len(others) - MOST_OTHERS, path)
        if found.post.has_graph:
            log.info("note: tilewright import %s -o FOLDER makes a model of the graph that calls them", path)
    return found


def log_notes(notes: Sequence[Note]) -> None:
    """Log notes of the conversion of a text."""
    for note in notes:
        log.info("note: %s: %s", note.where, note.text)


def simulated(func: PrimFunc, machine: Machine) -> Report:
    """Simulate a function. Raises RefusedError if the machine cannot run it, MachineError "missing-sizes" for symbolic sizes."""
    try:
        return simulate(func, machine, max_accesses=MAX_ACCESSES)
    except MachineError as error:
        if error.code == "missing-sizes":
            options = " ".join(f"--size {name}=256" for name in missing_sizes(func))
            raise MachineError(replace(error.refusal, fix=(options, *error.refusal.fix))) from error
        if error.code == "unknown-trip-count" and error.refusal.fix:
            options = " ".join(f"--mean {name}={EXAMPLE_TRIPS}" for name in error.refusal.found.split(", "))
            files = " ".join(f"--data {name}=FILE.npy" for name in error.refusal.found.split(", "))
            raise RefusedError(
                MachineError(replace(error.refusal, fix=(options, files, *error.refusal.fix)))
            ) from error
        raise RefusedError(error) from error
