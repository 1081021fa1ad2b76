"""Searches on disk, beside the history of the notebook's folder: the last request for each notebook, and the outcomes of its candidates.

The engine stores the outcomes (`engine.explore.trials.study_store`) in a file that is named by a fingerprint of space, machine and
settings. A note for each notebook records the settings and the text of its last search, which determine that file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from ...engine.execute import Verdict
from ...engine.explore import Settings, Status, Trial, pinned, pins_of
from ...engine.explore.trials.study import front_of
from ...engine.explore.trials.study_store import StudyStore, fingerprint
from ...engine.ir import TilewrightError
from ..actions.exploring import machine_of
from ..document import Notebook, evaluate, read_document
from ..document.editing.branches import current_branch
from ..document.holes import notebook_space
from ..folders.state import folder_state, state_path
from ..state.model import SearchRequest
from ..state.search_results import Found

MOST_FILES = 40
"""The number of outcome files in a folder; the oldest are deleted."""


class SearchNote(msgspec.Struct, frozen=True):
    """The settings and pins of a notebook's last search, and the text that it searched."""

    text: str
    settings: Settings
    keep: dict[str, tuple[str, ...]] = {}


def study_file(path: str, request: SearchRequest) -> Path | None:
    """The file for the outcomes of a search of the notebook at `path`; None if the user's state folder is not usable."""
    try:
        return _folder(path) / file_name(request)
    except OSError:
        return None


def file_name(request: SearchRequest) -> str:
    """The name of the file for the outcomes: equal for the same space, machine and settings."""
    return f"{fingerprint(request.space, request.machine, request.settings)[:24]}.sqlite3"


def record_search(path: str, request: SearchRequest) -> None:
    """Record the search as the notebook's last one, and delete the oldest outcome files. Raises OSError."""
    folder_state(Path(path).resolve().parent)
    folder = _folder(path)
    folder.mkdir(mode=0o700, exist_ok=True)
    note = SearchNote(request.notebook.document.text, request.settings, pins_of(request.space))
    fresh = _note(path).with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(note))
    fresh.replace(_note(path))
    files = sorted(folder.glob("*.sqlite3"), key=lambda file: file.stat().st_mtime)
    for old in files[:-MOST_FILES]:
        for part in folder.glob(f"{old.name}*"):
            with suppress(OSError):
                part.unlink()


def load_search(notebook: Notebook) -> tuple[SearchRequest, Found] | None:
    """The last search of a notebook in a file, with its outcomes so far; None if there is none or it is unreadable."""
    path = notebook.document.path
    if path is None:
        return None
    try:
        if not _note(path).is_file():
            return None
        note = msgspec.json.decode(_note(path).read_bytes(), type=SearchNote)
        if note.text != notebook.document.text:
            notebook = evaluate(read_document(note.text, path))
        space, machine = pinned(notebook_space(notebook), note.keep), machine_of(notebook)
        request = SearchRequest(1, notebook, machine, space, note.settings, current_branch(notebook.document))
        file = study_file(path, request)
        if file is None or not file.is_file():
            return None
        kept = StudyStore(file, space, machine, note.settings)
        try:
            outcomes, verdicts = kept.outcomes(), kept.verdicts()
        finally:
            kept.close()
    except (TilewrightError, OSError, msgspec.DecodeError):
        return None
    known = sorted(outcomes.items(), key=lambda entry: entry[0])
    trials = tuple(Trial(number, point, outcome) for (number, point), outcome in known)
    return request, _found(request, trials, {number: verdict for (number, _), verdict in verdicts.items()})


def _found(request: SearchRequest, trials: tuple[Trial, ...], verdicts: Mapping[int, Verdict]) -> Found:
    counts: dict[Status, int] = dict(Counter(trial.outcome.status for trial in trials))
    # A candidate that fails verification is not offered.
    right = tuple(t for t in trials if t.number not in verdicts or verdicts[t.number].status != "failed")
    front = tuple(trial.number for trial in front_of(right, request.settings.objectives).items)
    total = request.planned
    # If verification was interrupted, resuming the search completes it.
    is_checked = all(number in verdicts for number in front)
    status = "ended" if len(trials) >= total and is_checked else "stopped"
    offers = {number: verdicts[number] for number in front if number in verdicts}
    return Found(status, trials, total, front, counts, offers, at=(0.0,) * len(trials))


def _folder(path: str) -> Path:
    return state_path(Path(path).resolve().parent) / "explore"


def _note(path: str) -> Path:
    return _folder(path) / f"{Path(path).resolve().name}.json"


__all__ = ["file_name", "load_search", "record_search", "study_file"]
