"""What a form comes to on a session: done, or refused with everything as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engine.ir import Refusal, TilewrightError
from .actions import Call, repair_of
from .document import DocumentError
from .session import Session
from .state import Notice
from .views.gallery import Example
from .wire import (
    CompareForm,
    Form,
    NewFileForm,
    OpenForm,
    OpenTextForm,
    SaveAsForm,
    SaveForm,
    intent_from,
)


def perform(session: Session, form: Form) -> Refusal | None:
    """Do what a form asks for; why not, where it is refused. Everything is as it was then."""
    match form:
        case OpenForm():
            return _received(
                session, {"kind": "open", "name": form.name}, lambda: _example(session.examples, form.name)
            )
        case SaveForm():
            return _received(session, {"kind": "save"}, lambda: _own_file(session))
        case SaveAsForm():
            return _received(session, {"kind": "save_as", "name": form.name, "replacing": form.replacing}, lambda: None)
        case NewFileForm():
            return _received(session, {"kind": "new_file", "name": form.name}, lambda: None)
        case CompareForm():
            return _received(session, {"kind": "compare", "a": form.a, "b": form.b}, lambda: None)
        case _:
            return _wanted(session, form)


def _wanted(session: Session, form: Form) -> Refusal | None:
    try:
        intent = intent_from(form, session.state)
        notice = session.want(intent)
    except TilewrightError as error:
        return error.refusal
    except Exception as error:
        return Refusal("bad-arguments", f"this cannot be done: {type(error).__name__}: {str(error)[:300]}")
    if notice is None:
        return None
    repair = repair_of(session.state, intent) if isinstance(intent, Call) else ()
    return refusal_of(notice, tuple(map(str, repair)))


def refusal_of(notice: Notice, repair: Sequence[str] = ()) -> Refusal:
    """A notice as data; of its fixes those that are not the `repair`, which has an intent of its own."""
    fix = tuple(call for call in notice.fix if call not in repair)
    said = f" ({notice.place})" if notice.place else ""
    return Said(notice.code, notice.message + said, notice.found, notice.expected, fix, told_repair=tuple(repair))


class Said(Refusal, frozen=True, eq=False):
    """A refusal whose repair is text already."""

    told_repair: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As `Refusal.to_json`."""
        return {**super().to_json(), "repair": list(self.told_repair)}


def _received(session: Session, message: dict[str, Any], check: Callable[[], Any]) -> Refusal | None:
    """What a page sends for it, which ends in a notice where it is refused."""
    try:
        check()
    except TilewrightError as error:
        return error.refusal
    before = session.state.notice
    session.receive(message)
    notice = session.state.notice
    return refusal_of(notice) if notice is not None and notice is not before else None


def _example(examples: Sequence[Example], name: str) -> Example:
    for example in examples:
        if example.name == name:
            return example
    raise DocumentError(Refusal("no-such-notebook", "there is no notebook of this name", found=name[:80]))


def _own_file(session: Session) -> None:
    notebook = session.state.notebook
    if notebook is None or notebook.document.path is None:
        raise DocumentError(
            Refusal("no-path", "the notebook was not opened from a file", expected="its text, from the part `notebook`")
        )


def opened_with(session: Session, name: str, text: str, title: str) -> Refusal | None:
    """A notebook by its name, or a text; with neither nothing is opened."""
    if name:
        return perform(session, OpenForm(name))
    return _wanted(session, OpenTextForm(text, title)) if text else None


__all__ = ["opened_with", "perform"]
