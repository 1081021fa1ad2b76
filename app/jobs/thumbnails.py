"""The thumbnail of a notebook's text: it is evaluated and simulated, in a process of its own where a server draws cards."""

from __future__ import annotations

from pathlib import Path

from ...engine.hwsim import Report
from ...engine.ir import TilewrightError
from ...engine.processes import Budget, within
from ..actions.cell_actions import checked_text
from ..document import evaluate, read_document
from ..limits import LIMITS
from ..state.derived import Store
from ..state.model import State
from ..views.shell.model_thumbnails import model_thumbnail
from ..views.shell.thumbnails import Thumbnail, digest, drawn

MODEL_SECONDS = 10.0
"""Maximum processor time for the thumbnail of a model."""


def thumbnail_of_model(path: Path) -> Thumbnail:
    """The thumbnail of the model at `path`; an empty one if the model has an error, or takes too long."""
    try:
        with within(Budget(MODEL_SECONDS, LIMITS.memory_bytes), "the thumbnail"):
            return model_thumbnail(path)
    except TilewrightError:
        return Thumbnail("")


def thumbnail_of(text: str) -> Thumbnail:
    """The thumbnail of a notebook's text as the app would show it. An invalid notebook yields only the digest; a program that the machine
    cannot run has no report."""
    try:
        notebook = evaluate(read_document(checked_text(text)))
    except TilewrightError:
        return Thumbnail(digest(text))
    if notebook.schedule is None:
        return Thumbnail(digest(text))
    report = Store().simulated(State(notebook=notebook, shown=notebook))
    return drawn(text, notebook, report if isinstance(report, Report) else None)
