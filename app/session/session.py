"""One open page and its cycle: a view's message is an intent, the intent makes a state, the state is drawn."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...engine.adopt import MissingValuesError
from ...engine.ir import Refusal, TilewrightError, internal_error
from ...engine.network import is_model_file
from ..actions.calls import CallOnRow, resolved
from ..actions.drops import Predictable, ReviseOnRow
from ..actions.model_search import ScheduleAll
from ..actions.opening import OpenDocument, OpenText, ShowModel, asking_for_sizes, asking_which, opened_text
from ..actions.relocation import saved_as
from ..actions.table import ApplyFix, ApplyFoundFix, ReviewExport, Saved, Say, ShowGallery, act, is_quick
from ..actions.text_edits import KeepTyped, Read, Typed
from ..document import Document, DocumentError
from ..export.exports import ExportedFile as Exported
from ..jobs.call_preview import CallPreview
from ..jobs.drop_preview import DropPreview, targets
from ..jobs.event_loop import EventLoop
from ..jobs.export_job import as_text, export_for_page, export_model_for_page
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.search_slots import SearchSlots
from ..jobs.study_files import study_file
from ..protocol.messages import (
    BeginDrag,
    CancelWork,
    ChangeModelSizes,
    ChooseVersion,
    CompareSides,
    CompareWithText,
    DiscardDraft,
    DismissFileMessage,
    Download,
    DragOver,
    EndDrag,
    Export,
    GoTo,
    HideVersions,
    NameReader,
    NewFile,
    Open,
    OpenAsModel,
    OpenKernel,
    OpenTemplate,
    OpenUpload,
    RefreshModel,
    RenameDraft,
    Resolve,
    ResumeWork,
    Save,
    SaveAs,
    ShowVersions,
    TryCalls,
    decode,
)
from ..state.addresses import Address, address_of
from ..state.comparison import Compare, Opened, chosen_sides
from ..state.derived import Store
from ..state.intents import Handlers, Intent, Message, Query
from ..state.model import Exploration, NoticePlace, SearchRequest, Side, State
from ..storage.registry import OpenFileRegistry
from ..views.labels.values import Answer
from ..views.next.suggestions import offered_fix
from ..views.shell.export_review import needs_review
from ..views.shell.gallery import Example, example_at, example_called, new_notebook, opening_of, template_text
from ..views.shell.prepared import prepared
from ..views.shell.tour import TOURS, tour_text
from ..views.tree.predictions import PredictedDrop
from ..views.tree.targets import DropTarget
from .file_sync import FileSync, readable, with_version
from .model_pages import (
    import_model,
    on_change_sizes,
    on_open_as_model,
    on_open_kernel,
    on_refresh_model,
    on_schedule_all,
    on_show_model,
    open_model,
    open_model_file,
)
from .new_places import file_place
from .queries import QUERIES
from .state_queue import Change, InThread, StateQueue, StoppedError, brought_together
from .uploads import Upload
from .view_updater import ViewUpdater

Reply = Callable[[Answer], None]
"""Sends an answer to the view that sent the message."""

Made = tuple[State, Document | None]
"""A state with a notebook at a path, and the document that it was made from."""

FOREVER_S = 3600.0


def no_reply(_: Answer) -> None:
    """Drop an answer."""


class Session:
    """The state of one page and its changes; `updater` draws it. `moment` returns the seconds that the event loop may wait for the next
    state, `patience` those for a state with its report. All sessions of a server share the `scheduler` for speculative work and the
    `places` for searches."""

    def __init__(
        self,
        event_loop: EventLoop,
        examples: tuple[Example, ...] = (),
        *,
        open_files: OpenFileRegistry | None = None,
        store: Store | None = None,
        patience: Callable[[], float] = lambda: FOREVER_S,
        moment: Callable[[], float] = lambda: FOREVER_S,
        scheduler: FairScheduler | None = None,
        places: SearchSlots | None = None,
    ) -> None:
        self.state = State()
        self.store = store or Store()
        self.event_loop = event_loop
        self.examples = examples
        self.file_sync = FileSync(open_files, event_loop, self.filed)
        self.state = self.file_sync.placed(self.state)
        scheduler = scheduler or FairScheduler()
        self.updater = ViewUpdater(
            self.store,
            event_loop,
            lambda: self.state,
            patience=lambda: self.queue.left(patience()),
            changing=lambda: self.queue.doing,
            study_file=self._study_file,
            on_end=self.dispatch,
            on_model_news=lambda: self.handle(RefreshModel()),
            scheduler=scheduler,
            places=places,
        )
        self.drop_preview = DropPreview(self.store, event_loop, self.updater.show_prediction, scheduler)
        self.call_preview = CallPreview(self.store, event_loop, self.updater.show_prediction, scheduler)
        self.queue = StateQueue(event_loop, lambda: self.state.notebook, moment, self.updater.turned)
        self.upload: Upload | None = None
        self._closed = False

    # Messages.

    def receive(self, data: object, reply: Reply = no_reply) -> None:
        """Handle a view's message, as JSON. A malformed message results in a notice, never an exception."""
        try:
            message = decode(data)
        except TilewrightError as error:
            self.say(error.refusal)
        else:
            self.handle(message, reply)

    def handle(self, message: Message, reply: Reply = no_reply) -> None:
        """Handle a message in its turn, and answer it."""
        if message.keeps_program:
            self.queue.run_now(Change(self.perform(message)))
        elif not isinstance(message, Query):
            again: Message = Read() if isinstance(message, Typed | Read) else message
            self.queue.run(Change(self.perform(message), message, lambda: self.handle(again)))
        query = QUERIES.of(message)
        try:
            answer = None if query is None else query(self, message)
        except TilewrightError as error:
            self.say(error.refusal)
        else:
            if answer is not None:
                reply(answer)

    async def perform(self, message: Message) -> None:
        """Perform a message whose turn it is. An error is shown as a notice."""
        self.updater.hold(is_look=message.keeps_program)
        await self.guarded(self._perform(message), message.refused_at)
        self.go_on(in_hand=message.is_dragging)

    async def _perform(self, message: Message) -> None:
        handler = HANDLERS.of(message)
        if handler is not None:
            await handler(self, message)
        else:
            self.state = self.file_sync.based(self.state, message)
            await self.apply(self.prepared(message))

    async def guarded(self, work: Coroutine[Any, Any, None], where: NoticePlace = "page") -> None:
        """Show an error of `work` as a notice."""
        try:
            await work
        except MissingValuesError as error:
            self.show(asking_for_sizes(self.state, error))
        except TilewrightError as error:
            self.say(error.refusal, where)
        except Exception as error:
            self.say(internal_error(error, "this request"))

    def say(self, refusal: Refusal, where: NoticePlace = "page") -> None:
        """Show a refusal."""
        self.show(act(self.state, Say(refusal, where)))

    def go_on(self, *, in_hand: bool = False) -> None:
        """Resume background work, unless the program is about to change."""
        if not self.queue.busy and not self._closed:
            self.updater.go_on(in_hand=in_hand)

    # Changes.

    def prepared(self, intent: Intent) -> Intent:
        """The intent with handles for rows, and with precomputed results: a predicted drop, or a fix that the lints have tried."""
        intent = resolved(intent, self.state)
        if isinstance(intent, Predictable):
            return self.drop_preview.with_precomputed(self.state, intent)
        if isinstance(intent, ApplyFix):
            fix = offered_fix(self.state, self.store, intent.calls, intent.replaces)
            return intent if fix is None else ApplyFoundFix(fix)
        return intent

    def dispatch(self, intent: Intent) -> None:
        """Apply an intent of the program itself, in its turn."""
        again = Read() if isinstance(intent, Typed | Read) else intent
        change = Change(self.guarded(self.apply(intent)), intent, lambda: self.dispatch(again))
        if is_quick(intent):
            self.queue.run_now(change)
        else:
            self.queue.run(change)

    async def apply(self, intent: Intent) -> None:
        """Make the next state and draw it."""
        try:
            self.show(await self.after(intent))
        except StoppedError:
            if not isinstance(intent, Typed | Read):
                raise
            self.show(act(self.state, KeepTyped(intent)))

    async def after(self, intent: Intent) -> State:
        """The state after the intent, made in a thread unless it is immediate. A running prediction of the same move is used."""
        before = self.state
        if is_quick(intent):
            return act(before, intent)
        try:
            after = await InThread(
                lambda: self._prepared(act(before, self.drop_preview.wait_for_prediction(before, intent)))
            )
        finally:
            if isinstance(intent, Predictable):
                self.drop_preview.finish()
        return brought_together(before, after, self.state)

    def _prepared(self, state: State) -> State:
        """The state, whose views are ready to be drawn if there is a screen."""
        return state if self.updater.screen is None else prepared(state, self.store)

    def show(self, state: State) -> None:
        """Publish a state to the file and draw it. Changes of others to the file are merged after a running change, which began before
        them."""
        before, self.state = self.state, state if self.queue.busy else self.file_sync.after(self.state, state)
        if self.state is before or self._closed or self._reads_first():
            return
        self.updater.show(
            is_another=self.state.moment is not before.moment or self.state.notebook is not before.notebook
        )

    def _reads_first(self) -> bool:
        """Whether a text by others was evaluated and shown within a moment. Otherwise the page shows it as pending."""
        waiting = self.state.notebook
        if waiting is None or not waiting.is_unread or self.queue.busy:
            return False
        self.queue.run_now(Change(self.guarded(self.apply(Read())), Read(), lambda: self.dispatch(Read())))
        return self.state.notebook is not waiting

    # The API's queries about drops.

    def targets(self, rows: Sequence[str]) -> list[DropTarget]:
        """The drop targets for the blocks or loops of `rows`."""
        return targets(self.state, self.store, rows)

    def predictions(self, rows: Sequence[str]) -> tuple[list[PredictedDrop], bool]:
        """The known predictions for drops of `rows`, and whether they are complete."""
        return self.drop_preview.predictions(self.state, rows)

    # Files.

    def arrive(self, address: Address) -> None:
        """Show the address of a page's first visit; an invalid address shows the start page with a notice. Until then the browser keeps the
        address."""
        if address.place:
            self.state = replace(self.state, address=None)
            self.queue.run(Change(self._arrived(address), again=lambda: self.arrive(address)))

    async def _arrived(self, address: Address) -> None:
        await self.guarded(self.go_to(address))
        self.go_on()

    async def go_to(self, address: Address) -> None:
        """Show the gallery, tour, model or notebook at an address."""
        if address == self.state.address:
            return
        if not address.place:
            await self.apply(ShowGallery())
        elif address.place == "example" and address.name in TOURS:
            await self.apply(OpenDocument(tour_text(TOURS[address.name]), address=address))
        elif address.place == "draft":
            await self.open_document(self.file_sync.read(str(self.file_sync.draft_path(address.name))))
        elif address.kernel:
            await open_model(self, example_at(self.examples, address), address.kernel)
        else:
            await self.open_example(example_at(self.examples, address))

    async def open_example(self, example: Example, program: int = 0, values: Mapping[str, str] | None = None) -> None:
        """Open an example as it was read, a user's file in its current version, or a model. `program` and `values` choose the program of
        a file with several, or that needs values."""
        if example.model:
            await open_model(self, example, values=values or {})
        elif example.path is not None and is_model_file(example.path):
            try:
                await open_model_file(self, Path(example.path), values or {})
            except MissingValuesError as error:
                self.show(asking_for_sizes(self.state, error, example.name))
        elif example.path is None:
            address = Address("example", example.name)
            await self.apply(OpenDocument(example.text, example.title, address=address))
        else:
            await self.open_document(self.file_sync.read(example.path), example.name, program, values)

    def open_file(self, path: str) -> None:
        """Open a file in its current version, or as other pages have it; edits are saved to it. Raises DocumentError if it is
        unreadable."""
        source = self.file_sync.read(path)
        self.queue.run(Change(self.guarded(self.open_document(source)), again=lambda: self.open_file(path)))

    async def open_document(
        self, source: Document, listed: str = "", program: int = 0, values: Mapping[str, str] | None = None
    ) -> None:
        """Open the notebook of a file that was read; `listed` is its name on the start screen, which asks for what is missing."""

        def make(state: State) -> Made:
            document, read = (source, None) if program or values else readable(source)
            wanted = OpenDocument(
                document.text, path=document.path, read=read, program=program, values=dict(values or {}), listed=listed
            )
            return act(state, wanted), document

        await self.into_file(make)

    async def into_file(self, make: Callable[[State], Made], *, anew: bool = False) -> None:
        """Make a state whose notebook has a path, and bind the page to that file. `anew` replaces the file's content."""
        before = self.state

        def begin() -> tuple[Made, Any]:
            made = make(before)
            self._prepared(made[0])
            is_new = made[0].notebook is not before.notebook
            return made, self.file_sync.begun(made[0], anew=anew) if is_new else None

        (after, source), begun = await InThread(begin)
        opened = brought_together(before, after, self.state)
        if opened.notebook is self.state.notebook:
            self.show(opened)  # the notebook did not open
            return
        opened = self.file_sync.after(self.state, opened)
        self.show(self.file_sync.opened(opened, anew=anew, source=source, begun=begun))
        if self.state.notebook is not None and not anew:
            self.updater.searches.load_last(self.state.notebook, self._taken_up)

    def filed(self) -> None:
        """Handle a change of the file's text or status."""
        if self._closed or self.queue.busy:
            return
        before, after = self.state, self.file_sync.caught_up(self.state)
        if after.notebook is not before.notebook:
            self.show(after)
        elif after is not before:
            self.state = after
            self.updater.show_results()

    def exported(self, file: Exported | TilewrightError) -> None:
        """Send an export to the user, or show why there is none."""
        if isinstance(file, TilewrightError):
            self.say(file.refusal)
        else:
            self.updater.download(file.name, as_text(file))

    def _study_file(self, request: SearchRequest) -> Path | None:
        """The file of a search, beside the history of the notebook's folder."""
        path = request.notebook.document.path
        return study_file(path, request) if self.file_sync.has_file and path is not None else None

    def _taken_up(self, request: SearchRequest) -> None:
        """Show the last search of the file."""
        notebook, path = self.state.notebook, request.notebook.document.path
        if notebook is not None and notebook.document.path == path and self.state.exploration is None:
            self.show(replace(self.state, exploration=Exploration(request, going=False)))

    def drop_upload(self) -> None:
        """Delete the uploaded files."""
        if self.upload is not None:
            self.upload.close()
            self.upload = None

    def close(self) -> None:
        """Close the session and cancel its work."""
        self.drop_upload()
        self._closed = True
        self.updater.close()
        self.drop_preview.stop()
        self.call_preview.stop()
        self.queue.close()
        self.file_sync.leave(self.state)


