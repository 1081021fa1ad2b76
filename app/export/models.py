"""Exports of a model with the schedules of its kernels."""

from __future__ import annotations

from ...engine.network import network_trace
from ..document import Notebook, evaluate
from ..document.networks import NetworkNotebook
from ..state.derived import Store
from ..state.model_results import known_result
from ..state.open_model import ModelKernel, OpenModel
from ..views.shell.export_kinds import MODEL_EXPORT_KINDS
from .exports import ExportedFile, file_stem


def exported_model(key: str, model: OpenModel, store: Store) -> ExportedFile:
    """Export a model. Raises TilewrightError if it has no such form, and the first error of a kernel's schedule; KeyError for an unknown
    kind."""
    kind = next(kind for kind in MODEL_EXPORT_KINDS if kind.key == key)
    whole = _whole(model, store)
    text = {
        "model-tvm": whole.to_tvm_python,
        "model-tvmscript": whole.to_tvm_script,
        "model-c": whole.to_c,
        "model-trace": lambda: network_trace(whole.network, whole.simulate(), whole.sizes),
    }[key]()
    return ExportedFile(f"{file_stem(model.title)}{kind.suffix}", text)


def _whole(model: OpenModel, store: Store) -> NetworkNotebook:
    """The model with the evaluated notebook of each kernel."""
    notebooks: dict[str, Notebook] = {}
    for entry in model.kernels:
        notebooks.setdefault(entry.kernel.name, _evaluated(model, entry, store))
    return NetworkNotebook(
        model.document, model.network, model.machine, model.sizes, notebooks, model.on_chip, model.simulations
    )


def _evaluated(model: OpenModel, entry: ModelKernel, store: Store) -> Notebook:
    result = known_result(model, entry, store)
    notebook = evaluate(entry.notebook.document, entry.notebook) if result is None else result.notebook
    if notebook.error is not None:
        raise notebook.error
    return notebook


__all__ = ["exported_model"]
