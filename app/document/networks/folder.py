"""A model on disk: `model.py` has the graph, `kernels/NAME.py` the program and schedule of each kernel. Nothing in them is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace
from propcache.api import cached_property

from ....engine.hwsim import Machine, load_machine
from ....engine.ir import IRModule, Network, PrimFunc, Refusal
from ....engine.network import (
    Kernel,
    NetworkReport,
    Simulations,
    choose_on_chip,
    distinct_kernels,
    inference_counts,
    merged,
    network_c,
    network_text,
    network_tvm_python,
    network_tvm_script,
    open_sizes,
    simulate_network,
)
from ....engine.schedule import Schedule
from ....engine.script.relax import graph_text, parse_network, read_graph
from ..cells import Document, read_document
from ..editing.branches import branches, with_branch
from ..editing.from_schedule import notebook_of_schedule
from ..evaluate import evaluate, read_program
from ..files.read_write import DocumentError, load_document, replace_text, save_document, stamp_of, temporary_name
from ..machine import read_machine
from ..notebook import DEFAULT_MACHINE, Notebook
from ..settings import ON_CHIP, SIZES, read_on_chip, read_sizes, with_on_chip, with_sizes_line

MODEL = "model.py"
"""The file of a model's graph."""

KERNELS = "kernels"
"""The folder of a model's kernels, beside its file."""