HANDLERS: Handlers[Callable[[Session, Any], Coroutine[Any, Any, None]]] = Handlers()
"""Handlers of messages that concern the session as a whole. All other messages are intents for `actions.table`."""

HANDLERS(OpenAsModel)(on_open_as_model)
HANDLERS(OpenKernel)(on_open_kernel)
HANDLERS(ShowModel)(on_show_model)
HANDLERS(RefreshModel)(on_refresh_model)
HANDLERS(ScheduleAll)(on_schedule_all)
HANDLERS(ChangeModelSizes)(on_change_sizes)


@HANDLERS(Open)
async def _open(session: Session, message: Open) -> None:
    await session.open_example(example_called(session.examples, message.name), message.program, message.values)


@HANDLERS(OpenTemplate)
async def _open_template(session: Session, message: OpenTemplate) -> None:
    await session.apply(OpenText(template_text(message.name)))


@HANDLERS(OpenUpload)
async def _open_upload(session: Session, message: OpenUpload) -> None:
    upload = session.upload
    if upload is None or upload.number != message.upload:
        raise DocumentError(Refusal("no-upload", "the files are not on the server", expected="to drop them again"))
    found, number = await InThread(upload.contents), message.program
    if not found.is_one and not number:
        session.show(asking_which(session.state, (*found.labels, *found.model_labels)))
    elif found.models and (number > len(found.labels) or found.is_one):
        model = found.model_numbered(number)
        try:
            await import_model(session, model, message.values)
        except MissingValuesError as error:
            session.show(asking_for_sizes(session.state, error, number=number or 1))
        else:
            if found.is_one:
                session.drop_upload()
    else:
        opening = OpenDocument(found.text, upload.title, program=number, values=message.values)
        await session.apply(
            replace(opening, beside=found.folder, models=found.model_labels)
            if found.folder
            else OpenText(found.text, upload.title, program=number, values=message.values)
        )


