"""The action API: the page's actions over HTTP and JSON, for editors and programs. docs/api.md describes it.

A session belongs to an open page, or is opened by the API. A request executes one intent and returns the new state or the refusal; slower
results are pending, and a request can wait for them. The gate checks access (`gate`, `access`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from tornado.web import HTTPError, RequestHandler

from ...engine.export import chrome_trace
from ...engine.hwsim import Report, preset_names
from ...engine.ir import Refusal, TilewrightError
from ..actions.opening import OpenText, Values
from ..document import DocumentError
from ..jobs.drop_preview import targets
from ..limits import LIMITS
from ..page.notebook_catalog import NotebookCatalog
from ..protocol.messages import Open, decode_request, schema
from ..session.execute_request import opened_with, perform
from ..session.queries import menu
from ..session.registry import LoopClock, SessionError, SessionHandle, SessionRegistry
from ..session.session import Session
from ..state.intents import Message
from ..state.model import State
from ..storage.registry import OpenFileRegistry
from ..views.shell.gallery import Example
from ..views.shell.state_json import PARTS, USUAL, state_parts, summary
from .looks import Known, Look, head, looked

VERSION = 1

CHANGE = "change"
"""Pending while the notebook changes: the answer is from before the change."""

STATUS = {"no-such-session": 404, "too-many-sessions": 429, "bad-request": 400}
"""HTTP status of refusals of the request itself; all others are 409: the state of the session does not allow it."""


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a new session: the `name` of a notebook in GET /api/notebooks, or a `text`, with a `title` if it has no heading; else
    the start screen. `program` and `values` are those of `open_text`."""

    name: str = ""
    text: str = ""
    title: str = ""
    program: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    values: Values = msgspec.field(default_factory=dict)

    @property
    def message(self) -> Open | OpenText | None:
        """The message that opens it; None for the start screen."""
        if self.name:
            return Open(self.name, self.program, self.values)
        return OpenText(self.text, self.title, program=self.program, values=self.values) if self.text else None


class ApiContext(msgspec.Struct, frozen=True, eq=False):
    """The handlers' shared context: the sessions, the served path and the open files."""

    sessions: SessionRegistry
    path: Path | None
    open_files: OpenFileRegistry | None = None

    def notebooks(self) -> tuple[Example, ...]:
        """The notebooks that can be opened, read now: those of the served file or folder, and the examples."""
        return NotebookCatalog(self.path).examples


class Handler(RequestHandler):
    """Base class of handlers: answers and errors are JSON. {"error": {"code", "message", "found", "expected", "fix", "repair"}}."""

    def initialize(self, api_context: ApiContext) -> None:
        self.api_context = api_context
        self.sessions = api_context.sessions

    def answer(self, value: Any, status: int = 200) -> None:
        """Send `value` as JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(msgspec.json.encode(value))

    def refuse(self, refusal: Refusal, **more: Any) -> None:
        """Send a refusal with the status of its code."""
        self.answer({"error": refusal.to_json(), **more}, STATUS.get(refusal.code, 409))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        if isinstance(error, TilewrightError):
            self.refuse(error.refusal)
            return
        said = error.log_message if isinstance(error, HTTPError) and error.log_message else self._reason
        code = {404: "no-such-address", 405: "no-such-method"}.get(status_code, "bad-request")
        refusal = Refusal(code if status_code < 500 else "internal-error", said)
        self.answer({"error": refusal.to_json()}, status_code)

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if not isinstance(value, TilewrightError):
            super().log_exception(typ, value, tb)

    def body(self) -> bytes:
        """The body of a request with the content type JSON: a page of another site cannot send this type without a CORS preflight."""
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != "application/json":
            raise HTTPError(415, "the body of a request must be application/json")
        return self.request.body

    def seconds(self) -> float:
        """Seconds that the request waits for pending results (query `wait`)."""
        try:
            wanted = float(self.get_query_argument("wait", "0"))
        except ValueError:
            raise HTTPError(400, "wait must be a number of seconds") from None
        return min(max(wanted, 0.0), LIMITS.wait_seconds) if wanted == wanted else 0.0

    def parts(self) -> list[str]:
        """The requested parts of the state."""
        wanted = [part for part in self.get_query_argument("parts", ",".join(USUAL)).split(",") if part]
        unknown = [part for part in wanted if part not in PARTS]
        if unknown:
            raise HTTPError(
                400, f"unknown part {unknown[0][:40]!r}; known parts are {', '.join(PARTS)}".replace("%", "%%")
            )
        return list(dict.fromkeys(wanted))

    async def tell(self, handle: SessionHandle, after: Message | None = None) -> None:
        """Send the requested parts of the state: 200 if they are complete, or 202 with the pending ones when the wait ends. After an intent
        (`after`), wait until its text is durable, or in its file; 507 with the error if the disk refuses it."""
        parts = self.parts()
        in_file = after is not None and after.writes_file

        def look() -> Callable[[], Known]:
            state, store, is_busy = handle.session.state, handle.session.store, handle.session.queue.busy
            refusal = None if after is None else not_on_disk(state, in_file=in_file)
            error = {} if refusal is None else {"error": refusal.to_json()}

            def known() -> Known:
                told, pending = state_parts(state, store, parts)
                return {**error, "state": told}, [CHANGE, *pending] if is_busy else pending

            return known

        if after is not None:  # compute the answer while the disk syncs
            await asyncio.gather(until_durable(handle, in_file=in_file), looked(handle, look))
        await self.tell_known(handle, look)

    async def tell_known(self, handle: SessionHandle, look: Look) -> None:
        """Look until nothing is pending or the wait ends; send the result with the names of pending parts."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.seconds()
        while True:
            since = handle.screen.told
            facts, told, pending = await looked(handle, look)
            left = until - loop.time()
            if not pending or left <= 0 or not await handle.screen.news(since, left):
                break
        self.answer({**facts, "pending": pending, **told}, 507 if "error" in told else 202 if pending else 200)


