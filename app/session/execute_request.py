"""HTTP requests executed on a session in queue order. A refused request changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...engine.ir import Refusal, TilewrightError, internal_error
from ..actions.calls import MakeCall
from ..actions.drops import Drop, DropSeveral, repair_of, repair_of_drop
from ..actions.opening import OpenText
from ..document import DocumentError
from ..protocol.messages import Open, Resolve, Save
from ..state.intents import Intent, Message
from ..state.model import Notice, State
from ..views.notebook.file_status import merge_conflict_value
from ..views.shell.gallery import example_called
from .session import HANDLERS, Session
from .state_queue import Change, InThread

OnDone = Callable[[Refusal | None], None]
"""Receives the refusal, or None on success."""


def perform(session: Session, message: Message, on_done: OnDone) -> None:
    """Execute a request in its turn. A refused request changes nothing."""

    async def steps() -> None:
        on_done(await _perform(session, message))

    session.queue.run(Change(steps()))


async def _perform(session: Session, message: Message) -> Refusal | None:
    try:
        _require_possible(session, message)
        if HANDLERS.of(message) is not None:
            refusal = await _shown(session, message)
        else:
            refusal = await _not_shown(session, message)
    except Exception as error:
        refusal = error.refusal if isinstance(error, TilewrightError) else internal_error(error, "this request")
    return _merge_conflict(session) if refusal is None and isinstance(message, Resolve) else refusal


async def _shown(session: Session, message: Message) -> Refusal | None:
    """Handle the message as a page's; a new notice is its refusal."""
    before = session.state.notice
    await session.perform(message)
    notice = session.state.notice
    return refusal_of(notice) if notice is not None and notice is not before else None


async def _not_shown(session: Session, message: Message) -> Refusal | None:
    """Apply an intent. A refusal leaves the state unchanged and is not shown on the page."""
    session.updater.hold(is_look=False)
    try:
        session.state = session.file_sync.based(session.state, message)
        intent = session.prepared(message)
        after = await session.after(intent)
        notice = after.notice
        if notice is None or notice is session.state.notice:
            session.show(after)
            return None
        return refusal_of(notice, await InThread(lambda: _repair(session.state, intent)))
    finally:
        session.filed()
        session.go_on()


def _repair(state: State, intent: Intent) -> tuple[str, ...]:
    """The calls that make a refused intent legal."""
    match intent:
        case MakeCall():
            return tuple(map(str, repair_of(state, intent.call)))
        case Drop() | DropSeveral():
            return repair_of_drop(state, intent).texts(intent.loop)
        case _:
            return ()


def refusal_of(notice: Notice, repair: Sequence[str] = ()) -> Refusal:
    """The refusal of a notice. Fixes in `repair` are left out, since a repair is a separate message."""
    fix = tuple(call for call in notice.fix if call not in repair)
    place = f" ({notice.place})" if notice.place else ""
    return NoticeRefusal(
        notice.code, notice.message + place, notice.found, notice.expected, fix, repair_texts=tuple(repair)
    )


class NoticeRefusal(Refusal, frozen=True, eq=False):
    """A refusal whose repair is text already."""

    repair_texts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As `Refusal.to_json`."""
        return {**super().to_json(), "repair": list(self.repair_texts)}


def _require_possible(session: Session, message: Message) -> None:
    match message:
        case Open():
            example_called(session.examples, message.name)
        case Save():
            _require_own_file(session)
            refusal = _merge_conflict(session)
            if refusal is not None:
                raise DocumentError(refusal)
        case Resolve():
            _require_answer(session, message)
        case _:
            pass


def _require_own_file(session: Session) -> None:
    notebook = session.state.notebook
    if notebook is None or notebook.document.path is None or session.state.is_draft:
        expected = "save_as, or the text in the part `notebook`"
        raise DocumentError(Refusal("no-path", "the notebook has no file", expected=expected))


def _merge_conflict(session: Session) -> Refusal | None:
    """The refusal if two versions of the file conflict, else None."""
    file = session.state.file
    if file is None or merge_conflict_value(file) is None:
        return None
    found = f"{file.name} has a merge conflict: another writer changed the same lines"
    expected = "the message resolve, with a choice for each place of `conflict` in the part `file`"
    return Refusal("two-versions", found, expected=expected)


def _require_answer(session: Session, message: Resolve) -> None:
    """Raises DocumentError "no-conflict", "changed-meanwhile", "bad-choices"."""
    conflict = None if session.state.file is None else merge_conflict_value(session.state.file)
    if conflict is None:
        raise DocumentError(Refusal("no-conflict", "the file has no merge conflict"))
    if message.id not in ("", conflict.id):
        raise DocumentError(
            Refusal("changed-meanwhile", "the merge conflict has changed", message.id[:80], conflict.id)
        )
    places = len(conflict.places)
    if len(message.choices) != places:
        found = str(len(message.choices))
        raise DocumentError(Refusal("bad-choices", "one choice is required for each place", found, str(places)))


def opened_with(session: Session, message: Open | OpenText | None, on_done: OnDone) -> None:
    """Open a notebook by its name, or a text; without a message open nothing."""
    if message is not None:
        perform(session, message, on_done)
    else:
        on_done(None)


__all__ = ["opened_with", "perform"]