@HANDLERS(GoTo)
async def _go_to(session: Session, message: GoTo) -> None:
    await session.go_to(address_of(message.path) or Address())


@HANDLERS(CompareSides, CompareWithText)
async def _compare(session: Session, message: CompareSides | CompareWithText) -> None:
    before, examples = session.state, session.examples

    def make() -> State:
        return act(before, _compared(message, before, lambda name: opened_text(*opening_of(examples, name))))

    session.show(brought_together(before, await InThread(make), session.state))


def _compared(message: CompareSides | CompareWithText, state: State, opened: Opened) -> Compare:
    """The comparison that the message requests. Raises DocumentError as `side_of`."""
    if isinstance(message, CompareSides):
        return Compare(*chosen_sides(state, message.a, message.b, opened))
    title, notebook = opened_text(message.text, message.name)
    a, b = chosen_sides(state, None, None, opened)
    side = Side(f"file:{title}", title, notebook)
    return Compare(a, side) if message.side == "b" else Compare(side, b)


@HANDLERS(Export)
async def _export(session: Session, message: Export) -> None:
    state = session.state
    if state.moment is None:
        if state.model is not None and state.notebook is None:
            export_model_for_page(message.to, state.model, session.store, session.event_loop, session.exported)
        return
    if not message.reviewed and needs_review(session.state, message.to, session.store):
        await session.apply(ReviewExport(message.to))
        return
    await session.apply(ReviewExport())
    export_for_page(message.to, session.state, session.store, session.event_loop, session.exported)


