"""Requests executed on a session in queue order. A refused request changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...engine.ir import Refusal, TilewrightError, internal_error
from ..actions.table import Call, repair_of
from ..document import DocumentError
from ..protocol.messages import Message
from ..protocol.requests import (
    CompareForm,
    Form,
    NewFileForm,
    OpenForm,
    OpenTextForm,
    ResolveForm,
    SaveAsForm,
    SaveForm,
    intent_from,
)
from ..state.intents import Intent
from ..state.model import Notice
from ..views.notebook.file_status import clash_value
from ..views.shell.gallery import example_called
from .session import Answer, Session

Told = Callable[[Refusal | None], None]
"""Receives the refusal, or None on success."""


def perform(session: Session, form: Form, told: Told) -> None:
    """Execute a request in its turn. A refused request changes nothing."""
    session.queue.in_turn(lambda: _perform(session, form, told))


def _perform(session: Session, form: Form, told: Told) -> None:
    try:
        match form:
            case OpenForm():
                example_called(session.examples, form.name)
                _received(session, {"kind": "open", "name": form.name}, told)
            case SaveForm():
                _own_file(session)
                _require_one_version(session)
                _received(session, {"kind": "save"}, told)
            case SaveAsForm():
                _received(session, {"kind": "save_as", "name": form.name, "replacing": form.replacing}, told)
            case NewFileForm():
                _received(session, {"kind": "new_file", "name": form.name}, told)
            case ResolveForm():
                _require_answer(session, form)
                _received(
                    session, {"kind": "resolve", "choices": form.choices}, lambda why: told(why or _clash(session))
                )
            case CompareForm():
                _received(session, {"kind": "compare", "a": form.a, "b": form.b}, told)
            case _:
                intent = intent_from(form, session.state)
                session.want(intent, lambda answer: told(_refused(session, intent, answer)))
    except Exception as error:
        told(_fault(error))


def _refused(session: Session, intent: Intent, answer: Answer) -> Refusal | None:
    try:
        notice = answer()
    except Exception as error:
        return _fault(error)
    if notice is None:
        return None
    repair = repair_of(session.state, intent) if isinstance(intent, Call) else ()
    return refusal_of(notice, tuple(map(str, repair)))


def _fault(error: Exception) -> Refusal:
    if isinstance(error, TilewrightError):
        return error.refusal
    return internal_error(error, "doing this")


def refusal_of(notice: Notice, repair: Sequence[str] = ()) -> Refusal:
    """The refusal of a notice. Fixes in `repair` are left out, since Repair is a separate intent."""
    fix = tuple(call for call in notice.fix if call not in repair)
    said = f" ({notice.place})" if notice.place else ""
    return Said(notice.code, notice.message + said, notice.found, notice.expected, fix, told_repair=tuple(repair))


class Said(Refusal, frozen=True, eq=False):
    """A refusal whose repair is text already."""

    told_repair: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As `Refusal.to_json`."""
        return {**super().to_json(), "repair": list(self.told_repair)}


def _received(session: Session, message: Message, told: Told) -> None:
    """Process the request as a page's message; a new notice is its refusal."""
    before = session.state.notice

    def done() -> None:
        notice = session.state.notice
        told(refusal_of(notice) if notice is not None and notice is not before else None)

    session.receive_now(message)
    session.queue.next(done)


def _own_file(session: Session) -> None:
    notebook = session.state.notebook
    if notebook is None or notebook.document.path is None or session.state.is_draft:
        expected = "SaveAs, or its text, from the part `notebook`"
        raise DocumentError(Refusal("no-path", "the notebook was not opened from a file", expected=expected))


def _clash(session: Session) -> Refusal | None:
    """The refusal if two versions of the file conflict, else None."""
    file = session.state.file
    if file is None or clash_value(file) is None:
        return None
    said = f"{file.name} has two versions: another writer changed the same lines"
    return Refusal(
        "two-versions", said, expected="the intent Resolve, with a choice for each place of `clash` in the part `file`"
    )


def _require_one_version(session: Session) -> None:
    refusal = _clash(session)
    if refusal is not None:
        raise DocumentError(refusal)


def _require_answer(session: Session, form: ResolveForm) -> None:
    """Raises DocumentError "no-clash", "changed-meanwhile", "bad-choices"."""
    clash = None if session.state.file is None else clash_value(session.state.file)
    if clash is None:
        raise DocumentError(Refusal("no-clash", "the file has one version only"))
    if form.id not in ("", clash["id"]):
        raise DocumentError(Refusal("changed-meanwhile", "it is another clash by now", form.id[:80], clash["id"]))
    places = len(clash["places"])
    if len(form.choices) != places:
        raise DocumentError(
            Refusal("bad-choices", "there is one choice for each place", str(len(form.choices)), str(places))
        )


def opened_with(session: Session, name: str, text: str, title: str, told: Told) -> None:
    """Open a notebook by its name, or a text; with neither open nothing."""
    if name or text:
        perform(session, OpenForm(name) if name else OpenTextForm(text, title), told)
    else:
        told(None)


__all__ = ["opened_with", "perform"]