class Index(Handler):
    """GET /api: an overview of the API."""

    def get(self) -> None:
        """Versions, addresses, parts, machines, limits."""
        addresses = [pattern for pattern, _ in ROUTES]
        limits = msgspec.to_builtins(LIMITS)
        self.answer(
            {
                "tilewright": VERSION,
                "addresses": addresses,
                "parts": list(PARTS),
                "machines": preset_names(),
                "limits": limits,
            }
        )


class Schema(Handler):
    """GET /api/schema: the JSON schema of messages."""

    def get(self) -> None:
        """The JSON schema of all messages that a POST to a session accepts."""
        self.answer(schema())


class Notebooks(Handler):
    """GET /api/notebooks: the examples and the notebooks of the served folder."""

    def get(self) -> None:
        """The notebooks: name, title, a sentence, the path of a user's file, and `error` with the reason if it cannot be opened."""
        self.answer({"notebooks": [_entry(example) for example in self.api_context.notebooks()]})


def _entry(example: Example) -> dict[str, Any]:
    obstacle = example.obstacle
    known = {name: getattr(example, name) for name in ("name", "title", "sentence", "path")}
    return {**known, "error": None if obstacle is None else obstacle.to_json()}


class Sessions(Handler):
    """GET /api/sessions: the open sessions. POST: open a session without a page."""

    def get(self) -> None:
        """The open sessions: key, version, whether a page shows it, title, path."""
        self.answer(
            {"sessions": [{**head(handle), **summary(handle.session.state)} for handle in self.sessions.all.values()]}
        )

    async def post(self) -> None:
        """Open a session with a `name` in /api/notebooks or a `text` (with a `title` if it has no heading); else at the start screen.
        201 with its state."""
        try:
            opening = msgspec.json.decode(self.body(), type=Opening)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise HTTPError(400, str(error).replace("%", "%%")) from None
        event_loop = LoopClock(asyncio.get_running_loop())
        session = Session(
            event_loop,
            self.api_context.notebooks(),
            open_files=self.api_context.open_files,
            patience=lambda: 0.0,
            moment=lambda: 0.0,
            scheduler=self.sessions.scheduler,
            places=self.sessions.places,
        )
        handle = self.sessions.take(session, event_loop)
        refused: Refusal | None = await handle.done(lambda told: opened_with(session, opening.message, told))
        if refused is not None:
            self.sessions.leave(handle)
            self.refuse(refused)
            return
        self.set_header("Location", f"/api/sessions/{handle.key}")
        await until_durable(handle)
        parts, state = self.parts(), session.state
        facts, told, pending = await looked(handle, lambda: lambda: state_parts(state, session.store, parts))
        self.answer({**facts, "pending": pending, "state": told}, 201)


class One(Handler):
    """/api/sessions/KEY: GET its state, POST an intent, DELETE it."""

    async def get(self, key: str) -> None:
        """The state; with `since`, after the session's version changes or the wait ends."""
        handle, loop = self.sessions.find(key), asyncio.get_running_loop()
        since, until = self.get_query_argument("since", ""), loop.time() + self.seconds()
        while since == str(handle.screen.version) and await handle.screen.news(handle.screen.told, until - loop.time()):
            pass
        await self.tell(handle)

    async def post(self, key: str) -> None:
        """Execute an intent: the new state once its text is durable (for Save, SaveAs and NewFile: in the file); 409 with the refusal, and
        the state is unchanged; 507 with the new state and the error if the disk refuses the text."""
        handle = self.sessions.find(key)
        try:
            message = decode_request(self.body())
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise HTTPError(400, str(error).replace("%", "%%")) from None
        refused: Refusal | None = await handle.done(lambda told: perform(handle.session, message, told))
        if refused is not None:
            self.refuse(refused, **head(handle))
            return
        await self.tell(handle, message)

    async def delete(self, key: str) -> None:
        """End a session that the API opened; a session with a page is refused."""
        handle = self.sessions.find(key)
        if handle.has_page:
            raise SessionError(Refusal("has-a-page", "the session is open in a browser"))
        await until_durable(handle)
        self.sessions.leave(handle)
        self.answer({"ended": key})


