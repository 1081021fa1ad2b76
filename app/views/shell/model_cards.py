"""The cards of models on the start screen: folders that `tilewright import` wrote, and the examples."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ....engine.ir import TilewrightError
from ...document import load_document
from ...document.files.read_write import real_path, shown_path
from ...document.networks import KERNELS, is_model, model_file
from ...document.title import title_of
from .gallery import Example, example_of, unreadable

MODELS = Path(__file__).resolve().parents[3] / "static" / "examples" / "models"
"""The folder of the models that come with Tilewright."""

MOST_MODELS = 40
"""The maximum number of models that are listed for a folder."""


def example_models() -> tuple[Example, ...]:
    """The models that come with Tilewright."""
    found = (model_card(path) for path in sorted(MODELS.glob("*/")) if is_model(path))
    return tuple(replace(card, path=None, changed=0.0) for card in found if card is not None)


def example_file(name: str) -> Path:
    """The file of an example model."""
    return model_file(MODELS / name)


def served_models(path: Path) -> tuple[Example, ...]:
    """The models at `path`: that of the folder or file itself, else those in the folder's folders. Links to places outside are left out."""
    if is_model(path):
        card = model_card(path)
        return (card,) if card is not None else ()
    if not path.is_dir():
        return ()
    inside = path.resolve()
    folders = (p for p in sorted(path.glob("*/")) if (real := real_path(p)) is not None and real.is_relative_to(inside))
    cards = (model_card(folder) for folder in folders if is_model(folder))
    return tuple(card for card in cards if card is not None)[:MOST_MODELS]


def model_card(path: Path) -> Example | None:
    """The card of the model at `path`, its folder or file; None if the file is gone. The model has the name of its folder."""
    file = model_file(path)
    folder = file.resolve().parent
    try:
        changed = file.stat().st_mtime
    except OSError:
        return None
    try:
        document = load_document(file)
    except TilewrightError as error:
        name = f"{folder.name}/{file.name}"
        return unreadable(file, error.refusal, changed, name=name, model=shown_path(folder.name))
    kernels = sum(1 for _ in (folder / KERNELS).glob("*.py"))
    made = example_of(f"{folder.name}/{file.name}", document)
    calls = document.text.count("R.call_tir")
    facts = tuple(fact for fact in (made.machine, f"{calls} calls", f"{kernels} kernels") if fact)
    return replace(
        made, title=title_of(document, folder.name), facts=facts, path=str(file), changed=changed, model=folder.name
    )


__all__ = ["example_file", "example_models", "model_card", "served_models"]