@HANDLERS(NewFile)
async def _new_file(session: Session, message: NewFile) -> None:
    new = OpenDocument(new_notebook(), path=str(file_place(session.file_sync.folder, message.name)))
    await session.into_file(lambda state: (act(state, new), None), anew=True)


@HANDLERS(DiscardDraft)
async def _discard_draft(session: Session, message: DiscardDraft) -> None:
    session.file_sync.discard_draft_named(message.name, is_model=message.is_model)


@HANDLERS(RenameDraft)
async def _rename_draft(session: Session, message: RenameDraft) -> None:
    session.file_sync.rename_draft(message.name, message.title, is_model=message.is_model)


@HANDLERS(Save)
async def _save(session: Session, message: Save) -> None:
    """Write the file now. A notebook without a file is downloaded."""
    if session.file_sync.has_file and not session.state.is_draft:
        session.show(session.file_sync.save(session.state))
    else:
        await _download(session, message)


@HANDLERS(SaveAs)
async def _save_as(session: Session, message: SaveAs) -> None:
    if session.state.notebook is not None:
        path = file_place(session.file_sync.folder, message.name, replacing=message.replacing)
        before = session.state
        await session.into_file(lambda state: (saved_as(state, path), None), anew=True)
        session.file_sync.discard_saved_draft(before, session.state)


