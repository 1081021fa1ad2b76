"""The thumbnail of a notebook's text: it is evaluated and simulated, in a process of its own where a server draws cards."""

from __future__ import annotations

from ...engine.hwsim import Report
from ...engine.ir import TilewrightError
from ..actions.cell_actions import checked_text
from ..document import evaluate, read_document
from ..state.derived import Store
from ..state.model import State
from ..views.shell.thumbnails import Thumbnail, digest, drawn


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
