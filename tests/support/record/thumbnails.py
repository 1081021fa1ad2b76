"""Draws the thumbnails of the examples into static/examples. Run it when a test reports that they are out of date:

PYTHONPATH=tests python -m support.record.thumbnails
"""

from __future__ import annotations

import msgspec

from tilewright.app.jobs.thumbnails import thumbnail_of
from tilewright.app.views.shell.gallery import FOLDER, THUMBNAILS, load_examples
from tilewright.app.views.shell.model_cards import example_file, example_models
from tilewright.app.views.shell.model_thumbnails import model_thumbnail
from tilewright.app.views.shell.thumbnails import Thumbnail


def drawn() -> dict[str, Thumbnail]:
    """The thumbnail of each example and model, by its name."""
    models = {model.model: model_thumbnail(example_file(model.model)) for model in example_models()}
    return {example.name: thumbnail_of(example.text) for example in load_examples()} | models


def as_text(thumbnails: dict[str, Thumbnail]) -> str:
    """The file's text: a line for each, so that a change is seen in a diff."""
    lines = [
        f"{msgspec.json.encode(name).decode()}: {msgspec.json.encode(t).decode()}" for name, t in thumbnails.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    (FOLDER / THUMBNAILS).write_text(as_text(drawn()), encoding="utf-8")
    print(f"{THUMBNAILS} is written")