@HANDLERS(Download)
async def _download(session: Session, _: Message) -> None:
    if session.state.notebook is not None and session.updater.screen is not None:
        document = session.state.notebook.document
        session.updater.download(Path(document.path or "notebook.py").name, document.text)
        await session.apply(Saved(document.text))


@HANDLERS(NameReader)
async def _name_reader(session: Session, message: NameReader) -> None:
    session.file_sync.name = " ".join(message.name.split())
    session.show(session.file_sync.caught_up(session.state))


@HANDLERS(Resolve)
async def _resolve(session: Session, message: Resolve) -> None:
    session.show(session.file_sync.resolve(session.state, message.choices))


@HANDLERS(DismissFileMessage)
async def _dismiss_file_message(session: Session, _: DismissFileMessage) -> None:
    session.file_sync.dismiss_message()


@HANDLERS(ShowVersions, ChooseVersion, HideVersions)
async def _look_back(session: Session, message: ShowVersions | ChooseVersion | HideVersions) -> None:
    before, file_sync = session.state, session.file_sync

    def make() -> State:
        match message:
            case ShowVersions():
                return file_sync.with_versions(before)
            case ChooseVersion():
                return with_version(before, message.version)
            case HideVersions():
                return replace(before, looked_back=None)

    session.show(brought_together(before, await InThread(make), session.state))


@HANDLERS(BeginDrag)
async def _begin_drag(session: Session, message: BeginDrag) -> None:
    session.drop_preview.begin(session.state, message.rows, message.near)


@HANDLERS(DragOver)
async def _drag_over(session: Session, message: DragOver) -> None:
    session.drop_preview.point_at(message.row)


@HANDLERS(EndDrag)
async def _end_drag(session: Session, _: EndDrag) -> None:
    session.drop_preview.stop()


@HANDLERS(TryCalls)
async def _try_calls(session: Session, message: TryCalls) -> None:
    session.call_preview.begin(session.state, message.ticket, [_tried(session.state, call) for call in message.calls])


def _tried(state: State, call: CallOnRow | ReviseOnRow) -> Predictable | None:
    """The move of a call that is tried; None if the call does not fit the program."""
    try:
        move = resolved(call, state)
    except TilewrightError:
        return None
    return move if isinstance(move, Predictable) else None


@HANDLERS(CancelWork)
async def _cancel(session: Session, _: CancelWork) -> None:
    if session.queue.busy:
        session.queue.stop()
    else:
        session.updater.stop_for_good()
    session.updater.turned()


@HANDLERS(ResumeWork)
async def _resume(session: Session, _: ResumeWork) -> None:
    session.queue.resume()
    session.updater.resume()
    session.updater.turned()


__all__ = ["HANDLERS", "Reply", "Session", "no_reply"]
