"""Models on a page: a model is read from its folder, its kernels open as notebooks, and an edited kernel returns to the model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from ...engine.adopt import MissingValuesError
from ...engine.hwsim import Machine, load_machine
from ...engine.ir import Refusal
from ...engine.network import distinct_kernels, is_model_file, lowered_text
from ...engine.script.relax import parse_network
from ..actions.model_search import ScheduleAll
from ..actions.opening import OpenDocument, ShowModel, asking_for_sizes
from ..actions.table import act
from ..document import DEFAULT_MACHINE, Document, DocumentError, Notebook, load_document
from ..document.networks import create_network, is_model, save_sizes
from ..protocol.messages import ChangeModelSizes, OpenAsModel, OpenKernel, RefreshModel
from ..state.addresses import model_address
from ..state.derived import Store
from ..state.intents import Intent
from ..state.model import State
from ..state.model_results import known_result
from ..state.open_model import OpenModel, read_open_model, refreshed
from ..views.shell.gallery import Example
from ..views.shell.model_cards import example_file, model_card
from .file_sync import FileSync
from .new_places import equal_model, model_place
from .state_queue import InThread
from .uploads import copied_model

Made = tuple[State, Document | None]

NO_VALUES: Mapping[str, str] = {}


class ModelPage(Protocol):
    """The part of a session that these functions use."""

    state: State
    store: Store
    examples: tuple[Example, ...]

    @property
    def file_sync(self) -> FileSync: ...

    def show(self, state: State) -> None: ...

    def apply(self, intent: Intent) -> Coroutine[Any, Any, None]: ...

    def into_file(self, make: Callable[[State], Made]) -> Coroutine[Any, Any, None]: ...


async def open_model(
    page: ModelPage, example: Example, kernel: str = "", values: Mapping[str, str] = NO_VALUES
) -> None:
    """Show the model of a card, or one of its kernels. A model that is open stays as it is, unless `values` change sizes that it leaves
    open. The page asks for those without a value."""
    before = page.state
    model = before.model if before.model is not None and before.model.name == example.model and not values else None
    if model is None:
        try:
            model = await InThread(lambda: _model_of(example, page.file_sync, values))
        except MissingValuesError as error:
            page.show(asking_for_sizes(page.state, error, example.name))
            return
    if kernel:
        await open_kernel(page, model, kernel)
    elif before.model is model:
        await show_model(page)
    else:
        address = model_address(model.name)
        page.show(State(theme=before.theme, pane=before.pane, folder=before.folder, model=model, address=address))


async def open_kernel(page: ModelPage, model: OpenModel, name: str) -> None:
    """Open the notebook of a kernel of the model. Raises DocumentError "no-such-kernel"."""
    result = known_result(model, model.called(name), page.store)
    known = None if result is None else result.notebook
    await page.into_file(lambda state: _opened_kernel(state, model, name, known, page.file_sync))


async def show_model(page: ModelPage) -> None:
    """Return from a kernel to its model, and read the other kernels that changed on disk."""
    kernel = page.state.kernel
    await page.apply(ShowModel())
    await refresh_model(page, kernel)


async def refresh_model(page: ModelPage, returned_from: str = "") -> None:
    """Read the kernels of the visible model that changed on disk, as when a search writes schedules. The file of the kernel that the page
    returned from may be older than its notebook."""
    before = page.state
    model = before.model
    if model is None or before.notebook is not None or not model.path:
        return
    after = await InThread(lambda: refreshed(model, lambda path: page.file_sync.read(str(path)), returned_from))
    if after is not model and page.state.model is model and page.state.notebook is None:
        page.show(replace(page.state, model=after))


def _model_of(example: Example, file_sync: FileSync, values: Mapping[str, str]) -> OpenModel:
    """Read the model of a card, with these sizes in its file. Raises the errors of `read_open_model`."""
    if values and example.path is not None:
        save_sizes(example.path, sizes_of(values))
    if example.path is None:
        return read_open_model(example.model, example_file(example.model), load_document, is_example=True)
    return read_open_model(example.model, Path(example.path), lambda path: file_sync.read(str(path)))


def _written(
    text: str,
    place_of: Callable[[str], Path],
    title: str,
    sizes: Mapping[str, int],
    machine: Machine | None = None,
    origin: str = "",
) -> Example:
    """Write the model of a module's text to a new folder, which `place_of` finds for its title, and return its card. `sizes` are those
    that it leaves open. Raises the errors of `parse_network`, MissingValuesError."""
    network = parse_network(text)
    distinct_kernels(network, sizes)  # nothing is written for a model without all sizes, which has no figures
    place = place_of(title or network.graph.name)
    machine = machine or load_machine(DEFAULT_MACHINE)
    return _card_of(create_network(network, place, title or place.name, machine, origin, sizes))


def sizes_of(values: Mapping[str, str]) -> dict[str, int]:
    """Typed sizes as numbers. Raises DocumentError "bad-sizes"."""
    for name, value in values.items():
        if not value.isascii() or not value.isdecimal() or not 0 < int(value[:12]) < 1 << 31:
            raise DocumentError(Refusal("bad-sizes", f"{name} must be a positive integer", found=value[:80]))
    return {name: int(value) for name, value in values.items()}


def _card_of(path: Path) -> Example:
    card = model_card(path)
    assert card is not None, "the model was just written"
    return card


def _imported(path: Path, place: Path, sizes: Mapping[str, int]) -> Example:
    """Write the model of a file that a frontend reads, or a copy of the folder of a model, to the new folder `place`; return its card.
    Raises the errors of `lowered_text` and `_written`."""
    if is_model_file(path.name):
        return _written(lowered_text(path), lambda _: place, path.stem, sizes, origin=path.name)
    return _card_of(copied_model(path, place))


def _known_or_new(card: Example, place: Path) -> Example:
    """The card of a model that is equal to the new one at `place`, which is deleted then; else that of the new one."""
    known = equal_model(place)
    if known is None:
        return card
    shutil.rmtree(place)
    return _card_of(known)


def new_place(page: ModelPage, title: str) -> Path:
    """The folder of a new model. Raises the errors of `model_place`."""
    return model_place(page.file_sync.model_folder, title, {example.model for example in page.examples})


async def import_model(page: ModelPage, path: Path, values: Mapping[str, str] = NO_VALUES) -> None:
    """Show a copy of a model in a new folder, or an equal one that is there; `path` is a file that a frontend reads, or the folder of a
    model."""
    place, sizes = new_place(page, path.stem), sizes_of(values)
    await open_card(page, await InThread(lambda: _known_or_new(_imported(path, place, sizes), place)), values)


async def open_model_file(page: ModelPage, path: Path, values: Mapping[str, str]) -> None:
    """Show the model of a served file that a frontend reads; the first time, its folder is written beside the file."""
    place, sizes = path.with_suffix(""), sizes_of(values)
    if os.path.lexists(place) and not is_model(place):
        place = model_place(path.parent, path.stem)
    card = await InThread(lambda: _card_of(place) if is_model(place) else _imported(path, place, sizes))
    await open_card(page, card, values)


async def open_card(page: ModelPage, card: Example, values: Mapping[str, str] = NO_VALUES) -> None:
    """Show a model that was just written."""
    page.examples = (card, *(example for example in page.examples if example.path != card.path))
    await open_model(page, card, values=values)


def _opened_kernel(state: State, model: OpenModel, name: str, known: Notebook | None, file_sync: FileSync) -> Made:
    """The state of the page of a kernel, and the document of its file. `known` is its evaluated notebook, if the model's page has it. An
    error of the text is a notice of the state."""
    notebook = model.called(name).notebook
    path = notebook.document.path
    document = notebook.document if path is None else file_sync.read(path)
    made = act(state, OpenDocument(document.text, name, path, known, model_address(model.name, name)))
    if made.notebook is state.notebook:
        return made, None
    return replace(made, model=model, kernel=name), document


# Handlers of messages.


async def on_open_kernel(page: ModelPage, message: OpenKernel) -> None:
    if page.state.model is None:
        raise DocumentError(Refusal("no-model", "no model is open"))
    await open_kernel(page, page.state.model, message.kernel)


async def on_open_as_model(page: ModelPage, message: OpenAsModel) -> None:
    state = page.state
    if state.post is None or not state.post.has_graph:
        raise DocumentError(Refusal("no-graph", "the opened text has no relax function", expected="@R.function"))
    post, notebook = state.post, state.notebook
    assert notebook is not None, "a text is opened"
    sizes, machine = sizes_of(message.values), notebook.machine
    made = await InThread(lambda: _written(post.text, partial(new_place, page), state.named, sizes, machine))
    await open_card(page, made)


async def on_change_sizes(page: ModelPage, message: ChangeModelSizes) -> None:
    model = page.state.model
    if model is None or not model.path:
        raise DocumentError(Refusal("no-model", "no model with a file is open"))
    await open_model(page, _card_of(Path(model.path)), values=message.values)


async def on_show_model(page: ModelPage, _: ShowModel) -> None:
    await show_model(page)


async def on_schedule_all(page: ModelPage, message: ScheduleAll) -> None:
    if page.state.notebook is None and page.state.model is not None and not page.state.model.path:
        await import_model(page, example_file(page.state.model.name).parent)
    await page.apply(message)


async def on_refresh_model(page: ModelPage, _: RefreshModel) -> None:
    await refresh_model(page)


__all__ = [
    "on_change_sizes",
    "on_open_as_model",
    "on_open_kernel",
    "on_refresh_model",
    "on_schedule_all",
    "on_show_model",
    "open_kernel",
    "open_model",
]
