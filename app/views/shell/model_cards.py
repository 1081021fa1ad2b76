"""The cards of models on the start screen: folders that `tilewright import` wrote, and the examples."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from ....engine.ir import TilewrightError
from ....engine.network import is_model_file
from ...document import load_document
from ...document.files.read_write import real_path, shown_path
from ...document.networks import KERNELS, is_model, model_file
from ...document.title import title_of
from ...storage.drafts import is_untouched
from ..labels.numbers import size_text
from .gallery import Example, example_of, folder_cards, unreadable

MODELS = Path(__file__).resolve().parents[3] / "static" / "examples" / "models"
"""The folder of the models that come with Tilewright."""

_COUNTS = re.compile(r"^# (\d+ calls of \d+ kernels);", re.MULTILINE)
"""The counts in the prose of a model's file, which are those of an inference when it was written."""

MOST_MODELS = 40
"""The maximum number of models that are listed for a folder."""


def example_models() -> tuple[Example, ...]:
    """The models that come with Tilewright."""
    found = (model_card(path) for path in sorted(MODELS.glob("*/")) if is_model(path))
    return tuple(replace(card, path=None, changed=0.0) for card in found if card is not None)


def example_file(name: str) -> Path:
    """The file of an example model."""
    return model_file(MODELS / name)


def is_served(path: Path, folder: Path) -> bool:
    """Whether a path is inside of a folder after all links."""
    real = real_path(path)
    return real is not None and real.is_relative_to(folder)


def served_models(path: Path) -> tuple[Example, ...]:
    """The models at `path`: that of the folder or file itself, else those in the folder's folders. Links to places outside are left out."""
    if is_model(path):
        card = model_card(path)
        return (card,) if card is not None else ()
    if not path.is_dir():
        return ()
    inside = path.resolve()
    folders = (p for p in sorted(path.glob("*/")) if is_served(p, inside))
    cards = (model_card(folder) for folder in folders if is_model(folder))
    return tuple(card for card in cards if card is not None)[:MOST_MODELS]


def load_drafts(folder: Path, most: int) -> tuple[Example, ...]:
    """The drafts and the models among them, the most recently changed first. Drafts with equal texts are one; texts that were opened and
    never edited are left out."""
    models = served_models(folder)
    known: set[str] = set()
    found: list[Example] = []
    for card in folder_cards(folder):
        if card.obstacle is None and (card.text in known or is_untouched(card.name.removesuffix(".py"), card.text)):
            continue
        known.add(card.text)
        found.append(card)
        if len(found) == most:
            break
    return tuple(sorted((*found, *models), key=lambda card: -card.changed))[:most]


def model_files(folder: Path) -> tuple[Example, ...]:
    """The files in a folder that the frontends read, the most recently changed first; opening one writes the model's folder beside it."""
    inside = folder.resolve()
    paths = (p for p in sorted(folder.iterdir()) if is_model_file(p.name) and is_served(p, inside))
    cards = (card for path in paths for card in model_file_card(path))
    return tuple(sorted(cards, key=lambda card: -card.changed))[:MOST_MODELS]


def model_file_card(path: Path) -> tuple[Example, ...]:
    """The card of a file that a frontend reads; none if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return ()
    name = shown_path(path.name)
    is_written = is_model(path.with_suffix(""))
    sentence = (
        f"Opens the folder {path.stem}." if is_written else f"Becomes the folder {path.stem}, a notebook per kernel."
    )
    facts = (size_text(status.st_size), "a model")
    return (Example(name, name, sentence, facts, "", path=str(path), changed=status.st_mtime),)


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
    kernels = [stamp.st_mtime for path in (folder / KERNELS).glob("*.py") if (stamp := _stat(path)) is not None]
    made = example_of(f"{folder.name}/{file.name}", document)
    return replace(
        made,
        title=title_of(document, folder.name),
        facts=tuple(filter(None, (made.machine, *_COUNTS.findall(document.text)[:1]))),
        path=str(file),
        changed=max(changed, *kernels, 0.0),
        model=folder.name,
    )


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


__all__ = [
    "example_file",
    "example_models",
    "load_drafts",
    "model_card",
    "model_file_card",
    "model_files",
    "served_models",
]
