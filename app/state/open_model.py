"""The model that a page shows: its graph, and the notebook of each kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace
from propcache.api import cached_property

from ...engine.hwsim import Machine
from ...engine.ir import Network, PrimFunc, Refusal, TilewrightError, structural_equal
from ...engine.network import Kernel, Simulations, distinct_kernels, prepared_calls
from ..document import Document, DocumentError, Notebook
from ..document.networks import KERNELS, linked, read_network, unscheduled
from ..document.title import title_of

Read = Callable[[Path], Document]


class ModelKernel(msgspec.Struct, frozen=True, eq=False):
    """A kernel of a model with its notebook, which may have no schedule yet: `evaluate` makes it. `key` identifies the kernel on the page;
    it is its name, with the sizes if kernels of the model share a program."""

    key: str
    kernel: Kernel
    notebook: Notebook


class ModelSearch(msgspec.Struct, frozen=True, eq=False):
    """A search of all kernels of the model at `path`, until it is stopped or its `seconds` are over; `again` searches those with a
    schedule too."""

    path: str
    machine: Machine
    sizes: Mapping[str, int]
    seconds: float
    again: bool = False
    going: bool = True


class OpenModel(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A model as a page shows it. `name` is that of its address, `path` its file, "" for an example. `sizes` are those that it leaves open,
    `on_chip` the tensors that stay on chip between kernels, with their scopes; `simulations` has programs that are simulated for these.
    `search` is the last search of its kernels.

    A new notebook of a kernel makes a new `ModelKernel`, so results for the others stay valid.
    """

    name: str
    path: str
    document: Document
    network: Network
    machine: Machine
    sizes: Mapping[str, int]
    kernels: tuple[ModelKernel, ...]
    on_chip: Mapping[str, str]
    simulations: Simulations
    search: ModelSearch | None = None

    @property
    def title(self) -> str:
        """The heading of the model's file, else its name."""
        return title_of(self.document, self.name)

    @cached_property
    def prepared(self) -> frozenset[int]:
        """The calls that depend on weights alone."""
        return prepared_calls(self.network.graph)

    @cached_property
    def running(self) -> tuple[ModelKernel, ...]:
        """The kernels that each inference runs, in the order of their first call; the others only prepare weights."""
        return tuple(entry for entry in self.kernels if not self.prepared.issuperset(entry.kernel.calls))

    def called(self, name: str) -> ModelKernel:
        """The first kernel whose program has this name. Raises DocumentError "no-such-kernel"."""
        for entry in self.kernels:
            if entry.kernel.name == name:
                return entry
        raise DocumentError(Refusal("no-such-kernel", "the model has no such kernel", found=name[:80]))


def read_open_model(name: str, path: Path, read: Read, *, is_example: bool = False) -> OpenModel:
    """Read the model at `path`, its file. `read` reads a file, and may refuse it. The notebooks of an example have no path, so that edits
    become drafts.

    Raises DocumentError "no-graph" for a model without kernels, the errors of `read_network`, and "missing-size".
    """
    found = read_network(path, read=(lambda p: replace(read(p), path=None)) if is_example else read)
    if not found.notebooks:
        raise DocumentError(Refusal("no-kernels", f"{path.name} has no folder {KERNELS} with its kernels"))
    notebooks = found.notebooks
    kernels = distinct_kernels(found.network, found.sizes)
    entries = tuple(_entries(kernels, notebooks))
    shown = "" if is_example else str(path)
    return OpenModel(
        name,
        shown,
        found.document,
        found.network,
        found.machine,
        found.sizes,
        entries,
        found.on_chip,
        found.simulations,
    )


def _entries(kernels: tuple[Kernel, ...], notebooks: Mapping[str, Notebook]) -> Iterator[ModelKernel]:
    names = [kernel.name for kernel in kernels]
    for kernel in kernels:
        sizes = ", ".join(f"{name}={size}" for name, size in kernel.sizes.items())
        key = f"{kernel.name}({sizes})" if names.count(kernel.name) > 1 else kernel.name
        yield ModelKernel(key, kernel, notebooks[kernel.name])


def with_notebook(model: OpenModel, name: str, notebook: Notebook) -> OpenModel:
    """The model with another notebook of the kernel `name`; the same model if its text is the same.

    A program that differs from the kernel's is linked to the graph; if that fails, the notebook has the error.
    """
    entry = model.called(name)
    if notebook.document.text == entry.notebook.document.text:
        return model
    if _is_same(notebook, entry.kernel.func):
        return _replaced(model, {name: notebook})
    notebooks = {e.kernel.name: e.notebook for e in model.kernels} | {name: notebook}
    try:
        network = linked(model.document, notebooks)
        entries = tuple(_entries(distinct_kernels(network, model.sizes), notebooks))
    except TilewrightError as error:
        return _replaced(model, {name: replace(notebook, error=notebook.error or error)})
    return replace(model, network=network, kernels=entries)


def refreshed(model: OpenModel, read: Read, known: str = "") -> OpenModel:
    """The model with the kernels that changed on disk, as when a search writes schedules. The notebook of the kernel `known` is current. A
    file that cannot be read stays as it was."""
    for entry in model.kernels:
        path = entry.notebook.document.path
        if path is None or entry.kernel.name == known:
            continue
        try:
            document = read(Path(path))
            if document.text != entry.notebook.document.text:
                model = with_notebook(model, entry.kernel.name, unscheduled(document, entry.kernel.name))
        except TilewrightError:
            continue
    return model


def _is_same(notebook: Notebook, func: PrimFunc) -> bool:
    program = notebook.program
    return program is func or (isinstance(program, PrimFunc) and structural_equal(program, func))


def _replaced(model: OpenModel, notebooks: Mapping[str, Notebook]) -> OpenModel:
    entries = (
        replace(e, notebook=notebooks[e.kernel.name]) if e.kernel.name in notebooks else e for e in model.kernels
    )
    return replace(model, kernels=tuple(entries))


__all__ = ["ModelKernel", "ModelSearch", "OpenModel", "read_open_model", "refreshed", "with_notebook"]
