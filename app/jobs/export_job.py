"""Exports of a page as files, made in a thread: a picture or a replay takes longer than a repaint may wait."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable

from ...engine.ir import Refusal, TilewrightError
from ..export.exports import EXPORTS, ExportedFile, apart, made
from ..export.models import exported_model
from ..state.derived import Store, attempt
from ..state.model import State
from ..state.open_model import OpenModel
from ..views.shell.export_kinds import MODEL_EXPORT_KINDS
from .event_loop import EventLoop


def export_model_for_page(
    key: str,
    model: OpenModel,
    store: Store,
    event_loop: EventLoop,
    on_result: Callable[[ExportedFile | TilewrightError], None],
) -> None:
    """Export the model of a page in a thread. Raises TilewrightError "no-such-export"."""
    labels = {kind.key: kind.label for kind in MODEL_EXPORT_KINDS}
    if key not in labels:
        raise TilewrightError(Refusal("no-such-export", "unknown export format", key[:80], ", ".join(labels)))

    def work() -> None:
        found = attempt(labels[key], lambda: exported_model(key, model, store))
        event_loop.soon(lambda: on_result(found))

    threading.Thread(target=work, name="export", daemon=True).start()


IMMEDIATE = ("tvm", "tilewright", "tvmscript")
"""Kinds that exist already, or are fast to make."""


def export_for_page(
    key: str,
    state: State,
    store: Store,
    event_loop: EventLoop,
    on_result: Callable[[ExportedFile | TilewrightError], None],
) -> None:
    """Export the visible program. `on_result` receives the file, or the error, on the event loop.

    Raises TilewrightError "no-such-export".
    """
    if key not in EXPORTS:
        raise TilewrightError(
            Refusal("no-such-export", "unknown export format", found=key[:80], expected=", ".join(EXPORTS))
        )
    label = EXPORTS[key].label
    subject = apart(state, store)

    def make() -> ExportedFile | TilewrightError:
        return attempt(label, lambda: made(key, subject))

    if key in IMMEDIATE:
        on_result(make())
        return

    def work() -> None:
        found = make()
        event_loop.soon(lambda: on_result(found))

    threading.Thread(target=work, name="export", daemon=True).start()


def as_text(file: ExportedFile) -> str:
    """The content for the browser: text as it is, binary data as a data: URL."""
    if isinstance(file.data, str):
        return file.data
    return f"data:image/png;base64,{base64.b64encode(file.data).decode('ascii')}"
