"""The search of a model's kernels, each schedule written into its kernel's file as soon as it is found.

The folder `.search` beside the kernels has what the search knows: for each kernel a JSON file and the outcomes of the candidates. A kernel
whose schedule differs from the one in that file has been edited, and is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ....engine.hwsim import Machine
from ....engine.ir import PrimFunc, Refusal
from ....engine.network import KernelState, KernelStudy, NetworkProgress, NetworkStudy, explore_network
from ....engine.script import to_script
from ..cells import Document
from ..editing.branches import add_branch, branches, with_schedule
from ..evaluate import evaluate
from ..files.read_write import DocumentError, load_document, replace_text, stamp_of, temporary_name
from ..notebook import Notebook
from .folder import KERNELS, NetworkNotebook, load_network, model_file

SEARCH = ".search"
"""The folder of a model's searches."""

BRANCH = "auto"
"""The branch for a schedule found for a kernel that has one already."""

Watch = Callable[[NetworkProgress], object]


class StoredStudy(msgspec.Struct, frozen=True):
    """A kernel's study on disk, with the machine and the program for which it holds."""

    machine: Machine
    program: str
    study: KernelStudy


def explore_model(
    path: str | Path,
    machine: Machine | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    seconds: float = 600.0,
    workers: int = 2,
    again: bool = False,
    database: str | Path | None = None,
    watch: Watch | None = None,
    stop: Callable[[], bool] | None = None,
) -> NetworkStudy:
    """Search schedules for the kernels of the model at `path` and write each into its file; see `explore_network`.

    A later call resumes. Kernels that somebody scheduled are kept; with `again` they are searched too, and a faster schedule becomes a new
    branch of the file. `database` is a file of found schedules to begin with and to add to. Raises DocumentError "no-folder" for the text
    of a module, and the errors of `load_network`.
    """
    model = load_network(path, sizes)
    folder = model_file(path).parent
    if not model.notebooks:
        fix = (f"tilewright import {path} -o FOLDER",)
        raise DocumentError(Refusal("no-folder", f"{path} has no folder of kernels to write schedules to", fix=fix))
    target = machine or model.machine
    files = _KernelFiles(model, folder, target, again=again)
    studies = folder / SEARCH
    studies.mkdir(exist_ok=True)

    def received(progress: NetworkProgress) -> None:
        files.write(progress.last)
        if watch is not None:
            watch(progress)

    return explore_network(
        model.network, target, model.sizes, seconds=seconds, workers=workers,
        scheduled={} if again else files.edited, known=files.known, folder=studies, database=database, watch=received,
        stop=stop,
    )  # fmt: skip


class _KernelFiles:
    """The files of the kernels. `known` are the studies on disk whose schedules the files still have, `edited` the programs of the kernels
    with another schedule."""

    def __init__(self, model: NetworkNotebook, folder: Path, machine: Machine, *, again: bool) -> None:
        self._folder, self._machine = folder, machine
        self._programs = {f.name: to_script(f) for f in model.network.kernels}
        stored = {name: self._stored(name) for name in self._programs}
        self.known = {name: study for name, study in stored.items() if study is not None}
        self._text = {name: _steps(notebook) for name, notebook in model.notebooks.items()}
        self.edited: dict[str, PrimFunc] = {}
        for name, func in model.scheduled.items():
            study = self.known.get(name)
            if study is None or _lines(study.lines) != self._text[name]:
                self.edited[name] = func
                self.known.pop(name, None)
        self._limits: dict[str, int] = {}
        if again:
            for cost in model.simulate(machine).kernels:
                if cost.kernel.name in self.edited:
                    self._limits[cost.kernel.name] = self._limits.get(cost.kernel.name, 0) + cost.cycles

    def write(self, state: KernelState) -> None:
        """Write a kernel's study, and its schedule into the kernel's file, unless somebody has changed that meanwhile or made a faster
        one."""
        study, name = state.study, state.name
        if study is None:
            return
        if study.lines and _lines(study.lines) != self._text[name]:
            limit = self._limits.get(name)
            if (limit is not None and state.cycles >= limit) or not self._schedule(study):
                return
            self._limits.pop(name, None)
        text = json.dumps(msgspec.to_builtins(StoredStudy(self._machine, self._programs[name], study)))
        _replaced(self._path(name), text)

    def _schedule(self, study: KernelStudy) -> bool:
        path = self._folder / KERNELS / f"{study.kernel}.py"
        known = stamp_of(path)
        document = load_document(path)
        notebook = evaluate(document)
        if _steps(notebook) != self._text[study.kernel]:
            return False
        made = _with_lines(notebook, study.lines, is_edited=study.kernel in self.edited)
        try:
            replace_text(path.resolve(), made.text, known, temporary_name(path))
        except DocumentError as error:
            if error.refusal.code != "changed-on-disk":
                raise
            return False
        self._text[study.kernel] = _lines(study.lines)
        self.edited.pop(study.kernel, None)
        return True

    def _stored(self, name: str) -> KernelStudy | None:
        """The study on disk; None if there is none for this program and machine."""
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            found = msgspec.json.decode(self._path(name).read_bytes(), type=StoredStudy)
            if found.machine == self._machine and found.program == self._programs[name]:
                return found.study
        return None

    def _path(self, name: str) -> Path:
        return self._folder / SEARCH / f"{name}.json"


def _with_lines(notebook: Notebook, lines: str, *, is_edited: bool) -> Document:
    """The document with these lines as its schedule. Somebody's own schedule stays on its branch."""
    document = notebook.document
    if is_edited:
        taken = {branch.name for branch in branches(document)}
        document = add_branch(
            document, next(n for n in (BRANCH, *(f"{BRANCH} {k}" for k in range(2, 99))) if n not in taken)
        )
    assert isinstance(notebook.program, PrimFunc)
    first = f"{notebook.schedule_name} = tilewright.Schedule({notebook.program.name})"
    return with_schedule(document, document.newline.join(["# %% schedule", first, *lines.splitlines(), ""]))


def _steps(notebook: Notebook) -> list[str]:
    return [step.text for step in notebook.steps]


def _lines(text: str) -> list[str]:
    """The calls of a schedule's text, without comments."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _replaced(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new text."""
    replace_text(path, text, stamp_of(path), temporary_name(path))


__all__ = ["SEARCH", "explore_model"]