class Targets(Handler):
    """GET /api/sessions/KEY/targets?row=ID: the drop targets of one row, or of several rows together."""

    async def get(self, key: str) -> None:
        """The drop targets of the rows `row` (one or several): loop, legal, primitive, reason. With predict=1 `predictions` has the
        predicted effect of each drop; it is pending while drops are missing."""
        handle = self.sessions.find(key)
        rows = self.get_query_arguments("row")
        if self.get_query_argument("predict", "") != "1":
            await self.tell_known(handle, lambda: _targets(handle.session, rows))
            return
        if handle.has_page:
            raise DocumentError(
                Refusal("has-a-page", "this page computes drop previews for its user; open an API session")
            )

        def look() -> Callable[[], Known]:
            predictions, is_all = handle.session.predictions(rows)
            pending = [] if is_all else ["predictions"]
            return _targets(handle.session, rows, pending, predictions=predictions)

        await looked(handle, lambda: _targets(handle.session, rows))  # the predictions need them on the loop
        await self.tell_known(handle, look)


def _targets(session: Session, rows: Sequence[str], pending: Sequence[str] = (), **more: Any) -> Callable[[], Known]:
    state, store = session.state, session.store
    return lambda: ({"targets": targets(state, store, rows), **more}, list(pending))


class Menu(Handler):
    """GET /api/sessions/KEY/menu?row=ID: the calls in a row's menu, with the fields of their forms."""

    async def get(self, key: str) -> None:
        """The calls in the menu of `row`, as the page draws them; `method` and the field names are those of a Call."""
        handle = self.sessions.find(key)
        row = self.get_query_argument("row", "")
        self.answer(
            {**head(handle), "menu": await handle.do(lambda: menu(handle.session.state, handle.session.store, row))}
        )


class TimelineTrace(Handler):
    """GET /api/sessions/KEY/trace: the timeline in Chrome's trace format."""

    async def get(self, key: str) -> None:
        """The timeline in Chrome's trace format; 202 while the report is pending, 409 if the machine cannot run the program."""
        handle = self.sessions.find(key)
        report = await handle.do(lambda: handle.session.store.known_report(handle.session.state))
        if isinstance(report, TilewrightError):
            raise report
        if not isinstance(report, Report):
            self.answer({**head(handle), "pending": ["report"]}, 202)
            return
        text = await asyncio.to_thread(chrome_trace, report)
        self.set_header("Content-Type", "application/json")
        self.finish(text)


class Nothing(Handler):
    """Every other address below /api."""

    def prepare(self) -> None:
        raise HTTPError(404, "this address does not exist; GET /api lists all addresses")


ROUTES: tuple[tuple[str, type[Handler]], ...] = (
    ("/api", Index),
    ("/api/schema", Schema),
    ("/api/notebooks", Notebooks),
    ("/api/sessions", Sessions),
    ("/api/sessions/KEY", One),
    ("/api/sessions/KEY/targets", Targets),
    ("/api/sessions/KEY/menu", Menu),
    ("/api/sessions/KEY/trace", TimelineTrace),
)


def patterns(api_context: ApiContext) -> list[tuple[str, type[Handler], dict[str, Any]]]:
    """The handlers in Tornado's form."""
    routes = [(pattern.replace("KEY", "([0-9a-f]{1,40})") + "/?", handler) for pattern, handler in ROUTES]
    return [(pattern, handler, {"api_context": api_context}) for pattern, handler in (*routes, ("/api/.*", Nothing))]


async def until_durable(handle: SessionHandle, *, in_file: bool = False) -> None:
    """Wait until the session's text is durable (`in_file`: in its file) or the disk refuses it, even if others keep changing it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LIMITS.wait_seconds
    is_under_way = True
    while is_under_way and loop.time() < until:
        await handle.done(lambda told: handle.session.file_sync.when_durable(lambda: told(None), in_file=in_file))
        file = handle.session.state.file
        is_under_way = file is not None and file.save.is_under_way


def not_on_disk(state: State, *, in_file: bool) -> Refusal | None:
    """The reason why the text is not durable, or (`in_file`) not in its file; None if it is, and for a notebook without a file."""
    if state.file is None:
        return None
    save = state.file.save
    return save.why or save.obstacle if in_file else save.obstacle


__all__ = ["ROUTES", "ApiContext", "Opening", "patterns"]