class NetworkNotebook(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A model with the notebooks of its kernels, by the kernel's name; a module's text has no notebooks."""

    document: Document
    network: Network
    machine: Machine
    sizes: Mapping[str, int]
    notebooks: Mapping[str, Notebook]
    on_chip: Mapping[str, str]
    simulations: Simulations

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        return distinct_kernels(self.network, self.sizes)

    @cached_property
    def scheduled(self) -> dict[str, PrimFunc]:
        """The programs after their schedules, of the kernels that have one."""
        steps = {name: n.schedule for name, n in self.notebooks.items() if n.steps and n.schedule is not None}
        return {name: schedule.func for name, schedule in steps.items()}

    def simulate(self, machine: Machine | None = None) -> NetworkReport:
        """Simulate the scheduled kernels on the model's machine, or on another one, where no tensor stays on chip between kernels."""
        if machine is not None and machine != self.machine:
            return simulate_network(self.network, machine, self.sizes, scheduled=self.scheduled)
        return simulate_network(
            self.network,
            self.machine,
            self.sizes,
            scheduled=self.scheduled,
            on_chip=self.on_chip,
            known=self.simulations,
        )

    def choose_on_chip(self, machine: Machine | None = None) -> tuple[dict[str, str], NetworkReport]:
        """Choose tensors that stay on chip between kernels, and return them with the report; see `choose_on_chip`."""
        if machine is not None and machine != self.machine:
            return choose_on_chip(self.network, machine, self.sizes, scheduled=self.scheduled)
        return choose_on_chip(self.network, self.machine, self.sizes, scheduled=self.scheduled, known=self.simulations)

    def report_text(self) -> str:
        """The report as text: the cycles of an inference, and the kernels."""
        return network_text(self.simulate(), graph=self.network.graph)

    def to_tvm_python(self) -> str:
        """The model with the schedules of its kernels as a Python file for TVM: one module, and a function that compiles it."""
        return network_tvm_python(self.network, self.scheduled)

    def to_tvm_script(self) -> str:
        """The model with the schedules of its kernels as the text of a module that TVM reads."""
        return network_tvm_script(self.network, self.scheduled)

    def to_c(self) -> str:
        """The model with the schedules of its kernels as one C file with a main; see `network_c`."""
        return network_c(self.network, self.scheduled, self.sizes)


Read = Callable[[Path], Document]
"""Reads the file of a model or of a kernel."""


def load_network(
    path: str | Path,
    sizes: Mapping[str, int] | None = None,
    *,
    branch: str = "",
    before: NetworkNotebook | None = None,
) -> NetworkNotebook:
    """Return the model at `path`: its file `model.py` or the folder of that, or the text of a module with relax functions. `sizes` override
    those of the file. With `branch`, each kernel that has a branch of this name has its schedule. What has not changed since `before`, an
    earlier state of the model, is not computed again.

    Raises DocumentError and ParseError with the file's lines. A kernel whose schedule has an error is an error of the model.
    """
    model = read_network(path, sizes, lambda file: _on_branch(load_document(file), branch), before=before)
    if branch:
        _require_branch(path, model.notebooks, branch)
    old = before.notebooks if before is not None else {}
    return replace(model, notebooks={name: _scheduled(n, old.get(name)) for name, n in model.notebooks.items()})


def read_network(
    path: str | Path,
    sizes: Mapping[str, int] | None = None,
    read: Read = load_document,
    *,
    before: NetworkNotebook | None = None,
) -> NetworkNotebook:
    """Return the model as `load_network`, without its schedules: notebooks have their programs and are not evaluated, unless `before` has
    them. `read` reads a file, and may refuse it."""
    path = model_file(path)
    document = read(path)
    folder = path.parent / KERNELS
    is_alone = not document.of_kind("machine") or not folder.is_dir()
    old = before.notebooks if before is not None else {}
    files = () if is_alone else sorted(folder.glob("*.py"))
    notebooks = {p.stem: unscheduled(read(p), p.stem, old.get(p.stem)) for p in files}
    network = _unchanged(document, notebooks, before)
    if network is None:
        network = parse_network(document.text, str(path)) if is_alone else linked(document, notebooks)
    machine = read_machine(document, (SIZES, ON_CHIP)) or load_machine(DEFAULT_MACHINE)
    known = {**read_sizes(document, None), **(sizes or {})}
    simulations = before.simulations if before is not None and before.machine == machine else Simulations(machine)
    return NetworkNotebook(document, network, machine, known, notebooks, read_on_chip(document), simulations)


def is_model(path: Path) -> bool:
    """Whether `path` is the file of a model, or a folder with one."""
    file = model_file(path)
    return file.name == MODEL and file.is_file() and (file.parent / KERNELS).is_dir()


def _unchanged(document: Document, notebooks: Mapping[str, Notebook], before: NetworkNotebook | None) -> Network | None:
    """The network of an earlier state if the graph's text and the kernels' programs are still the same."""
    if before is None or before.document.text != document.text or before.notebooks.keys() != notebooks.keys():
        return None
    same = all(notebooks[name].program is old.program for name, old in before.notebooks.items())
    return before.network if same else None


def save_on_chip(path: str | Path, scopes: Mapping[str, str]) -> None:
    """Write tensors that stay on chip into the file of the model at `path`. Raises DocumentError "no-folder" for the text of a module."""
    path = model_file(path)
    document = load_document(path)
    if not document.of_kind("machine") or not (path.parent / KERNELS).is_dir():
        fix = (f"tilewright import {path} -o FOLDER",)
        raise DocumentError(Refusal("no-folder", f"{path} has no machine cell for on_chip", fix=fix))
    known = stamp_of(path)
    replace_text(path.resolve(), with_on_chip(document, scopes).text, known, temporary_name(path))


def save_sizes(path: str | Path, sizes: Mapping[str, int]) -> None:
    """Write the sizes that the model at `path` leaves open into its file, beside its other sizes, and those of its kernels into theirs. A
    kernel with several sizes gets those of its first call. Raises MissingValuesError."""
    path = model_file(path)
    found = read_network(path, sizes)
    kernels = distinct_kernels(found.network, found.sizes)
    _rewrite(path, sizes)
    for kernel in reversed(kernels):
        if kernel.sizes:
            _rewrite(path.parent / KERNELS / f"{kernel.name}.py", kernel.sizes)


def _rewrite(path: Path, sizes: Mapping[str, int]) -> None:
    """Write sizes into the machine cell of a file."""
    document, known = load_document(path), stamp_of(path)
    text = with_sizes_line(document, _sizes_line(sizes)).text
    if text != document.text:
        replace_text(path.resolve(), text, known, temporary_name(path))


def _sizes_line(sizes: Mapping[str, int]) -> str:
    return "sizes = {" + ", ".join(f'"{name}": {size}' for name, size in sizes.items()) + "}"


def create_network(
    network: Network,
    folder: str | Path,
    title: str,
    machine: Machine,
    origin: str = "",
    sizes: Mapping[str, int] | None = None,
) -> Path:
    """Write a model and its kernels to a new folder, and return the path of the model's file. `sizes` are those that the model leaves open.

    Functions of equal structure share one kernel. Raises DocumentError "file-exists" if the folder has a model.
    """
    target = Path(folder)
    path = target / MODEL
    if path.exists():
        raise DocumentError(Refusal("file-exists", f"{path} already exists", fix=("choose another folder",)))
    whole = merged(network)
    (target / KERNELS).mkdir(parents=True, exist_ok=True)
    for kernel in whole.kernels:
        made = notebook_of_schedule(Schedule(kernel), machine).document
        save_document(made, str(target / KERNELS / f"{kernel.name}.py"))
    save_document(read_document(_model_text(whole, title, machine, origin), str(path)), str(path))
    if sizes and not set(open_sizes(whole)) - sizes.keys():
        save_sizes(path, sizes)
    elif sizes:
        _rewrite(path, sizes)
    return path


def model_file(path: str | Path) -> Path:
    """The file of a model: `model.py` in a folder, any other path as it is."""
    return Path(path) / MODEL if Path(path).is_dir() else Path(path)


def unscheduled(document: Document, name: str, before: Notebook | None = None) -> Notebook:
    """The notebook of the kernel `name` with its program, before its evaluation; `before` if its text is the same. The program stays the
    same object if its text is the same.

    Raises DocumentError "wrong-kernel" without that program, ParseError.
    """
    if before is not None and before.document.text == document.text:
        return before
    program = read_program(document, before)
    if not isinstance(program, PrimFunc) or program.name != name:
        raise DocumentError(
            Refusal(
                "wrong-kernel",
                f"{document.path or name} does not have the program of the kernel {name}",
                found="a module" if isinstance(program, IRModule) else program.name,
                expected=f"one function {name} under @T.prim_func",
            )
        )
    return Notebook(document, program)


def _on_branch(document: Document, branch: str) -> Document:
    return with_branch(document, branch) if branch in _branch_names(document) else document


def _require_branch(path: str | Path, notebooks: Mapping[str, Notebook], branch: str) -> None:
    names = {name for notebook in notebooks.values() for name in _branch_names(notebook.document)}
    if branch not in names:
        expected = ", ".join(sorted(names)) or "a model whose kernels have branches"
        raise DocumentError(
            Refusal("no-such-branch", f"no kernel of {path} has a branch {branch!r}", expected=expected)
        )


def _branch_names(document: Document) -> set[str]:
    return {branch.name for branch in branches(document)}


def linked(document: Document, notebooks: Mapping[str, Notebook]) -> Network:
    """The graph of a model's file, with the programs of the notebooks."""
    kernels = {name: n.program for name, n in notebooks.items() if isinstance(n.program, PrimFunc)}
    return read_graph(document.text, kernels, document.path or "")


def _scheduled(notebook: Notebook, before: Notebook | None) -> Notebook:
    """The evaluated notebook; the first lines of its schedule are those of `before` where they are the same. Raises its first error: a
    schedule that is not applied would make the model's figures wrong."""
    if notebook.evaluated:
        return notebook
    is_same = before is not None and before.program is notebook.program
    found = evaluate(notebook.document, before if is_same else notebook)
    if found.error is not None:
        raise found.error
    return found


def _model_text(network: Network, title: str, machine: Machine, origin: str) -> str:
    """The text of `model.py`: prose, the machine, the graph, and a line that loads the model."""
    calls, kernels = inference_counts(network.graph)
    prose = [f"# {title}", "", f"{calls} calls of {kernels} kernels; `kernels/NAME.py` has the schedule of each."]
    prose += ["", f"Origin: {origin}."] if origin else []
    return "\n".join(
        [
            "# %% [markdown]",
            *(f"# {line}".rstrip() for line in prose),
            "",
            "# %% machine",
            "import tilewright",
            "",
            f'machine = tilewright.machine("{machine.name}")',
            "",
            "# %% graph",
            "from tilewright.script import relax as R",
            "",
            "",
            graph_text(network.graph),
            "",
            "# %% report",
            "model = tilewright.load_network(__file__)",
            "print(model.report_text())",
            "",
        ]
    )
